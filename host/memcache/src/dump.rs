//! `lru_crawler metadump` and `mgdump`: all keys of memcached's database, by the walk of SCAN.

use wirekv_proto::limits::{self, KEY_MAX};
use wirekv_proto::number::unsigned32;
use wirekv_proto::{Engine, Next, Out, Request, Settings};
use wirekv_store::Item;

use crate::{base64, ops};

/// Items that are asked for at a time.
const STEP: usize = 64;
/// Bytes of a line beside the key.
const LINE: usize = 220;

/// Slab classes in which memcached would keep the items that are wanted, a bit each: `all`, `hash`, or
/// numbers with commas between. None: there is no such class.
pub fn classes(text: &[u8]) -> Option<u64> {
    if text == b"all" || text == b"hash" {
        return Some(u64::MAX);
    }
    text.split(|byte| *byte == b',').filter(|word| !word.is_empty()).try_fold(0, |all, word| {
        let class = unsigned32(word).filter(|class| (1..64).contains(class))?;
        Some(all | 1 << class)
    })
}

/// One step of a dump. `Request::number` is how far it has come, `unique` has the classes.
#[cold]
pub fn step(request: &mut Request, meta: bool, engine: &Engine, out: &mut Out) -> Next {
    let Engine { local, settings, .. } = engine;
    let classes = request.unique;
    request.number = local.scan(Some(0), request.number, STEP, |item| {
        let (key, len) = (item.key(), item.value().len() as u64);
        let size = limits::size(settings, key.len(), len, item.flags());
        if classes >> ops::slab_class(size) & 1 != 0 {
            match meta {
                true => metadump(&item, size, settings, out),
                false => mgdump(&item, out),
            }
        }
    });
    if request.number == 0 {
        out.text(if meta { b"END\r\n" } else { b"EN\r\n" });
        return Next::Continue;
    }
    match out.held() >= settings.reply_soft {
        true => Next::Full,
        false => Next::Again,
    }
}

/// `key=<key> exp=<Unix time> la=<Unix time> cas=<unique> fetch=yes|no cls=<class> size=<bytes>
/// flags=<flags>`
fn metadump(item: &Item<'_>, size: u64, settings: &Settings, out: &mut Out) {
    let date = |second: u32| (settings.epoch + i64::from(second)).max(0) as u64;
    let mut w = out.room(3 * KEY_MAX + LINE);
    w.bytes(b"key=");
    encoded(item.key(), |byte| {
        w.byte(byte);
    });
    w.bytes(b" exp=");
    match item.exptime() {
        0 => w.bytes(b"-1"),
        exptime => w.number(date(exptime)),
    };
    w.bytes(b" la=").number(date(item.time())).bytes(b" cas=").number(item.cas());
    w.bytes(b" fetch=").bytes(if item.fetched() { b"yes" } else { b"no" });
    w.bytes(b" cls=").number(ops::slab_class(size)).bytes(b" size=").number(size);
    w.bytes(b" flags=").number(item.flags().into()).byte(b'\n').finish();
}

/// A key as in an address of the web (RFC 3986).
pub fn encoded(key: &[u8], mut byte: impl FnMut(u8)) {
    for &b in key {
        match b {
            b'-' | b'.' | b'_' | b'~' => byte(b),
            b if b.is_ascii_alphanumeric() => byte(b),
            b => {
                let digit = |n: u8| b"0123456789ABCDEF"[usize::from(n)];
                [b'%', digit(b >> 4), digit(b & 15)].into_iter().for_each(&mut byte);
            }
        }
    }
}

/// `mg <key>`, or `mg <key in base64> b`: also of a key that would do something to a terminal, or to who reads lines.
fn mgdump(item: &Item<'_>, out: &mut Out) {
    let mut w = out.room(2 * KEY_MAX + LINE);
    w.bytes(b"mg ");
    if item.binary_key() || item.key().iter().any(u8::is_ascii_control) {
        base64::encode(item.key(), |group| {
            w.bytes(group);
        });
        w.bytes(b" b");
    } else {
        w.bytes(item.key());
    }
    w.bytes(b"\r\n").finish();
}
