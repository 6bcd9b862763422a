//! `lru_crawler metadump` and `mgdump`: all keys of memcached's database, by the walk of SCAN.

use wirekv_proto::limits::{self, KEY_MAX};
use wirekv_proto::number::unsigned32;
use wirekv_proto::{Engine, Next, Out, Request, Settings};

use crate::{base64, ops};

pub const BAD_CLASS: &[u8] = b"BADCLASS invalid class id\r\n";

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

/// What a dump tells of an item. Times are Unix times in seconds.
pub struct Listed<'a> {
    pub key: &'a [u8],
    /// The key came in base64.
    pub coded: bool,
    /// 0: never.
    pub expires: u64,
    pub accessed: u64,
    pub unique: u64,
    pub fetched: bool,
    /// Bytes of the value.
    pub value: u64,
    pub flags: u32,
}

impl Listed<'_> {
    /// Its line, if it is of one of these classes.
    pub fn tell(&self, meta: bool, classes: u64, settings: &Settings, out: &mut Out) {
        let size = limits::size(settings, self.key.len(), self.value, self.flags);
        let class = ops::slab_class(size);
        match classes >> class & 1 != 0 {
            true if meta => self.metadump(class, size, out),
            true => self.mgdump(out),
            false => {}
        }
    }

    /// `key=<key> exp=<Unix time> la=<Unix time> cas=<unique> fetch=yes|no cls=<class> size=<bytes>
    /// flags=<flags>`
    fn metadump(&self, class: u64, size: u64, out: &mut Out) {
        let mut w = out.room(3 * KEY_MAX + LINE);
        w.bytes(b"key=");
        encoded(self.key, |byte| {
            w.byte(byte);
        });
        w.bytes(b" exp=");
        match self.expires {
            0 => w.bytes(b"-1"),
            expires => w.number(expires),
        };
        w.bytes(b" la=").number(self.accessed).bytes(b" cas=").number(self.unique);
        w.bytes(b" fetch=").bytes(if self.fetched { b"yes" } else { b"no" });
        w.bytes(b" cls=").number(class).bytes(b" size=").number(size);
        w.bytes(b" flags=").number(self.flags.into()).byte(b'\n').finish();
    }

    /// `mg <key>`, or `mg <key in base64> b`: also of a key that would do something to a terminal, or to who reads
    /// lines.
    fn mgdump(&self, out: &mut Out) {
        let mut w = out.room(2 * KEY_MAX + LINE);
        w.bytes(b"mg ");
        if self.coded || self.key.iter().any(|b| b.is_ascii_control() || *b == b' ') {
            base64::encode(self.key, |group| {
                w.bytes(group);
            });
            w.bytes(b" b");
        } else {
            w.bytes(self.key);
        }
        w.bytes(b"\r\n").finish();
    }
}

/// Behind the last one.
pub fn end(meta: bool) -> &'static [u8] {
    if meta {
        b"END\r\n"
    } else {
        b"EN\r\n"
    }
}

/// One step of a dump. `Request::number` is how far it has come, `unique` has the classes.
#[cold]
pub fn step(request: &mut Request, meta: bool, engine: &Engine, out: &mut Out) -> Next {
    let Engine { local, settings, .. } = engine;
    let classes = request.unique;
    let date = |second: u32| (settings.epoch + i64::from(second)).max(0) as u64;
    request.number = local.scan(Some(0), request.number, STEP, |item| {
        let listed = Listed {
            key: item.key(),
            coded: item.binary_key(),
            expires: if item.exptime() == 0 { 0 } else { date(item.exptime()) },
            accessed: date(item.time()),
            unique: item.cas(),
            fetched: item.fetched(),
            value: item.value().len() as u64,
            flags: item.flags(),
        };
        listed.tell(meta, classes, settings, out);
    });
    if request.number == 0 {
        out.text(end(meta));
        return Next::Continue;
    }
    match out.held() >= settings.reply_soft {
        true => Next::Full,
        false => Next::Again,
    }
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
