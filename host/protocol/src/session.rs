//! One connection: what its next request is, and what that does.

use crate::classic::Keys;
use crate::line::{Found, Line};
use crate::ops::{self, Value};
use crate::store::{Full, Hash, Room, Stage, Wanting};
use crate::{binary, classic, meta};
use crate::{Engine, Out, Protocol, Server};

/// A range of a request's bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    pub at: u32,
    pub len: u32,
}

impl Span {
    #[inline]
    pub fn new(from: usize, to: usize) -> Span {
        Span { at: from as u32, len: (to - from) as u32 }
    }

    #[inline]
    pub fn of(self, input: &[u8]) -> &[u8] {
        &input[self.at as usize..][..self.len as usize]
    }
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Op {
    /// Nothing: input that is skipped.
    #[default]
    Skip,
    /// The next bytes of a long value.
    Piece,
    Classic(classic::Op),
    Meta(meta::Op),
    Binary(binary::Op),
}

/// A parsed request. Its spans count from the first byte of the input it was parsed from. What
/// the other fields mean depends on the operation.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Bytes of input it takes.
    pub len: u32,
    pub op: Op,
    /// No reply but to what fails, or none at all.
    pub quiet: bool,
    /// The value does not come with the request but in pieces behind it.
    pub streams: bool,
    pub(crate) flags: u32,
    pub(crate) exptime: u32,
    pub(crate) key: Span,
    /// Flags of a meta command.
    pub(crate) args: Span,
    pub(crate) value: Span,
    pub(crate) number: u64,
    pub(crate) unique: u64,
    pub(crate) say: &'static [u8],
    /// Of its key; `None` where it has none or several.
    pub hash: Option<Hash>,
}

impl Default for Request {
    #[inline]
    fn default() -> Request {
        Request {
            len: 0,
            op: Op::Skip,
            quiet: false,
            streams: false,
            flags: 0,
            exptime: 0,
            key: Span::default(),
            args: Span::default(),
            value: Span::default(),
            number: 0,
            unique: 0,
            say: b"",
            hash: None,
        }
    }
}

impl Request {
    /// First pass of a batch: the bucket of its key.
    #[inline]
    pub fn prefetch_bucket(&self, engine: &Engine) {
        if let Some(hash) = self.hash {
            engine.local.prefetch_buckets(hash);
        }
    }

    /// Second pass: the item.
    #[inline]
    pub fn prefetch_item(&self, engine: &Engine) {
        if let Some(hash) = self.hash {
            engine.local.prefetch_item(hash);
        }
    }
}

/// What [`Session::parse`] found.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)]
pub enum Parse {
    Request(Request),
    /// Nothing complete yet: at least so many bytes more are needed. The input so far must be
    /// given again with them: never more than [`Settings::buffer`](crate::Settings::buffer) bytes.
    Need(usize),
    /// The connection is at its end, or the protocol violated: close once the requests before
    /// were answered.
    Close,
}

/// What follows a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    Continue,
    /// Much was done, and there is more: execute the same request again, best when the reply so far
    /// was taken and others have had their turn.
    Again,
    /// There is no room yet for what has come of a long value: execute the same request again, a
    /// moment later, or [give it up](Session::give_up).
    Wait,
    /// There is more, but much reply by now: execute the same request again when that was taken.
    Full,
    /// Close when the replies are written.
    Close,
}

/// A long value on its way into the store.
struct Stream {
    request: Request,
    /// The request's bytes but the value.
    head: Vec<u8>,
    hash: Hash,
    stage: Stage,
    /// What has come of the text protocols' line end.
    tail: [u8; 2],
    ended: usize,
}

impl Stream {
    fn tail_len(&self) -> usize {
        if matches!(self.request.op, Op::Binary(_)) {
            0
        } else {
            2
        }
    }

    /// Takes bytes, all or none; true when it has all.
    fn take(&mut self, bytes: &[u8], engine: &Engine) -> Result<bool, Wanting> {
        let left = self.stage.len() - self.stage.came();
        let (value, tail) = bytes.split_at(bytes.len().min(left));
        self.stage.make_room(&engine.local, value.len())?;
        self.stage.take(value).map_err(|Full| Wanting::Never)?;
        self.tail[self.ended..self.ended + tail.len()].copy_from_slice(tail);
        self.ended += tail.len();
        Ok(value.len() == left && self.ended == self.tail_len())
    }
}

/// One connection's state between requests.
#[derive(Default)]
pub struct Session {
    spoken: Option<Spoken>,
    /// No request will follow.
    closing: bool,
    /// A value was read into the store up to its end, or to that of its room.
    sunk: bool,
    /// Bytes of a long value that were not parsed yet, and whether they are only skipped.
    left: u64,
    /// None while a value is skipped.
    stream: Option<Box<Stream>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Spoken {
    Text,
    Binary,
    /// Text, within a `get` line whose end is not waited for.
    Keys(Keys),
}

impl Session {
    /// A connection's, before its first byte; or a datagram's.
    pub fn new() -> Session {
        Session::default()
    }

    pub(crate) fn speaks_binary(&self) -> bool {
        self.spoken == Some(Spoken::Binary)
    }

