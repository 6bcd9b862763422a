//! memcached's text protocol: classic and meta commands, line by line.

use crate::classic::{self, Keys};
use crate::line::{Found, Line};
use crate::request::{Op, Parsed, Request};
use crate::{meta, Engine};

/// Where a connection is that speaks it.
#[derive(Default)]
pub(crate) struct Text {
    /// Within a `get` line whose end is not waited for.
    keys: Option<Keys>,
}

impl Text {
    /// An everyday request, found at once.
    #[inline]
    pub fn parse_short(&self, input: &[u8], engine: &Engine) -> Option<Request> {
        if self.keys.is_some() {
            return None;
        }
        classic::parse_short_get(input, engine)
    }

    pub fn parse(&mut self, input: &[u8], engine: &Engine) -> Parsed {
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
                return Parsed::Request(Request { len: at as u32, ..Request::default() });
            }
        };
        let mut request = match line.word(input, 0) {
            [b'm', _] => meta::parse(&line, input, engine),
            _ => classic::parse(&line, input, engine),
        };
        if request.op == Op::Skip {
            return Parsed::Close;
        }
        request.len = line.next as u32;
        if request.value.at > 0 {
            let value = request.value.len as usize;
            let end = line.next + value + 2;
            if request.streams || value >= engine.settings.stream_from {
                request.streams = true;
                return Parsed::Long(request, value as u64 + 2);
            } else if end > input.len() {
                return Parsed::Need(end - input.len());
            }
            request.len = end as u32;
        } else if request.op == Op::Classic(classic::Op::Quit) {
            return Parsed::Last(request);
        }
        Parsed::Request(request)
    }

    #[cold]
    fn parse_keys(&mut self, input: &[u8]) -> Parsed {
        let Some(keys) = &mut self.keys else { return Parsed::Need(1) };
        let (parsed, ends) = keys.parse(input);
        if ends {
            self.keys = None;
        }
        parsed.map_or(Parsed::Need(1), Parsed::Request)
    }
}
