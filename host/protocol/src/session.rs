//! One connection: what its next request is, and what that does.

use crate::dialect::Dialect;
use crate::ops::{self, Value};
use crate::redis::Client;
use crate::request::{Next, Op, Parse, Parsed, Request};
use crate::store::{Full, Hash, Room, Stage, Wanting};
use crate::text::Text;
use crate::{binary, redis, Engine, Out, Protocol, Server};

/// A long value on its way into the store.
struct Stream {
    request: Request,
    /// The request's bytes but the value.
    head: Vec<u8>,
    hash: Hash,
    stage: Stage,
    /// What has come of the line end behind the value, and how long that is.
    tail: [u8; 2],
    ended: usize,
    tail_len: usize,
}

impl Stream {
    /// Takes bytes, all or none; true when it has all.
    fn take(&mut self, bytes: &[u8], engine: &Engine) -> Result<bool, Wanting> {
        let left = self.stage.len() - self.stage.came();
        let (value, tail) = bytes.split_at(bytes.len().min(left));
        self.stage.make_room(&engine.local, value.len())?;
        self.stage.take(value).map_err(|Full| Wanting::Never)?;
        self.tail[self.ended..self.ended + tail.len()].copy_from_slice(tail);
        self.ended += tail.len();
        Ok(value.len() == left && self.ended == self.tail_len)
    }
}

/// One connection's state between requests.
#[derive(Default)]
pub struct Session {
    spoken: Spoken,
    /// No request will follow.
    closing: bool,
    /// A value was read into the store up to its end, or to that of its room.
    sunk: bool,
    /// Bytes of a long value that were not parsed yet, and whether they are only skipped.
    left: u64,
    /// None while a value is skipped.
    stream: Option<Box<Stream>>,
}

#[derive(Default)]
enum Spoken {
    /// The first byte decides.
    #[default]
    Unknown,
    Text(Text),
    Binary,
    Redis(Box<Client>),
}

/// `$call` for the protocol of an operation; `$none` for what is of no protocol.
macro_rules! dialect {
    ($op:expr, $spoken:expr, $dialect:ident => $call:expr, $none:expr) => {
        match $op {
            Op::Classic($dialect) => $call,
            Op::Meta($dialect) => $call,
            Op::Binary($dialect) => $call,
            Op::Redis(op) => match &mut $spoken {
                Spoken::Redis(client) => {
                    let $dialect = redis::Spoken { op, client };
                    $call
                }
                _ => $none,
            },
            Op::Skip | Op::Piece => $none,
        }
    };
}

impl Session {
    /// A connection's that speaks one of memcached's protocols, before its first byte; or a
    /// datagram's.
    pub fn new() -> Session {
        Session::default()
    }

    /// A connection's that speaks Redis' protocol.
    pub fn redis(client: Client) -> Session {
        Session { spoken: Spoken::Redis(Box::new(client)), ..Session::default() }
    }

    /// It has asked for RESP3.
    pub fn speaks_resp3(&self) -> bool {
        matches!(&self.spoken, Spoken::Redis(client) if client.resp3)
    }

    /// Every request is for this program, be it of those that a card runs: a transaction is open,
    /// replies are not sent, or it was not let in.
    pub fn wants_all(&self) -> bool {
        matches!(&self.spoken, Spoken::Redis(client) if client.wants_all())
    }

    /// It must give the password first. What may be parsed behind a command depends on whether it does.
    #[inline]
    pub fn is_stranger(&self, engine: &Engine) -> bool {
        matches!(&self.spoken, Spoken::Redis(client) if client.is_stranger(&engine.settings.redis))
    }

    /// A command has begun that is done to its end, be it for nobody.
    pub fn must_end(&self) -> bool {
        matches!(&self.spoken, Spoken::Redis(client) if client.must_end())
    }

    /// More of a command is to come, of which a part was taken.
    pub fn is_within(&self) -> bool {
        matches!(&self.spoken, Spoken::Redis(client) if client.is_within())
    }

    /// The database that the connection is in, where that is told by somebody else.
    pub fn db(&self) -> u8 {
        match &self.spoken {
            Spoken::Redis(client) => client.db,
            _ => 0,
        }
    }

    pub fn enters(&mut self, db: u8) {
        if let Spoken::Redis(client) = &mut self.spoken {
            client.db = db;
        }
    }

