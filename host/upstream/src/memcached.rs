//! memcached's protocols: where a command ends, and what it may change. `wirekv-memcache` finds the ends.
//!
//! A value is not kept: once its command's line or header is known, it streams to the server. Behind the last complete
//! command goes one of the host's own, `mn` or NOOP, whose reply tells that all replies before it have come.

use std::sync::Arc;

use wirekv_memcache::binary::opcode::{find, Command, NOOP};
use wirekv_memcache::binary::{HEADER, REQUEST};
use wirekv_memcache::{base64, classic, meta, Op, Session};
use wirekv_proto::limits::{KEY_MAX, MAX_LINE};
use wirekv_proto::{Engine, Parse, Request, Settings};
use wirekv_store::{Config, Store};

use crate::batch::{Batch, Effect, Mark, Want};

/// What the host asks behind a batch.
pub const TEXT_MARK: &[u8] = b"mn\r\n";
const NO_WATCH: &[u8] = b"CLIENT_ERROR watch does not pass through the cache\r\n";
/// Nothing is stored in it, so it is not resident.
const STORE_BYTES: usize = 8 << 20;
/// A command with more keys counts as one on all.
pub const MAX_KEYS: usize = 1024;

/// What the reader of all connections needs.
pub fn engine() -> Result<Engine, wirekv_store::Error> {
    let store = Store::new(Config::new(STORE_BYTES))?;
    // No value is waited for, and of long lines the keys pass as they come.
    let settings = Settings { stream_from: 0, multiget_max: MAX_LINE, ..Settings::default() };
    Ok(Engine::new(store.local(), Arc::new(settings)))
}

/// Reads one connection.
#[derive(Default)]
pub struct Memcached {
    session: Session,
    /// Of a command that is not complete: who wants its answer, whether it has an effect.
    wants: Option<Want>,
    open: bool,
    /// No command follows.
    closed: bool,
}

/// What a line, or a request's header, comes to.
struct Read {
    effect: Effect,
    gets: bool,
    wants: Option<Want>,
    /// It has a mark of its own.
    mark: Option<Mark>,
    delay: u32,
}

impl Read {
    fn new(effect: Effect, wants: Option<Want>) -> Read {
        Read { effect, gets: false, wants, mark: None, delay: 0 }
    }
}

impl Memcached {
    /// Commands have begun whose end has not come.
    pub fn is_within(&self) -> bool {
        self.session.is_within() || self.session.dialect().is_within()
    }

    pub fn is_binary(&self) -> bool {
        self.session.dialect().speaks_binary()
    }

    /// Takes from the front of `input` what can go to the server, and says how much that is. `opaque` is for the host's own
    /// NOOP.
    pub fn take(
        &mut self,
        input: &[u8],
        engine: &Engine,
        opaque: [u8; 4],
        batch: &mut Batch,
    ) -> usize {
        let mut at = 0;
        while !self.closed {
            let rest = &input[at..];
            let asked = match self.session.parse(rest, engine) {
                Parse::Request(asked) => asked,
                Parse::Need(_) => break,
                Parse::Close => {
                    (self.closed, batch.closes) = (true, true);
                    break;
                }
            };
            let text = &rest[..asked.request.len as usize];
            at += text.len();
            if let Some(op) = asked.op {
                self.command(op, &asked.request, text, batch);
            } else {
                batch.send.extend_from_slice(text);
            }
            if !self.is_within() {
                batch.wants.extend(self.wants.take());
                self.open = false;
                batch.whole = batch.send.len();
            }
        }
        batch.open = self.open && !batch.effects.is_empty();
        if batch.whole > 0 {
            let rest = batch.send.split_off(batch.whole);
            match self.is_binary() {
                true => batch.send.extend(noop(opaque)),
                false => batch.send.extend_from_slice(TEXT_MARK),
            }
            batch.send.extend(rest);
            batch.marks.push_back(Mark::Host(Vec::new()));
        }
        at
    }

    fn command(&mut self, op: Op, request: &Request, text: &[u8], batch: &mut Batch) {
        let read = match op {
            Op::Classic(op) => classic_read(op, request, text),
            Op::Meta(op) => meta_read(op, request, text),
            Op::Binary(_) => binary_read(text),
        };
        match &read.mark {
            Some(Mark::Host(_)) => batch.send.extend_from_slice(TEXT_MARK),
            _ => batch.send.extend_from_slice(text),
        }
        batch.marks.extend(read.mark);
        if read.gets {
            let key = request.key.of(text);
            match op {
                Op::Binary(_) => batch.gets.push(key.to_vec()),
                Op::Meta(_) => batch.gets.push(meta_key(request, text)),
                _ => batch.gets.extend(words(key).map(<[u8]>::to_vec)),
            }
        }
        if read.delay > 0 {
            batch.delays.push(read.delay);
        }
        self.wants = read.wants.or(self.wants.take());
        if read.effect != Effect::None {
            self.open = true;
            batch.effects.push(read.effect);
        }
    }
}

