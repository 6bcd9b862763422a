//! memcached 1.6.38's protocols over the WireKV store: classic and meta commands, and the binary
//! protocol, on TCP and in datagrams.
#![forbid(unsafe_code)]

pub mod base64;
pub mod binary;
pub mod classic;
pub mod dump;
mod line;
pub mod lines;
mod login;
pub mod meta;
mod operation;
pub mod ops;
mod text;
mod texts;
pub mod udp;
pub mod watch;

use operation::Operation;
use text::Text;
use wirekv_proto::limits::KEY_MAX;
use wirekv_proto::{
    Asked, Dialect, Engine, Next, Out, Parsed, Plan, Protocol, Request, Server, Value,
};

/// A connection that speaks one of memcached's protocols, before its first byte; or a datagram.
pub type Session = wirekv_proto::Session<Memcache>;

/// Where a connection is.
#[derive(Default)]
pub struct Memcache(Spoken);

#[derive(Default)]
enum Spoken {
    /// The first byte decides.
    #[default]
    Unknown,
    Text(Text),
    Binary,
    /// The same before the client was let in.
    Stranger {
        binary: bool,
    },
}

impl Spoken {
    fn known(binary: bool) -> Spoken {
        match binary {
            true => Spoken::Binary,
            false => Spoken::Text(Text::default()),
        }
    }
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Classic(classic::Op),
    Meta(meta::Op),
    Binary(binary::Op),
}

impl Op {
    /// Its protocol, and the command there: one of few words.
    pub fn names(self) -> (&'static str, &'static str) {
        match self {
            Op::Classic(op) => ("text", op.name()),
            Op::Meta(op) => ("meta", op.name()),
            Op::Binary(op) => ("binary", op.name()),
        }
    }
}

/// `$call` for the operation of a protocol.
macro_rules! each {
    ($op:expr, $operation:ident => $call:expr) => {
        match $op {
            Op::Classic($operation) => $call,
            Op::Meta($operation) => $call,
            Op::Binary($operation) => $call,
        }
    };
}

impl Memcache {
    /// Whether it is the binary protocol, as far as something was said.
    pub fn speaks_binary(&self) -> bool {
        matches!(self.0, Spoken::Binary | Spoken::Stranger { binary: true })
    }

    /// Within a `get` line whose end has not come, and whose keys so far were parsed.
    pub fn is_within(&self) -> bool {
        matches!(&self.0, Spoken::Text(text) if text.is_within())
    }

    /// As [`Dialect::parse_short`]; `O` may have operations of other protocols, too.
    #[inline]
    pub fn parse_short<O: From<Op>>(&self, input: &[u8], engine: &Engine) -> Option<Asked<O>> {
        match &self.0 {
            Spoken::Text(text) => text.parse_short(input, engine),
            Spoken::Unknown | Spoken::Binary | Spoken::Stranger { .. } => None,
        }
    }

    /// As [`Dialect::parse`], in the same way.
    #[inline]
    pub fn parse<O: From<Op>>(&mut self, input: &[u8], engine: &Engine) -> Parsed<O> {
        match &mut self.0 {
            Spoken::Text(text) => text.parse(input, engine),
            Spoken::Binary => binary::parse(input, engine),
            Spoken::Stranger { binary } => {
                let binary = *binary;
                self.parse_login(binary, input, engine)
            }
            Spoken::Unknown => {
                let Some(first) = input.first() else { return Parsed::Need(1) };
                let binary = match engine.settings.protocol {
                    Protocol::Auto => *first == binary::REQUEST,
                    Protocol::Ascii => false,
                    Protocol::Binary => true,
                };
                self.0 = match engine.settings.users {
                    Some(_) => Spoken::Stranger { binary },
                    None => Spoken::known(binary),
                };
                self.parse_first(input, engine)
            }
        }
    }

    /// The request of a client that was not let in yet.
    #[cold]
    fn parse_login<O: From<Op>>(
        &mut self,
        binary: bool,
        input: &[u8],
        engine: &Engine,
    ) -> Parsed<O> {
        let (parsed, admitted) = match binary {
            true => binary::parse_login(input, engine),
            false => login::parse(input, engine),
        };
        if admitted {
            self.0 = Spoken::known(binary);
        }
        parsed
    }

    #[cold]
    fn parse_first<O: From<Op>>(&mut self, input: &[u8], engine: &Engine) -> Parsed<O> {
        self.parse(input, engine)
    }
}

impl Dialect for Memcache {
    type Op = Op;
    type Engine = Engine;
    type Server<'s> = dyn Server + 's;

    #[inline]
    fn parse_short(&self, input: &[u8], engine: &Engine) -> Option<Asked<Op>> {
        self.parse_short(input, engine)
    }

    #[inline]
    fn parse(&mut self, input: &[u8], engine: &Engine) -> Parsed<Op> {
        self.parse(input, engine)
    }

    #[inline]
    fn execute(
        &mut self,
        op: Op,
        request: &mut Request,
        input: &[u8],
        engine: &mut Engine,
        server: &mut (dyn Server + '_),
        out: &mut Out,
    ) -> Next {
        // It may have been parsed long ago.
        if let Some(hash) = request.hash {
            request.hash = Some(engine.local.renew(hash, 0));
        }
        each!(op, op => op.execute(request, input, engine, server, out))
    }

    fn tail(op: Op) -> usize {
        fn of<O: Operation>(_: O) -> usize {
            O::TAIL
        }
        each!(op, op => of(op))
    }

    fn plan<'a>(
        &mut self,
        op: Op,
        request: &Request,
        input: &'a [u8],
        engine: &mut Engine,
        out: &mut Out,
        decoded: &'a mut [u8; KEY_MAX],
    ) -> Option<Plan<'a>> {
        each!(op, op => op.plan(request, input, engine, out, decoded))
    }

    fn store(
        &mut self,
        op: Op,
        request: &Request,
        input: &[u8],
        value: Option<Value<'_>>,
        engine: &mut Engine,
        out: &mut Out,
    ) {
        each!(op, op => op.store(request, input, value, engine, out));
    }

    fn no_memory(
        &mut self,
        op: Op,
        request: &Request,
        input: &[u8],
        key: &[u8],
        engine: &mut Engine,
        out: &mut Out,
    ) {
        each!(op, op => op.no_memory(request, input, key, engine, out));
    }
}
