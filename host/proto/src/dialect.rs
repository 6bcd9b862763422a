//! What a session asks of a protocol.

use std::borrow::BorrowMut;

use wirekv_store::{Fields, Whole};

use crate::limits::KEY_MAX;
use crate::{Asked, Engine, Next, Out, Parsed, Request};

/// A value on its way into the store.
pub enum Value<'a> {
    /// In the input.
    Here(&'a [u8]),
    /// Received in pieces.
    There(Whole),
}

impl Value<'_> {
    #[inline]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        match self {
            Value::Here(value) => value.len(),
            Value::There(value) => value.len(),
        }
    }

    #[inline]
    pub fn copy_to(&self, to: &mut [u8]) {
        match self {
            Value::Here(value) => to.copy_from_slice(value),
            Value::There(value) => value.copy_to(to),
        }
    }
}

/// What a long value is for: its key, and the other fields of its item.
pub type Plan<'a> = (&'a [u8], Fields);

/// One connection's state in a protocol. `input` begins where it did when a request was parsed; of a
/// request whose value came in pieces it is all but the value.
pub trait Dialect: Default {
    /// What a request asks for.
    type Op: Copy;
    /// A thread's side.
    type Engine: BorrowMut<Engine>;
    /// What the server answers for itself.
    type Server<'s>: ?Sized;

    /// An everyday request at the front of `input`, found at once.
    #[inline]
    fn parse_short(&self, _input: &[u8], _engine: &Self::Engine) -> Option<Asked<Self::Op>> {
        None
    }

    /// The next request at the front of `input`.
    fn parse(&mut self, input: &[u8], engine: &Self::Engine) -> Parsed<Self::Op>;

    /// Runs a request that is whole.
    fn execute(
        &mut self,
        op: Self::Op,
        request: &mut Request,
        input: &[u8],
        engine: &mut Self::Engine,
        server: &mut Self::Server<'_>,
        out: &mut Out,
    ) -> Next;

    /// Whether what a request waited for may be there.
    fn may_go_on(&self, _engine: &Self::Engine) -> bool {
        true
    }

    // -- long values. A protocol that gathers them with their command has none.

    /// Bytes of the line end behind one.
    fn tail(_op: Self::Op) -> usize {
        0
    }

    /// What one is for. None: it is not stored, and that was said.
    fn plan<'a>(
        &mut self,
        _op: Self::Op,
        _request: &Request,
        _input: &'a [u8],
        _engine: &mut Self::Engine,
        _out: &mut Out,
        _decoded: &'a mut [u8; KEY_MAX],
    ) -> Option<Plan<'a>> {
        None
    }

    /// Stores one that has come; none when its line end is wrong.
    fn store(
        &mut self,
        _op: Self::Op,
        _request: &Request,
        _input: &[u8],
        _value: Option<Value<'_>>,
        _engine: &mut Self::Engine,
        _out: &mut Out,
    ) {
    }

    /// There is no memory for one that was planned, under this key.
    fn no_memory(
        &mut self,
        _op: Self::Op,
        _request: &Request,
        _input: &[u8],
        _key: &[u8],
        _engine: &mut Self::Engine,
        _out: &mut Out,
    ) {
    }
}