/// A NOOP of the binary protocol.
pub fn noop(opaque: [u8; 4]) -> [u8; HEADER] {
    let mut packet = [0; HEADER];
    (packet[0], packet[1]) = (REQUEST, NOOP);
    packet[12..16].copy_from_slice(&opaque);
    packet
}

fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b' ').filter(|word| !word.is_empty())
}

/// A line's words, up to a NUL.
fn line_words(line: &[u8]) -> Vec<&[u8]> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    words(line.split(|byte| *byte == 0).next().unwrap_or_default()).collect()
}

fn keys<'a>(keys: impl IntoIterator<Item = &'a [u8]>) -> Effect {
    let keys: Vec<Vec<u8>> = keys
        .into_iter()
        .filter(|key| !key.is_empty() && key.len() <= KEY_MAX)
        .map(<[u8]>::to_vec)
        .collect();
    match keys.len() {
        0 => Effect::None,
        1..=MAX_KEYS => Effect::Keys(keys),
        _ => Effect::All,
    }
}

fn classic_read(op: classic::Op, request: &Request, text: &[u8]) -> Read {
    use classic::{Admin, Op};
    let wants = (!request.quiet).then_some(Want::Text);
    let key = || request.key.of(text);
    match op {
        Op::Get { touch: true, .. } | Op::GetUntilBad { touch: true } => {
            Read::new(keys(words(key())), wants)
        }
        Op::Get { .. } => Read { gets: true, ..Read::new(Effect::None, wants) },
        Op::GetUntilBad { .. } | Op::Keys { .. } | Op::Version => Read::new(Effect::None, wants),
        Op::Quit => Read::new(Effect::None, None),
        Op::Store(_) | Op::Delta { .. } | Op::Touch | Op::Delete => Read::new(keys([key()]), wants),
        Op::Admin(Admin::Flush { delayed }) => {
            let delay = line_words(text).get(1).and_then(|word| number(word));
            let delay = delay.filter(|_| delayed).unwrap_or(0);
            Read { delay, ..Read::new(Effect::All, wants) }
        }
        Op::Admin(Admin::Watch) => watch_read(),
        Op::Admin(_) => Read::new(Effect::None, wants),
        Op::Say => said_read(text, wants),
    }
}

/// A stream of lines has no end that other clients could wait for.
fn watch_read() -> Read {
    Read { mark: Some(Mark::Host(NO_WATCH.to_vec())), ..Read::new(Effect::None, None) }
}

fn number(text: &[u8]) -> Option<u32> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// A line that is answered by an error. Another version of memcached may see more in it.
fn said_read(text: &[u8], wants: Option<Want>) -> Read {
    let words = line_words(text);
    let effect = match words.first().copied().unwrap_or_default() {
        b"" | b"get" | b"gets" | b"bget" | b"stats" | b"version" | b"verbosity" | b"quit"
        | b"lru" | b"lru_crawler" | b"slabs" | b"cache_memlimit" | b"refresh_certs"
        | b"shutdown" => Effect::None,
        // One letter or a line end alone is no command of any version.
        word if word.len() < 2 => Effect::None,
        b"set" | b"add" | b"replace" | b"append" | b"prepend" | b"cas" | b"incr" | b"decr"
        | b"delete" | b"touch" | b"gat" | b"gats" => keys(words[1..].iter().copied()),
        b"watch" => return watch_read(),
        _ => Effect::All,
    };
    Read::new(effect, wants)
}

/// The key, decoded where the flags say that it is base64. The server takes none that cannot be.
fn meta_key(request: &Request, text: &[u8]) -> Vec<u8> {
    let key = request.key.of(text);
    let mut decoded = [0; KEY_MAX];
    let binary = words(request.args.of(text)).any(|flag| flag[0] == b'b');
    match binary.then(|| base64::decode(key, &mut decoded)).flatten() {
        Some(len) => decoded[..len].to_vec(),
        None => key.to_vec(),
    }
}

