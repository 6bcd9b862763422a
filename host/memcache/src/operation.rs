//! What memcached's three protocols have in common: an operation on a request.

use wirekv_proto::limits::KEY_MAX;
use wirekv_proto::{Engine, Next, Out, Plan, Request, Server, Value};

/// One request's operation, in its protocol, as [`Dialect`](wirekv_proto::Dialect) asks for it.
pub trait Operation: Copy {
    /// Bytes of the line end behind a long value.
    const TAIL: usize;

    fn execute(
        self,
        request: &mut Request,
        input: &[u8],
        engine: &mut Engine,
        server: &mut dyn Server,
        out: &mut Out,
    ) -> Next;

    fn plan<'a>(
        self,
        request: &Request,
        input: &'a [u8],
        engine: &mut Engine,
        out: &mut Out,
        decoded: &'a mut [u8; KEY_MAX],
    ) -> Option<Plan<'a>>;

    fn store(
        self,
        request: &Request,
        input: &[u8],
        value: Option<Value<'_>>,
        engine: &mut Engine,
        out: &mut Out,
    );

    fn no_memory(
        self,
        request: &Request,
        input: &[u8],
        key: &[u8],
        engine: &mut Engine,
        out: &mut Out,
    );
}