    pub(crate) fn speaks_binary(&self) -> bool {
        matches!(self.spoken, Spoken::Binary)
    }

    /// The next request at the front of `input`. Copies nothing.
    #[inline]
    pub fn parse(&mut self, input: &[u8], engine: &Engine) -> Parse {
        if self.left > 0 || self.sunk || self.closing {
            return self.parse_piece(input);
        }
        let parsed = match &mut self.spoken {
            Spoken::Text(text) => match text.parse_short(input, engine) {
                Some(request) => return Parse::Request(request),
                None => text.parse(input, engine),
            },
            Spoken::Binary => binary::parse(input, engine),
            Spoken::Redis(client) => client.parse(input, engine),
            Spoken::Unknown => {
                let Some(first) = input.first() else { return Parse::Need(1) };
                let binary = match engine.settings.protocol {
                    Protocol::Auto => *first == binary::REQUEST,
                    Protocol::Ascii => false,
                    Protocol::Binary => true,
                };
                self.spoken = match binary {
                    true => Spoken::Binary,
                    false => Spoken::Text(Text::default()),
                };
                return self.parse(input, engine);
            }
        };
        match parsed {
            Parsed::Request(request) => Parse::Request(request),
            Parsed::Long(request, left) => {
                self.left = left;
                Parse::Request(request)
            }
            Parsed::Last(request) => {
                self.closing = true;
                Parse::Request(request)
            }
            Parsed::Need(more) => Parse::Need(more),
            Parsed::Close => {
                self.closing = true;
                Parse::Close
            }
        }
    }

    #[cold]
    fn parse_piece(&mut self, input: &[u8]) -> Parse {
        if self.closing {
            return Parse::Close;
        }
        let here = self.left.min(input.len() as u64).min(u32::MAX.into());
        if here == 0 && !self.sunk {
            return Parse::Need(self.left.min(1 << 30) as usize);
        }
        self.sunk = false;
        self.left -= here;
        Parse::Request(Request { len: here as u32, op: Op::Piece, ..Request::default() })
    }

    /// Runs a request; the reply is added to `out`. `input` begins where it did when the request
    /// was parsed.
    #[inline]
    pub fn execute(
        &mut self,
        request: &mut Request,
        input: &[u8],
        engine: &mut Engine,
        server: &mut dyn Server,
        out: &mut Out,
    ) -> Next {
        if request.streams {
            return self.begin(request, input, engine, out);
        }
        // It may have been parsed long ago.
        if let (Some(hash), false) = (request.hash, matches!(self.spoken, Spoken::Redis(_))) {
            request.hash = Some(engine.local.renew(hash, 0));
        }
        if request.op == Op::Piece {
            return self.piece(&input[..request.len as usize], engine, out);
        }
        dialect!(request.op, self.spoken, dialect => {
            dialect.execute(request, input, engine, server, out)
        }, Next::Continue)
    }

    /// A long value's request.
    #[cold]
    fn begin(
        &mut self,
        request: &Request,
        input: &[u8],
        engine: &mut Engine,
        out: &mut Out,
    ) -> Next {
        if self.stream.is_none() {
            let mut decoded = [0; ops::KEY_MAX];
            let planned = plan(&mut self.spoken, request, input, engine, out, &mut decoded);
            let Some((key, _)) = planned else { return Next::Continue };
            let hash = engine.local.hash(key);
            let stage = engine.local.stage(request.value.len as usize);
            let head = input[..request.len as usize].to_vec();
            let tail_len = dialect!(request.op, self.spoken, dialect => tail_of(&dialect), 0);
            let (tail, ended) = ([0; 2], 0);
            let stream = Stream { request: *request, head, hash, stage, tail, ended, tail_len };
            self.stream = Some(Box::new(stream));
        }
        match self.place(engine, out) {
            Ok(()) => Next::Continue,
            Err(Wanting::Later) => Next::Wait,
            Err(Wanting::Never) => {
                self.give_up(engine, out);
                Next::Continue
            }
        }
    }