fn meta_read(op: meta::Op, request: &Request, text: &[u8]) -> Read {
    use meta::Op;
    let line = line_words(text);
    if line.first() == Some(&&b"mn"[..]) {
        let mark = Some(Mark::Server);
        return Read { mark, ..Read::new(Effect::None, Some(Want::Text)) };
    }
    let flags = || words(request.args.of(text));
    let quiet = !matches!(op, Op::Debug | Op::Say) && flags().any(|flag| flag[0] == b'q');
    let wants = (!quiet).then_some(Want::Text);
    let effect = match op {
        Op::Debug => Effect::None,
        // The card does not know what these say of an item.
        Op::Get if !flags().any(|flag| matches!(flag[0], b'N' | b'T' | b'R' | b'E')) => {
            Effect::None
        }
        Op::Get | Op::Set | Op::Delete | Op::Arithmetic => keys([&meta_key(request, text)[..]]),
        Op::Nothing | Op::Say => match line.first().copied().unwrap_or_default() {
            b"me" => Effect::None,
            b"mg" | b"ms" | b"md" | b"ma" => keys(line.get(1).copied()),
            _ => Effect::All,
        },
    };
    // Gates answer it, too.
    let gets = op == Op::Get && effect == Effect::None && flags().any(|flag| flag == b"v");
    Read { gets, ..Read::new(effect, wants) }
}

