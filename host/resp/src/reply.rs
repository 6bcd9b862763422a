//! Replies in RESP2 or RESP3.

use wirekv_proto::Mark;
use wirekv_proto::Out;
use wirekv_store::Item;

/// Longer texts are not kept with the replies.
const LONG_TEXT: usize = 16 << 10;

/// Where a command's reply goes.
pub struct Reply<'a> {
    pub out: &'a mut Out,
    /// The connection speaks RESP3.
    pub resp3: bool,
    /// Longer values are not copied.
    pub copy_max: usize,
    /// The error that was said, to be counted.
    pub failed: Option<Box<[u8]>>,
}

impl<'a> Reply<'a> {
    pub fn new(out: &'a mut Out, resp3: bool, copy_max: usize) -> Reply<'a> {
        Reply { out, resp3, copy_max, failed: None }
    }

    pub fn ok(&mut self) {
        self.out.text(b"+OK\r\n");
    }

    /// `+<text>`
    pub fn simple(&mut self, text: &str) {
        self.out.room(text.len() + 3).byte(b'+').bytes(text.as_bytes()).bytes(b"\r\n").finish();
    }

    /// `-<text>`: its first word says of what kind it is. A line end within it becomes blanks.
    #[cold]
    pub fn error(&mut self, text: impl AsRef<[u8]>) {
        let text = text.as_ref();
        let mut w = self.out.room(text.len() + 3);
        w.byte(b'-');
        for byte in text {
            w.byte(if matches!(byte, b'\r' | b'\n') { b' ' } else { *byte });
        }
        w.bytes(b"\r\n").finish();
        self.failed = Some(text.into());
    }

    #[inline]
    pub fn integer(&mut self, value: i64) {
        let mut w = self.out.room(24);
        w.byte(b':');
        if value < 0 {
            w.byte(b'-');
        }
        w.number(value.unsigned_abs()).bytes(b"\r\n").finish();
    }

    #[inline]
    pub fn bulk(&mut self, text: &[u8]) {
        let mut w = self.out.room(text.len() + 26);
        w.byte(b'$').number(text.len() as u64).bytes(b"\r\n").bytes(text).bytes(b"\r\n").finish();
    }

    /// An item's value.
    #[inline]
    pub fn item(&mut self, item: &Item<'_>) {
        let value = item.value();
        if value.len() <= self.copy_max {
            return self.bulk(value);
        }
        self.out.room(24).byte(b'$').number(value.len() as u64).bytes(b"\r\n").finish();
        self.out.item(item, self.copy_max);
        self.out.text(b"\r\n");
    }

    /// An item's value, or that there is none.
    pub fn value(&mut self, item: Option<&Item<'_>>) {
        match item {
            Some(item) => self.item(item),
            None => self.null(),
        }
    }

    /// In place of a value.
    #[inline]
    pub fn null(&mut self) {
        self.out.text(if self.resp3 { b"_\r\n" } else { b"$-1\r\n" });
    }

    /// In place of an array.
    pub fn null_array(&mut self) {
        self.out.text(if self.resp3 { b"_\r\n" } else { b"*-1\r\n" });
    }

    /// So many replies follow.
    #[inline]
    pub fn array(&mut self, len: usize) {
        self.head(b'*', len);
    }

    /// So many replies follow, in no order.
    pub fn set(&mut self, len: usize) {
        self.head(if self.resp3 { b'~' } else { b'*' }, len);
    }

    /// So many pairs follow.
    pub fn map(&mut self, len: usize) {
        match self.resp3 {
            true => self.head(b'%', len),
            false => self.head(b'*', 2 * len),
        }
    }

    fn head(&mut self, kind: u8, len: usize) {
        self.out.room(24).byte(kind).number(len as u64).bytes(b"\r\n").finish();
    }

    /// A text for people: `format` is `txt` or `mkd`.
    pub fn verbatim(&mut self, format: &str, text: &[u8]) {
        if text.len() > LONG_TEXT {
            return self.long_verbatim(format, text);
        }
        if !self.resp3 {
            return self.bulk(text);
        }
        let mut w = self.out.room(text.len() + 32);
        w.byte(b'=').number(text.len() as u64 + 4).bytes(b"\r\n").bytes(format.as_bytes());
        w.byte(b':').bytes(text).bytes(b"\r\n").finish();
    }

    /// What many clients together must not be able to keep: such copies have a bound.
    fn long_verbatim(&mut self, format: &str, text: &[u8]) {
        let head = match self.resp3 {
            true => format!("={}\r\n{format}:", text.len() + 4),
            false => format!("${}\r\n", text.len()),
        };
        self.out.text(head.as_bytes());
        self.out.copy(text);
        self.out.text(b"\r\n");
    }

    /// A floating-point number, in the shape in which Redis writes it.
    pub fn double(&mut self, text: &str) {
        if !self.resp3 {
            return self.bulk(text.as_bytes());
        }
        self.out.room(text.len() + 3).byte(b',').bytes(text.as_bytes()).bytes(b"\r\n").finish();
    }

    /// Where the reply so far ends, to take back what comes behind.
    pub fn mark(&self) -> Mark {
        self.out.mark_all()
    }

    pub fn rewind(&mut self, mark: Mark) {
        self.out.rewind_all(mark);
    }
}
