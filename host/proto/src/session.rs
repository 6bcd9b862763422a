//! One connection: what its next request is, and what that does.

use std::borrow::{Borrow, BorrowMut};

use wirekv_store::{Full, Hash, Room, Stage, Wanting};

use crate::limits::KEY_MAX;
use crate::{Asked, Dialect, Engine, Next, Out, Parse, Parsed, Request, Value};

/// A long value on its way into the store.
struct Stream<O> {
    op: O,
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

impl<O> Stream<O> {
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
pub struct Session<D: Dialect> {
    dialect: D,
    /// No request will follow.
    closing: bool,
    /// A value was read into the store up to its end, or to that of its room.
    sunk: bool,
    /// Bytes of a long value that were not parsed yet, and whether they are only skipped.
    left: u64,
    /// None while a value is skipped.
    stream: Option<Box<Stream<D::Op>>>,
}

impl<D: Dialect> From<D> for Session<D> {
    fn from(dialect: D) -> Session<D> {
        Session { dialect, closing: false, sunk: false, left: 0, stream: None }
    }
}

impl<D: Dialect> Default for Session<D> {
    fn default() -> Session<D> {
        D::default().into()
    }
}

impl<D: Dialect> Session<D> {
    pub fn dialect(&self) -> &D {
        &self.dialect
    }

    pub fn dialect_mut(&mut self) -> &mut D {
        &mut self.dialect
    }

    /// Bytes of a request that was parsed are still to come.
    pub fn is_within(&self) -> bool {
        self.left > 0
    }

    /// The next request at the front of `input`. Copies nothing.
    #[inline]
    pub fn parse(&mut self, input: &[u8], engine: &D::Engine) -> Parse<D::Op> {
        if self.left > 0 || self.sunk || self.closing {
            return self.parse_piece(input);
        }
        if let Some(asked) = self.dialect.parse_short(input, engine) {
            return Parse::Request(asked);
        }
        match self.dialect.parse(input, engine) {
            Parsed::Request(asked) => Parse::Request(asked),
            Parsed::Long(asked, left) => {
                self.left = left;
                Parse::Request(asked)
            }
            Parsed::Last(asked) => {
                self.closing = true;
                Parse::Request(asked)
            }
            Parsed::Need(more) => Parse::Need(more),
            Parsed::Close => {
                self.closing = true;
                Parse::Close
            }
        }
    }

    #[cold]
    fn parse_piece(&mut self, input: &[u8]) -> Parse<D::Op> {
        if self.closing {
            return Parse::Close;
        }
        let here = self.left.min(input.len() as u64).min(u32::MAX.into());
        if here == 0 && !self.sunk {
            return Parse::Need(self.left.min(1 << 30) as usize);
        }
        self.sunk = false;
        self.left -= here;
        Parse::Request(Asked::skip(here as u32))
    }

    /// Runs a request; the reply is added to `out`. `input` begins where it did when the request
    /// was parsed.
    #[inline]
    pub fn execute(
        &mut self,
        asked: &mut Asked<D::Op>,
        input: &[u8],
        engine: &mut D::Engine,
        server: &mut D::Server<'_>,
        out: &mut Out,
    ) -> Next {
        let Some(op) = asked.op else {
            return self.piece(&input[..asked.len as usize], engine, out);
        };
        if asked.streams {
            return self.begin(op, &asked.request, input, engine, out);
        }
        self.dialect.execute(op, &mut asked.request, input, engine, server, out)
    }

    /// A long value's request.
    #[cold]
    fn begin(
        &mut self,
        op: D::Op,
        request: &Request,
        input: &[u8],
        engine: &mut D::Engine,
        out: &mut Out,
    ) -> Next {
        if self.stream.is_none() {
            let mut decoded = [0; KEY_MAX];
            let planned = self.dialect.plan(op, request, input, engine, out, &mut decoded);
            let Some((key, _)) = planned else { return Next::Continue };
            let local = &engine.borrow_mut().local;
            let hash = local.hash(key);
            let stage = local.stage(request.value.len as usize);
            let head = input[..request.len as usize].to_vec();
            let (tail, ended, tail_len) = ([0; 2], 0, D::tail(op));
            let stream = Stream { op, request: *request, head, hash, stage, tail, ended, tail_len };
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
    fn place(&mut self, engine: &mut D::Engine, out: &mut Out) -> Result<(), Wanting> {
        let Some(stream) = self.stream.as_mut().filter(|stream| stream.stage.is_long()) else {
            return Ok(());
        };
        stream.stage.want_place(&(*engine).borrow().local)?;
        let mut decoded = [0; KEY_MAX];
        let Stream { op, request, head, stage, .. } = &mut **stream;
        let planned = self.dialect.plan(*op, request, head, engine, out, &mut decoded);
        let (key, fields) = planned.ok_or(Wanting::Never)?;
        let place = engine.borrow_mut().local.reserve_in(0, key, stage.len(), fields);
        stage.set_place(place.map_err(|Full| Wanting::Never)?);
        Ok(())
    }

    /// The value that is on its way is not stored, for want of memory; what still comes of it is
    /// skipped.
    #[cold]
    pub fn give_up(&mut self, engine: &mut D::Engine, out: &mut Out) {
        let Some(stream) = self.stream.take() else { return };
        let Stream { op, request, head, .. } = &*stream;
        let mut decoded = [0; KEY_MAX];
        let planned = self.dialect.plan(*op, request, head, engine, out, &mut decoded);
        let Some((key, _)) = planned else { return };
        engine.borrow_mut().counters.store_no_memory += 1;
        self.dialect.no_memory(*op, request, head, key, engine, out);
    }

    #[cold]
    fn piece(&mut self, bytes: &[u8], engine: &mut D::Engine, out: &mut Out) -> Next {
        let Some(stream) = &mut self.stream else { return Next::Continue };
        let whole = match stream.take(bytes, (*engine).borrow()) {
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
        let Stream { op, mut request, head, hash, tail, ended, .. } = stream;
        request.hash = Some((*engine).borrow().local.renew(hash, 0));
        let value = (ended == 0 || tail == *b"\r\n").then_some(Value::There(whole));
        self.dialect.store(op, &request, &head, value, engine, out);
        Next::Continue
    }

    /// While a long value arrives: where its next bytes go, so that they can be read from the
    /// socket straight into the store. Only when no input is left and every request executed.
    pub fn sink(&mut self) -> Option<Room<'_>> {
        self.stream.as_mut()?.stage.room()
    }

    /// Whether what a request waited for may be there.
    pub fn may_go_on(&self, engine: &D::Engine) -> bool {
        let value = self.stream.as_ref().is_none_or(|stream| stream.stage.may_go_on());
        value && self.dialect.may_go_on(engine)
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
