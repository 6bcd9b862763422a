//! What all protocols share: a request, parsed, and what becomes of it.

use std::ops::{Deref, DerefMut};

use wirekv_store::Hash;

use crate::Engine;

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

/// A request, and what it asks for in the words of its protocol. `None`: input that is skipped, or the
/// next bytes of a long value.
#[derive(Clone, Copy, Debug)]
pub struct Asked<O> {
    pub op: Option<O>,
    pub request: Request,
}

impl<O> Asked<O> {
    #[inline]
    pub fn new(op: O, request: Request) -> Asked<O> {
        Asked { op: Some(op), request }
    }

    /// So many bytes that ask for nothing.
    #[inline]
    pub fn skip(len: u32) -> Asked<O> {
        Asked { op: None, request: Request { len, ..Request::default() } }
    }
}

impl<O> Deref for Asked<O> {
    type Target = Request;

    #[inline]
    fn deref(&self) -> &Request {
        &self.request
    }
}

impl<O> DerefMut for Asked<O> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Request {
        &mut self.request
    }
}

/// A parsed request. Its spans count from the first byte of the input it was parsed from. What
/// the other fields mean depends on the operation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request {
    /// Bytes of input it takes.
    pub len: u32,
    /// No reply but to what fails, or none at all.
    pub quiet: bool,
    /// The value does not come with the request but in pieces behind it.
    pub streams: bool,
    /// Client flags of a store.
    pub flags: u32,
    /// When it expires, in seconds of the store's clock; 0: never.
    pub exptime: u32,
    /// Its key; of a `get` of several, all of them.
    pub key: Span,
    /// Flags of a meta command; where the third argument of a Redis command begins.
    pub args: Span,
    /// The value behind it.
    pub value: Span,
    /// Delta of a counter.
    pub number: u64,
    /// CAS unique.
    pub unique: u64,
    /// The reply, where it is known by now.
    pub say: &'static [u8],
    /// Of its key; `None` where it has none or several.
    pub hash: Option<Hash>,
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

/// What [`Session::parse`](crate::Session::parse) found.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)]
pub enum Parse<O> {
    Request(Asked<O>),
    /// Nothing complete yet: at least so many bytes more are needed. The input so far must be
    /// given again with them: never more than [`Settings::buffer`](crate::Settings::buffer) bytes.
    Need(usize),
    /// The connection is at its end, or the protocol violated: close once the requests before
    /// were answered.
    Close,
}

/// What a protocol found at the front of the input.
pub enum Parsed<O> {
    Request(Asked<O>),
    /// As many bytes behind the request come in pieces: a long value, or what is skipped.
    Long(Asked<O>, u64),
    /// No other request follows.
    Last(Asked<O>),
    Need(usize),
    Close,
}

/// What follows a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    Continue,
    /// Much was done, and there is more: execute the same request again, best when the reply so far
    /// was taken and others have had their turn.
    Again,
    /// There is no room yet for what has come: execute the same request again, a moment later and if
    /// [it may go on](crate::Session::may_go_on); or [give it up](crate::Session::give_up), if it is a
    /// long value.
    Wait,
    /// Execute the same request again in [so many milliseconds](crate::Session::sleeps), or when a pause
    /// is ended.
    Sleep,
    /// There is more, but much reply by now: execute the same request again when that was taken.
    Full,
    /// It watches, and what it sends is nothing any more.
    Watch,
    /// Close when the replies are written.
    Close,
}

impl Next {
    /// The same request is executed again.
    #[inline]
    pub fn comes_again(self) -> bool {
        matches!(self, Next::Again | Next::Wait | Next::Sleep | Next::Full)
    }
}
