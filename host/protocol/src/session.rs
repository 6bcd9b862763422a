//! One connection: what its next request is, and what that does.

use crate::store::Hash;
use crate::{Engine, Out, Server};

/// A range of a request's bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    pub at: u32,
    pub len: u32,
}

/// What a request asks for, whatever protocol it came in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Op {
    #[default]
    Nothing,
    Get,
}

/// A parsed request. Its spans count from the first byte of the input it was parsed from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request {
    /// Bytes of input it takes.
    pub len: u32,
    pub op: Op,
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

/// What [`Session::parse`] found.
#[derive(Debug)]
pub enum Parse {
    Request(Request),
    /// Nothing complete yet: at least so many bytes more are needed. The input so far must be
    /// given again with them. More than a buffer holds is asked for only by a `get` of very many
    /// keys, see [`Settings::multiget_max`](crate::Settings::multiget_max).
    Need(usize),
    /// The last request must be executed before more can be understood.
    Wait,
    /// The protocol is violated: close once the requests before were answered.
    Close,
}

/// What follows a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    Continue,
    /// Much was answered, and there is more: execute the same request again, best when the reply
    /// so far was taken.
    Again,
    /// Close when the replies are written.
    Close,
}

/// One connection's state between requests.
#[derive(Default)]
pub struct Session {}

impl Session {
    /// A connection's, before its first byte.
    pub fn stream() -> Session {
        Session {}
    }

    /// The next request at the front of `input`. Copies nothing.
    pub fn parse(&mut self, _input: &[u8], _engine: &Engine) -> Parse {
        todo!()
    }

    /// Runs a request; the reply is added to `out`. `input` begins where it did when the request
    /// was parsed.
    pub fn execute(
        &mut self,
        _request: &mut Request,
        _input: &[u8],
        _engine: &mut Engine,
        _server: &mut dyn Server,
        _out: &mut Out,
    ) -> Next {
        todo!()
    }

    /// While a long value arrives: where its next bytes go, so that they can be read from the
    /// socket straight into the store. Only when no input is left unparsed.
    pub fn sink(&mut self) -> Option<&mut [u8]> {
        todo!()
    }

    /// `count` bytes were read into the [`sink`](Session::sink).
    pub fn sunk(&mut self, _count: usize) {
        todo!()
    }
}
