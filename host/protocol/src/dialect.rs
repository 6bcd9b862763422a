//! What `session` asks of a protocol.

use crate::ops::{Put, Value, KEY_MAX};
use crate::request::{Next, Request};
use crate::{Engine, Out, Server};

/// One request's operation, in its protocol. `input` begins where it did when the request was
/// parsed; of a request whose value came in pieces it is all but the value.
pub(crate) trait Dialect: Sized {
    /// Bytes of the line end behind a long value.
    const TAIL: usize;

    /// Runs a request that is whole.
    fn execute(
        self,
        request: &mut Request,
        input: &[u8],
        engine: &mut Engine,
        server: &mut dyn Server,
        out: &mut Out,
    ) -> Next;

    /// What a long value is for: its key, and how it is stored. None: it is not stored, and that
    /// was said.
    fn plan<'a>(
        self,
        request: &Request,
        input: &'a [u8],
        engine: &mut Engine,
        out: &mut Out,
        decoded: &'a mut [u8; KEY_MAX],
    ) -> Option<(&'a [u8], Put)>;

    /// Stores a long value that has come; none when its line end is wrong.
    fn store(
        self,
        request: &Request,
        input: &[u8],
        value: Option<Value<'_>>,
        engine: &mut Engine,
        out: &mut Out,
    );

    /// There is no memory for a long value that was planned so.
    fn no_memory(
        self,
        request: &Request,
        input: &[u8],
        planned: (&[u8], &Put),
        engine: &mut Engine,
        out: &mut Out,
    );
}
