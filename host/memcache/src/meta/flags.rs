//! A meta command's flags.

use wirekv_proto::number::{signed32, unsigned32, unsigned64};
use wirekv_proto::{Engine, Request};

use crate::line::Words;
use crate::ops;
use crate::texts::BAD_FORMAT;

const DUPLICATE: &[u8] = b"CLIENT_ERROR duplicate flag\r\n";
const INVALID: &[u8] = b"CLIENT_ERROR invalid flag\r\n";
pub const BAD_KEY: &[u8] = b"CLIENT_ERROR error decoding key\r\n";
const BAD_TOKEN: &[u8] = b"CLIENT_ERROR bad token in command line format\r\n";
const BAD_MODE_LEN: &[u8] = b"CLIENT_ERROR incorrect length for M token\r\n";
const BAD_INITIAL: &[u8] = b"CLIENT_ERROR invalid numeric initial value\r\n";
const BAD_DELTA: &[u8] = b"CLIENT_ERROR invalid numeric delta value\r\n";

pub const MAX_OPAQUE: usize = 32;

/// What the flags of a command say.
#[derive(Default)]
pub struct Flags {
    pub binary_key: bool,
    /// `v`: the value is asked for.
    pub value: bool,
    pub quiet: bool,
    /// `u`: the read does not count.
    pub no_update: bool,
    pub invalidate: bool,
    /// `x`: the value is removed, the item stays.
    pub remove_value: bool,
    pub unique: Option<u64>,
    pub explicit: Option<u64>,
    pub mode: u8,
    pub exptime: Option<u32>,
    pub vivify: Option<u32>,
    pub recache: Option<u32>,
    pub client: u32,
    pub initial: u64,
    pub delta: u64,
    /// `l` or `h`, or what changes the item: it is marked as read after the reply.
    pub late: bool,
}

impl Flags {
    pub fn parse(request: &Request, input: &[u8], engine: &Engine) -> Result<Flags, &'static [u8]> {
        let mut flags = Flags { delta: 1, ..Flags::default() };
        let mut seen = 0u128;
        let mut error = None;
        // A word that is wrong for no better reason.
        let mut reason = BAD_FORMAT;
        for word in Words::new(request.args.of(input)) {
            let (flag, rest) = (word[0], &word[1..]);
            if flag >= 127 || seen >> flag & 1 == 1 {
                return Err(DUPLICATE);
            }
            seen |= 1 << flag;
            let time = || {
                let now = engine.local.store().now();
                signed32(rest).map(|time| ops::text_when(time, &engine.settings, now))
            };
            let good = match flag {
                b'b' => {
                    reason = if request.hash.is_none() { BAD_KEY } else { reason };
                    flags.binary_key = true;
                    request.hash.is_some()
                }
                b'N' | b'T' | b'R' => {
                    flags.late = true;
                    let place = match flag {
                        b'N' => &mut flags.vivify,
                        b'T' => &mut flags.exptime,
                        _ => &mut flags.recache,
                    };
                    *place = time();
                    reason = if place.is_none() { BAD_TOKEN } else { reason };
                    place.is_some()
                }
                b'l' | b'h' => {
                    flags.late = true;
                    true
                }
                b'O' | b'P' | b'L' | b'k' | b's' | b't' | b'c' | b'f' => true,
                b'v' => {
                    flags.value = true;
                    true
                }
                b'u' => {
                    flags.no_update = true;
                    true
                }
                b'q' => {
                    flags.quiet = true;
                    true
                }
                b'x' => {
                    flags.remove_value = true;
                    true
                }
                b'I' => {
                    flags.invalidate = true;
                    true
                }
                b'F' => match unsigned32(rest) {
                    Some(client) => {
                        flags.client = client;
                        true
                    }
                    None => false,
                },
                b'C' | b'E' => {
                    let place = match flag {
                        b'C' => &mut flags.unique,
                        _ => &mut flags.explicit,
                    };
                    *place = unsigned64(rest);
                    reason = if place.is_none() { BAD_TOKEN } else { reason };
                    place.is_some()
                }
                b'M' => {
                    flags.mode = if rest.len() == 1 { rest[0] } else { 0 };
                    reason = if rest.len() == 1 { reason } else { BAD_MODE_LEN };
                    rest.len() == 1
                }
                b'J' => match unsigned64(rest) {
                    Some(initial) => {
                        flags.initial = initial;
                        true
                    }
                    None => {
                        reason = BAD_INITIAL;
                        false
                    }
                },
                b'D' => match unsigned64(rest) {
                    Some(delta) => {
                        flags.delta = delta;
                        true
                    }
                    None => {
                        reason = BAD_DELTA;
                        false
                    }
                },
                _ => return Err(INVALID),
            };
            if !good {
                error = Some(());
            }
        }
        // Where items have no uniques, none can be given them.
        flags.explicit = flags.explicit.filter(|_| engine.settings.cas);
        match error {
            None => Ok(flags),
            Some(()) => Err(reason),
        }
    }

    /// The expiry time that the flags leave behind, the last of those given; an error ends them.
    pub fn last_exptime(&self, args: &[u8], created: bool) -> Option<u32> {
        Words::new(args)
            .take_while(|word| word[0] != b'O' || word.len() <= MAX_OPAQUE)
            .filter_map(|word| match word[0] {
                b'T' => self.exptime,
                b'N' if created => self.vivify,
                _ => None,
            })
            .last()
    }
}