    /// The next request at the front of `input`. Copies nothing.
    #[inline]
    pub fn parse(&mut self, input: &[u8], engine: &Engine) -> Parse {
        if self.left > 0 || self.sunk || self.closing {
            return self.parse_piece(input);
        }
        match self.spoken {
            Some(Spoken::Text) => {}
            Some(Spoken::Binary) => return self.parse_binary(input, engine),
            Some(Spoken::Keys(keys)) => return self.parse_keys(keys, input),
            None => {
                let Some(first) = input.first() else { return Parse::Need(1) };
                let binary = match engine.settings.protocol {
                    Protocol::Auto => *first == binary::REQUEST,
                    Protocol::Ascii => false,
                    Protocol::Binary => true,
                };
                self.spoken = Some(if binary { Spoken::Binary } else { Spoken::Text });
                if binary {
                    return self.parse_binary(input, engine);
                }
            }
        }
        match classic::parse_short_get(input, engine) {
            Some(request) => Parse::Request(request),
            None => self.parse_line(input, engine),
        }
    }

    fn parse_line(&mut self, input: &[u8], engine: &Engine) -> Parse {
        let mut line = Line::new();
        match line.find(input, engine.settings.multiget_max) {
            Found::Line => {}
            Found::TooLong => return self.parse_close(),
            Found::Part => return Parse::Need(1),
            Found::Keys(at, unique) => {
                self.spoken = Some(Spoken::Keys(Keys::Wanted { unique, any: false }));
                return Parse::Request(Request { len: at as u32, ..Request::default() });
            }
        };
        let mut request = match line.word(input, 0) {
            [b'm', _] => meta::parse(&line, input, engine),
            _ => classic::parse(&line, input, engine),
        };
        if request.op == Op::Skip {
            return self.parse_close();
        }
        request.len = line.next as u32;
        if request.value.at > 0 {
            let value = request.value.len as usize;
            let end = line.next + value + 2;
            if request.streams || value >= engine.settings.stream_from {
                request.streams = true;
                self.left = value as u64 + 2;
            } else if end > input.len() {
                return Parse::Need(end - input.len());
            } else {
                request.len = end as u32;
            }
        } else if request.op == Op::Classic(classic::Op::Quit) {
            self.closing = true;
        }
        Parse::Request(request)
    }

    #[cold]
    fn parse_keys(&mut self, mut keys: Keys, input: &[u8]) -> Parse {
        let (parsed, ends) = keys.parse(input);
        self.spoken = Some(if ends { Spoken::Text } else { Spoken::Keys(keys) });
        parsed.map_or(Parse::Need(1), Parse::Request)
    }

    fn parse_binary(&mut self, input: &[u8], engine: &Engine) -> Parse {
        let (request, skip) = match binary::parse(input, engine) {
            binary::Parsed::Request(request) => (request, 0),
            binary::Parsed::Skip(request, skip) => (request, skip),
            binary::Parsed::Need(more) => return Parse::Need(more),
            binary::Parsed::Close => return self.parse_close(),
        };
        self.left = skip;
        self.closing = matches!(request.op, Op::Binary(op) if op.closes());
        Parse::Request(request)
    }

    fn parse_close(&mut self) -> Parse {
        self.closing = true;
        Parse::Close
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
        match request.op {
            Op::Classic(op) => classic::execute(op, request, input, engine, server, out),
            Op::Meta(op) => meta::execute(op, request, input, engine, out),
            Op::Binary(op) => binary::execute(op, request, input, engine, server, out),
            Op::Piece => self.piece(&input[..request.len as usize], engine, out),
            Op::Skip => Next::Continue,
        }
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
            let Some((key, _)) = plan(request, input, engine, out, &mut decoded) else {
                return Next::Continue;
            };
            let hash = engine.local.hash(key);
            let stage = engine.local.stage(request.value.len as usize);
            let head = input[..request.len as usize].to_vec();
            let stream = Stream { request: *request, head, hash, stage, tail: [0; 2], ended: 0 };
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
        let (key, put) = plan(request, head, engine, out, &mut decoded).ok_or(Wanting::Never)?;
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
        let Some((key, put)) = plan(request, head, engine, out, &mut decoded) else { return };
        engine.counters.store_no_memory += 1;
        if put.mode == ops::Mode::Set || matches!(request.op, Op::Meta(_)) {
            ops::forget(engine, key);
        }
        match request.op {
            Op::Classic(_) if request.quiet => {}
            Op::Classic(_) | Op::Meta(_) => {
                out.unit();
                out.text(classic::NO_MEMORY);
            }
            _ => binary::no_memory(request, head, out),
        }
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
        request.hash = Some(hash);
        let value = (ended == 0 || tail == *b"\r\n").then_some(Value::There(whole));
        match request.op {
            Op::Classic(op) => classic::store(op, &request, &head, value, engine, out),
            Op::Meta(_) => meta::store(&request, &head, value, engine, out),
            Op::Binary(op) => {
                let value = value.expect("no tail that could be wrong");
                binary::store(op, &request, &head, value, engine, out);
            }
            _ => {}
        }
        Next::Continue
    }

    /// While a long value arrives: where its next bytes go, so that they can be read from the
    /// socket straight into the store. Only when no input is left and every request executed.
    pub fn sink(&mut self) -> Option<Room<'_>> {
        self.stream.as_mut()?.stage.room()
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

/// What a long value is for: its key, and how it is stored. None: it is refused, and that was said.
fn plan<'a>(
    request: &Request,
    input: &'a [u8],
    engine: &mut Engine,
    out: &mut Out,
    decoded: &'a mut [u8; ops::KEY_MAX],
) -> Option<(&'a [u8], ops::Put)> {
    match request.op {
        Op::Classic(op) => classic::plan(op, request, input, engine, out),
        Op::Meta(_) => meta::plan(request, input, engine, out, decoded),
        Op::Binary(op) => binary::plan(op, request, input, engine, out),
        _ => None,
    }
}
