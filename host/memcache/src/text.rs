//! memcached's text protocol: classic and meta commands, line by line.

use wirekv_proto::{Asked, Engine, Parsed};

use crate::classic::{self, Keys};
use crate::line::{Found, Line};
use crate::{meta, Op};

/// Where a connection is that speaks it.
#[derive(Default)]
pub struct Text {
    /// Within a `get` line whose end is not waited for.
    keys: Option<Keys>,
}

impl Text {
    pub fn is_within(&self) -> bool {
        self.keys.is_some()
    }

    /// An everyday request, found at once.
    #[inline]
    pub fn parse_short<O: From<Op>>(&self, input: &[u8], engine: &Engine) -> Option<Asked<O>> {
        if self.keys.is_some() {
            return None;
        }
        let (op, request) = classic::parse_short_get(input, engine)?;
        Some(Asked::new(Op::Classic(op).into(), request))
    }

    pub fn parse<O: From<Op>>(&mut self, input: &[u8], engine: &Engine) -> Parsed<O> {
        if self.keys.is_some() {
            return self.parse_keys(input);
        }
        let mut line = Line::new();
        match line.find(input, engine.settings.multiget_max) {
            Found::Line => {}
            Found::TooLong => return Parsed::Close,
            Found::Part => return Parsed::Need(1),
            Found::Keys(at, unique) => {
                self.keys = Some(Keys::Wanted { unique, any: false });
                return Parsed::Request(Asked::skip(at as u32));
            }
        };
        let (op, mut request) = match line.word(input, 0) {
            [b'm', _] => {
                let (op, request) = meta::parse(&line, input, engine);
                (Op::Meta(op), request)
            }
            _ => match classic::parse(&line, input, engine) {
                Some((op, request)) => (Op::Classic(op), request),
                None => return Parsed::Close,
            },
        };
        request.len = line.next as u32;
        if request.value.at > 0 {
            let value = request.value.len as usize;
            let end = line.next + value + 2;
            if request.streams || value >= engine.settings.stream_from {
                request.streams = true;
                return Parsed::Long(Asked::new(op.into(), request), value as u64 + 2);
            } else if end > input.len() {
                return Parsed::Need(end - input.len());
            }
            request.len = end as u32;
        } else if op == Op::Classic(classic::Op::Quit) {
            return Parsed::Last(Asked::new(op.into(), request));
        }
        Parsed::Request(Asked::new(op.into(), request))
    }

    #[cold]
    fn parse_keys<O: From<Op>>(&mut self, input: &[u8]) -> Parsed<O> {
        let Some(keys) = &mut self.keys else { return Parsed::Need(1) };
        let (parsed, ends) = keys.parse(input);
        if ends {
            self.keys = None;
        }
        let Some(Asked { op, request }) = parsed else { return Parsed::Need(1) };
        let op = op.map(|op| Op::Classic(op).into());
        Parsed::Request(Asked { op, request })
    }
}
