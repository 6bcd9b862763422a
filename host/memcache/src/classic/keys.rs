//! A `get` line that is too long to be kept until its end has come.

use wirekv_proto::limits::KEY_MAX;
use wirekv_proto::{Asked, Request, Span};

use super::parse::say;
use super::Op;
use crate::line::Words;
use crate::texts::{BAD_FORMAT, END, ERROR};

/// Within a `get` line that is too long to be kept until its end has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    Wanted {
        unique: bool,
        /// There was one.
        any: bool,
    },
    /// No more of them: this is said when the line ends.
    Over(&'static [u8]),
}

/// The end of the line, and what is said there.
fn over(text: &'static [u8], len: u32) -> Option<Asked<Op>> {
    let (op, request) = say(text, false);
    Some(Asked::new(op, Request { len, ..request }))
}

impl Keys {
    /// What the next bytes of the line ask for, and whether they end it. None: more must come.
    pub fn parse(&mut self, input: &[u8]) -> (Option<Asked<Op>>, bool) {
        let newline = memchr::memchr(b'\n', input);
        let line = &input[..newline.unwrap_or(input.len())];
        let whole = newline.map(|at| at as u32 + 1);
        let (unique, mut any) = match *self {
            Keys::Wanted { unique, any } => (unique, any),
            Keys::Over(text) => {
                return match whole {
                    Some(len) => (over(text, len), true),
                    None if line.is_empty() => (None, false),
                    None => (Some(Asked::skip(line.len() as u32)), false),
                }
            }
        };
        let nul = memchr::memchr(0, line);
        let text = match nul {
            Some(nul) => &line[..nul],
            None if newline.is_some() => line.strip_suffix(b"\r").unwrap_or(line),
            None => line,
        };
        let ended = newline.is_some() || nul.is_some();
        // Up to where the keys are whole and right.
        let (mut words, mut end) = (Words::new(text), 0);
        let keys = |what, end, len| {
            let key = Span::new(0, end);
            Some(Asked::new(what, Request { key, len, ..Request::default() }))
        };
        loop {
            match words.next() {
                Some(key) if key.len() > KEY_MAX => {
                    *self = Keys::Over(BAD_FORMAT);
                    break;
                }
                Some(_) if words.at == text.len() && !ended => break,
                Some(_) => (end, any) = (words.at, true),
                None => {
                    end = text.len();
                    match (whole, nul) {
                        (_, Some(_)) => *self = Keys::Over(if any { END } else { ERROR }),
                        (Some(len), None) if any => {
                            let what = Op::Get { many: true, unique, touch: false };
                            return (keys(what, end, len), true);
                        }
                        (Some(len), None) => {
                            return (over(ERROR, len), true);
                        }
                        (None, None) => {}
                    }
                    break;
                }
            }
        }
        if let Keys::Wanted { any: known, .. } = self {
            *known = any;
        }
        match end {
            0 if matches!(self, Keys::Over(_)) => self.parse(input),
            0 => (None, false),
            end => (keys(Op::Keys { unique }, end, end as u32), false),
        }
    }
}
