//! `ma`.

use wirekv_proto::{number, Engine, Out, Value};
use wirekv_store::Hash;

use super::flags::Flags;
use super::show::{opaque, show_exptime, show_key, show_number, show_request, Done, REPLY};
use crate::line::Words;
use crate::ops::{self, Delta, Mode, Put, Stored, Sum};
use crate::texts::{NOT_NUMBER, NO_MEMORY_DELTA};
use crate::watch;

const BAD_SUM_MODE: &[u8] = b"CLIENT_ERROR invalid mode for ma M token\r\n";
const NO_MEMORY_NEW: &[u8] = b"SERVER_ERROR Out of memory allocating new item\r\n";

/// `ma <key> <flags>*`
pub fn arithmetic(
    flags: &Flags,
    args: &[u8],
    key: &[u8],
    hash: Hash,
    engine: &mut Engine,
    out: &mut Out,
) -> Done {
    let mark = out.mark();
    let decrement = match flags.mode {
        0 | b'I' | b'+' => false,
        b'D' | b'-' => true,
        _ => return Err(BAD_SUM_MODE),
    };
    let delta = Delta {
        decrement,
        by: flags.delta,
        unique: flags.unique.unwrap_or(0),
        explicit: flags.explicit,
        exptime: flags.exptime,
    };
    watch::look(engine, key, hash);
    let mut created = false;
    let (value, unique, mut exptime) = loop {
        let status: &[u8] = match ops::delta(engine, key, hash, &delta) {
            Sum::Is(value, unique, exptime) => break (value, unique, exptime),
            Sum::NotNumber => return Err(NOT_NUMBER),
            Sum::NoMemory => return Err(NO_MEMORY_DELTA),
            Sum::Exists => b"EX",
            Sum::NotFound if flags.vivify.is_some() => {
                let mut buffer = [0; number::DIGITS];
                let digits = number::digits(flags.initial, &mut buffer);
                let initial = Put {
                    mode: Mode::Add,
                    exptime: flags.last_exptime(args, true).unwrap_or(0),
                    explicit: flags.explicit,
                    ..Put::default()
                };
                watch::look(engine, key, hash);
                let became = ops::put(engine, key, hash, &initial, Value::Here(digits));
                watch::stored(engine, key, &initial, digits.len(), became);
                match became {
                    Stored::Yes(unique, _) => {
                        created = true;
                        break (flags.initial, unique, 0);
                    }
                    Stored::NoMemory => return Err(NO_MEMORY_NEW),
                    // It came just now, from another connection.
                    _ => continue,
                }
            }
            Sum::NotFound => {
                ops::count_miss(engine, decrement);
                b"NF"
            }
        };
        out.text(status);
        show_request(args, key, flags.binary_key, out)?;
        out.text(b"\r\n");
        return Ok(());
    };
    let mut buffer = [0; number::DIGITS];
    let digits = number::digits(value, &mut buffer);
    match flags.value {
        true => out.room(REPLY).bytes(b"VA ").number(digits.len() as u64).finish(),
        false => out.text(b"HD"),
    }
    let now = engine.local.store().now();
    for word in Words::new(args) {
        match word[0] {
            b'c' => show_number(b'c', unique, out),
            b't' => show_exptime(exptime, now, out),
            b'T' => exptime = flags.exptime.unwrap_or(exptime),
            b'N' if created => exptime = flags.vivify.unwrap_or(exptime),
            b'O' => opaque(word, out)?,
            b'k' => show_key(key, flags.binary_key, out),
            _ => {}
        }
    }
    if flags.value {
        out.text(b"\r\n");
        out.text(digits);
    }
    out.text(b"\r\n");
    // Who created the number hears of it.
    if flags.quiet && !created {
        out.rewind(mark);
    }
    Ok(())
}