fn binary_read(text: &[u8]) -> Read {
    let key = usize::from(u16::from_be_bytes([text[2], text[3]]));
    let extras = usize::from(text[4]);
    let key = text.get(HEADER + extras..HEADER + extras + key).unwrap_or_default();
    let wants = Some(Want::Binary(text[1], [text[12], text[13], text[14], text[15]]));
    let Some((command, _, quiet)) = find(text[1]) else {
        // SASL, and `verbosity`.
        let effect = if matches!(text[1], 0x1b | 0x20..=0x22) { Effect::None } else { Effect::All };
        return Read::new(effect, wants);
    };
    let wants = wants.filter(|_| !quiet);
    match command {
        Command::Get | Command::Getk => Read { gets: true, ..Read::new(Effect::None, wants) },
        Command::Version | Command::Stat => Read::new(Effect::None, wants),
        Command::Quit => Read::new(Effect::None, None),
        Command::Noop => Read { mark: Some(Mark::Server), ..Read::new(Effect::None, wants) },
        Command::Flush => {
            let delay = text.get(HEADER..HEADER + 4).filter(|_| extras == 4);
            let delay = delay.map_or(0, |d| u32::from_be_bytes([d[0], d[1], d[2], d[3]]));
            Read { delay, ..Read::new(Effect::All, wants) }
        }
        Command::Gat
        | Command::Gatk
        | Command::Touch
        | Command::Set
        | Command::Add
        | Command::Replace
        | Command::Append
        | Command::Prepend
        | Command::Delete
        | Command::Increment
        | Command::Decrement => Read::new(keys([key]), wants),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(opcode: u8, extras: &[u8], key: &[u8], value: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; HEADER];
        (packet[0], packet[1], packet[4]) = (REQUEST, opcode, extras.len() as u8);
        packet[2..4].copy_from_slice(&(key.len() as u16).to_be_bytes());
        let body = (extras.len() + key.len() + value.len()) as u32;
        packet[8..12].copy_from_slice(&body.to_be_bytes());
        [&packet, extras, key, value].concat()
    }

    fn some(keys: &[&str]) -> Effect {
        Effect::Keys(keys.iter().map(|key| key.as_bytes().to_vec()).collect())
    }

    /// Commands, and what each may change.
    fn text() -> Vec<(Vec<u8>, Effect)> {
        let long = format!("set {} 0 0 1\r\n", "k".repeat(251));
        let commands: Vec<(&str, Effect)> = vec![
            ("get a\r\n", Effect::None),
            ("gets a b\n", Effect::None),
            ("mg a v\r\n", Effect::None),
            ("mg a v T0\r\n", some(&["a"])),
            ("mg a N30 v\r\n", some(&["a"])),
            ("mg a R30\r\n", some(&["a"])),
            ("gat 0 a b\r\n", some(&["a", "b"])),
            ("set a 0 0 3\r\nabc\r\n", some(&["a"])),
            ("set a 0 0 14\r\nget a\r\nflush\r\n\r\n", some(&["a"])),
            ("set a 0 0 0 noreply\r\n\r\n", some(&["a"])),
            ("cas a 0 0 1 7\r\nx\r\n", some(&["a"])),
            ("set a 0 0\r\n", some(&["a", "0", "0"])),
            (&long, some(&["0", "0", "1"])),
            ("ms YWI= 2 b\r\nxx\r\n", some(&["ab"])),
            ("ma a\r\n", some(&["a"])),
            ("md a q\r\n", some(&["a"])),
            ("me a\r\n", Effect::None),
            ("mn\r\n", Effect::None),
            ("incr a 1\r\n", some(&["a"])),
            ("delete a\r\n", some(&["a"])),
            ("touch a 1\r\n", some(&["a"])),
            ("stats items\r\n", Effect::None),
            ("version\r\n", Effect::None),
            ("verbosity 1\r\n", Effect::None),
            ("lru_crawler metadump all\r\n", Effect::None),
            ("flush_all\r\n", Effect::All),
            ("flush_all 9 noreply\r\n", Effect::All),
            ("watch\r\n", Effect::None),
            ("mz a\r\n", Effect::All),
            ("store a\r\n", Effect::All),
        ];
        commands.into_iter().map(|(text, effect)| (text.as_bytes().to_vec(), effect)).collect()
    }

    fn binary() -> Vec<(Vec<u8>, Effect)> {
        vec![
            (packet(0x00, b"", b"a b", b""), Effect::None),
            (packet(0x09, b"", b"a", b""), Effect::None),
            (packet(0x01, &[0; 8], b"a b", b"value"), some(&["a b"])),
            (packet(0x11, &[0; 8], b"a", b""), some(&["a"])),
            (packet(0x1d, &[0; 4], b"a", b""), some(&["a"])),
            (packet(0x1c, &[0; 4], b"a", b""), some(&["a"])),
            (packet(0x0e, b"", b"a", b"x"), some(&["a"])),
            (packet(0x14, b"", b"a", b""), some(&["a"])),
            (packet(0x05, &[0; 20], b"a", b""), some(&["a"])),
            (packet(0x0a, b"", b"", b""), Effect::None),
            (packet(0x0b, b"", b"", b""), Effect::None),
            (packet(0x10, b"", b"items", b""), Effect::None),
            (packet(0x08, &[0, 0, 0, 9], b"", b""), Effect::All),
            (packet(0x55, b"", b"", b""), Effect::All),
            (packet(0x00, b"", b"a", b""), Effect::None),
        ]
    }

    /// What a reader says to pieces of a stream: effects, and where it was at the end of a command.
    fn read(pieces: &[&[u8]], engine: &Engine) -> (Vec<Effect>, Vec<u8>, Vec<u32>) {
        let (mut reader, mut input) = (Memcached::default(), Vec::new());
        let (mut effects, mut sent, mut delays) = (Vec::new(), Vec::new(), Vec::new());
        for piece in pieces {
            input.extend_from_slice(piece);
            let mut batch = Batch::default();
            let taken = reader.take(&input, engine, *b"host", &mut batch);
            input.drain(..taken);
            assert!(!batch.closes);
            assert_eq!(batch.open && reader.is_within(), batch.open);
            effects.extend(batch.effects);
            delays.extend(batch.delays);
            sent.extend(batch.send);
        }
        assert!(input.is_empty() && !reader.is_within());
        (effects, sent, delays)
    }

    #[test]
    fn ends_and_effects_of_streams_that_are_cut_anywhere() {
        let engine = engine().unwrap();
        for (commands, delay) in [(text(), 9), (binary(), 9)] {
            let stream: Vec<u8> = commands.iter().flat_map(|(text, _)| text.clone()).collect();
            let effects: Vec<Effect> =
                commands.iter().map(|(_, e)| e.clone()).filter(|e| *e != Effect::None).collect();
            for cut in 0..=stream.len() {
                let (head, tail) = stream.split_at(cut);
                let (found, _, delays) = read(&[head, tail], &engine);
                assert_eq!(found, effects, "{cut}");
                assert_eq!(delays, [delay]);
            }
            let bytes: Vec<&[u8]> = stream.chunks(1).collect();
            assert_eq!(read(&bytes, &engine).0, effects);
            // Each by itself ends where it ends.
            for (text, effect) in &commands {
                let (mut reader, mut batch) = (Memcached::default(), Batch::default());
                assert_eq!(reader.take(text, &engine, *b"host", &mut batch), text.len());
                assert!(!reader.is_within() && !batch.open);
                let found = batch.effects.first().unwrap_or(&Effect::None);
                assert_eq!(found, effect, "{}", text.escape_ascii());
                for cut in 1..text.len() {
                    let (mut reader, mut batch) = (Memcached::default(), Batch::default());
                    let taken = reader.take(&text[..cut], &engine, *b"host", &mut batch);
                    assert!(taken < cut || reader.is_within(), "{cut} {}", text.escape_ascii());
                    assert_eq!((batch.whole, batch.marks.len()), (0, 0));
                }
            }
        }
    }
}