    /// The place of a value that is received in the log.
    fn place(&mut self, engine: &mut Engine, out: &mut Out) -> Result<(), Wanting> {
        let Some(stream) = self.stream.as_mut().filter(|stream| stream.stage.is_long()) else {
            return Ok(());
        };
        stream.stage.want_place(&engine.local)?;
        let mut decoded = [0; ops::KEY_MAX];
        let Stream { request, head, stage, .. } = &mut **stream;
        let planned = plan(&mut self.spoken, request, head, engine, out, &mut decoded);
        let (key, put) = planned.ok_or(Wanting::Never)?;
        let place = put.reserve(&mut engine.local, key, stage.len());
        stage.set_place(place.map_err(|Full| Wanting::Never)?);
        Ok(())
    }

    /// The value that is on its way is not stored, for want of memory; what still comes of it is
    /// skipped.
    #[cold]
    pub fn give_up(&mut self, engine: &mut Engine, out: &mut Out) {
        let Some(stream) = self.stream.take() else { return };
        let Stream { request, head, .. } = &*stream;
        let mut decoded = [0; ops::KEY_MAX];
        let planned = plan(&mut self.spoken, request, head, engine, out, &mut decoded);
        let Some((key, put)) = planned else { return };
        engine.counters.store_no_memory += 1;
        dialect!(request.op, self.spoken, dialect => {
            dialect.no_memory(request, head, (key, &put), engine, out);
        }, ());
    }

    #[cold]
    fn piece(&mut self, bytes: &[u8], engine: &mut Engine, out: &mut Out) -> Next {
        let Some(stream) = &mut self.stream else { return Next::Continue };
        let whole = match stream.take(bytes, engine) {
            Ok(true) => stream.stage.finish().map_err(|Full| Wanting::Never),
            Ok(false) => return Next::Continue,
            Err(wanting) => Err(wanting),
        };
        let whole = match whole {
            Ok(whole) => whole,
            Err(Wanting::Later) => return Next::Wait,
            Err(Wanting::Never) => {
                self.give_up(engine, out);
                return Next::Continue;
            }
        };
        let stream = *self.stream.take().expect("one is under way");
        let Stream { mut request, head, hash, tail, ended, .. } = stream;
        request.hash = Some(engine.local.renew(hash, 0));
        let value = (ended == 0 || tail == *b"\r\n").then_some(Value::There(whole));
        dialect!(request.op, self.spoken, dialect => {
            dialect.store(&request, &head, value, engine, out);
        }, ());
        Next::Continue
    }

    /// While a long value arrives: where its next bytes go, so that they can be read from the
    /// socket straight into the store. Only when no input is left and every request executed.
    pub fn sink(&mut self) -> Option<Room<'_>> {
        self.stream.as_mut()?.stage.room()
    }

    /// Whether what a request waited for may be there.
    pub fn may_go_on(&self, engine: &Engine) -> bool {
        let value = self.stream.as_ref().is_none_or(|stream| stream.stage.may_go_on());
        value
            && match &self.spoken {
                Spoken::Redis(client) => client.may_go_on(engine),
                _ => true,
            }
    }

    /// In how many milliseconds a request that sleeps goes on.
    pub fn sleeps(&self, engine: &Engine) -> u64 {
        match &self.spoken {
            Spoken::Redis(client) => client.sleeps(&engine.settings.redis),
            _ => 0,
        }
    }

    /// A request that sleeps does so as all clients were told to (`CLIENT PAUSE`), not by its own wish (`DEBUG SLEEP`).
    pub fn is_paused(&self) -> bool {
        matches!(&self.spoken, Spoken::Redis(client) if client.sleeps_until.is_none())
    }

    /// `count` bytes were read into the [`sink`](Session::sink). [`parse`](Session::parse) goes
    /// on behind them, even with no input.
    pub fn sunk(&mut self, count: usize) {
        let stream = self.stream.as_mut().expect("there was a sink");
        stream.stage.wrote(count);
        self.left -= count as u64;
        self.sunk = stream.stage.is_full();
    }
}

fn tail_of<D: Dialect>(_: &D) -> usize {
    D::TAIL
}

/// What a long value is for: its key, and how it is stored. None: it is refused, and that was said.
fn plan<'a>(
    spoken: &mut Spoken,
    request: &Request,
    input: &'a [u8],
    engine: &mut Engine,
    out: &mut Out,
    decoded: &'a mut [u8; ops::KEY_MAX],
) -> Option<(&'a [u8], ops::Put)> {
    dialect!(request.op, *spoken, dialect => {
        dialect.plan(request, input, engine, out, decoded)
    }, None)
}
