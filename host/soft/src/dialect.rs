//! What a connection speaks: memcached's protocols or Redis'.

use wirekv_memcache::Memcache;
use wirekv_proto::limits::KEY_MAX;
use wirekv_proto::{Asked, Dialect, Next, Out, Parsed, Plan, Value};
use wirekv_resp::{Client, Engine, Server};

pub type Session = wirekv_proto::Session<Either>;
pub type Request = Asked<Op>;

/// One connection's state.
pub enum Either {
    Memcache(Memcache),
    Redis(Box<Client>),
}

/// What a request asks for.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    Memcache(wirekv_memcache::Op),
    Redis(wirekv_resp::Op),
}

impl Op {
    /// Its protocol, and the command there: one of few words.
    pub fn names(self) -> (&'static str, &'static str) {
        match self {
            Op::Memcache(op) => op.names(),
            Op::Redis(op) => ("resp", op.name()),
        }
    }
}

impl Op {
    /// The client leaves.
    pub fn is_quit(self) -> bool {
        use wirekv_memcache::{binary, classic, Op::*};
        match self {
            Op::Memcache(op) => {
                matches!(op, Classic(classic::Op::Quit) | Binary(binary::Op::Quit))
            }
            Op::Redis(op) => op.name() == "quit",
        }
    }
}

impl From<wirekv_memcache::Op> for Op {
    #[inline]
    fn from(op: wirekv_memcache::Op) -> Op {
        Op::Memcache(op)
    }
}

impl From<wirekv_resp::Op> for Op {
    #[inline]
    fn from(op: wirekv_resp::Op) -> Op {
        Op::Redis(op)
    }
}

impl Default for Either {
    fn default() -> Either {
        Either::Memcache(Memcache::default())
    }
}

impl Either {
    fn client(&self) -> Option<&Client> {
        match self {
            Either::Memcache(_) => None,
            Either::Redis(client) => Some(client),
        }
    }

    /// It must give the password first. What may be parsed behind a command depends on whether it does.
    #[inline]
    pub fn is_stranger(&self, engine: &Engine) -> bool {
        self.client().is_some_and(|client| client.is_stranger(&engine.common))
    }

    /// No replies are sent, or lines of MONITOR.
    pub fn is_mute(&self) -> bool {
        self.client().is_some_and(|client| client.is_mute())
    }

    /// In how many milliseconds a request that sleeps goes on.
    pub fn sleeps(&self, engine: &Engine) -> u64 {
        self.client().map_or(0, |client| client.sleeps(&engine.common))
    }

    /// A request that sleeps does so as all clients were told to (`CLIENT PAUSE`), not by its own wish (`DEBUG SLEEP`).
    pub fn is_paused(&self) -> bool {
        self.client().is_some_and(|client| client.sleeps_until.is_none())
    }
}

/// Long values are memcached's alone: Redis' are gathered with their command.
impl Dialect for Either {
    type Op = Op;
    type Engine = Engine;
    type Server<'s> = dyn Server + 's;

    #[inline]
    fn parse_short(&self, input: &[u8], engine: &Engine) -> Option<Request> {
        match self {
            Either::Memcache(memcache) => memcache.parse_short(input, engine),
            Either::Redis(_) => None,
        }
    }

    #[inline]
    fn parse(&mut self, input: &[u8], engine: &Engine) -> Parsed<Op> {
        match self {
            Either::Memcache(memcache) => memcache.parse(input, engine),
            Either::Redis(client) => client.parse(input, engine),
        }
    }

    #[inline]
    fn execute(
        &mut self,
        op: Op,
        request: &mut wirekv_proto::Request,
        input: &[u8],
        engine: &mut Engine,
        server: &mut (dyn Server + '_),
        out: &mut Out,
    ) -> Next {
        match (self, op) {
            (Either::Memcache(memcache), Op::Memcache(op)) => {
                memcache.execute(op, request, input, engine, server, out)
            }
            (Either::Redis(client), Op::Redis(op)) => {
                client.execute(op, request, input, engine, server, out)
            }
            _ => Next::Continue,
        }
    }

    fn may_go_on(&self, engine: &Engine) -> bool {
        self.client().is_none_or(|client| client.may_go_on(engine))
    }

    fn tail(op: Op) -> usize {
        match op {
            Op::Memcache(op) => Memcache::tail(op),
            Op::Redis(_) => 0,
        }
    }

    fn plan<'a>(
        &mut self,
        op: Op,
        request: &wirekv_proto::Request,
        input: &'a [u8],
        engine: &mut Engine,
        out: &mut Out,
        decoded: &'a mut [u8; KEY_MAX],
    ) -> Option<Plan<'a>> {
        match (self, op) {
            (Either::Memcache(memcache), Op::Memcache(op)) => {
                memcache.plan(op, request, input, engine, out, decoded)
            }
            _ => None,
        }
    }

    fn store(
        &mut self,
        op: Op,
        request: &wirekv_proto::Request,
        input: &[u8],
        value: Option<Value<'_>>,
        engine: &mut Engine,
        out: &mut Out,
    ) {
        if let (Either::Memcache(memcache), Op::Memcache(op)) = (self, op) {
            memcache.store(op, request, input, value, engine, out);
        }
    }

    fn no_memory(
        &mut self,
        op: Op,
        request: &wirekv_proto::Request,
        input: &[u8],
        key: &[u8],
        engine: &mut Engine,
        out: &mut Out,
    ) {
        if let (Either::Memcache(memcache), Op::Memcache(op)) = (self, op) {
            memcache.no_memory(op, request, input, key, engine, out);
        }
    }
}
