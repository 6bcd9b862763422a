//! Entries for a fuzzer: whatever the bytes are, nothing panics or hangs, and requests that come
//! in pieces answer what they answer in one piece.
//!
//! The first byte of the data says where the rest is cut.

use std::sync::Arc;

use crate::store::{Config, HashKey, Store};
use crate::{udp, Counters, Engine, Next, Out, Parse, Protocol, Server, Session, Settings};

struct Nobody;

impl Server for Nobody {
    fn stats(&mut self, args: &[u8], _: &Counters, line: &mut dyn FnMut(&[u8], &[u8])) -> bool {
        line(b"args", args);
        args.is_empty()
    }

    fn shutdown(&mut self, _graceful: bool) {}
}

fn engine(protocol: Protocol) -> Engine {
    let seed = HashKey { nh: [0x9e37_79b9; 32], mix: [0x9e37_79b9_7f4a_7c15; 2] };
    let config = Config { item_max: 4 << 10, seed, ..Config::new(1 << 20) };
    let store = Store::new(config).expect("a small store");
    store.set_now(1000);
    // Small limits, so that short data reaches them.
    let settings = Settings {
        protocol,
        item_max: 2 << 10,
        stream_from: 64,
        multiget_max: 8 << 10,
        copy_max: 100,
        reply_soft: 200,
        shutdown: true,
        ..Settings::default()
    };
    Engine::new(store.local(), Arc::new(settings))
}

/// What a connection answers to the pieces, and whether it closes.
fn converse<'a>(protocol: Protocol, pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<u8>, bool) {
    let mut engine = engine(protocol);
    let (mut session, mut out, mut input) = (Session::new(), Out::new(), Vec::new());
    for (i, piece) in pieces.enumerate() {
        // Every other piece goes straight into the store, if one is waited for there.
        let mut rest = piece;
        if i % 2 == 1 && input.is_empty() {
            if let Some(sink) = session.sink() {
                let count = sink.len().min(rest.len());
                sink[..count].copy_from_slice(&rest[..count]);
                if count > 0 {
                    session.sunk(count);
                }
                rest = &rest[count..];
            }
        }
        input.extend_from_slice(rest);
        loop {
            match session.parse(&input, &engine) {
                Parse::Request(mut request) => {
                    assert!(request.len as usize <= input.len());
                    while match session.execute(
                        &mut request,
                        &input,
                        &mut engine,
                        &mut Nobody,
                        &mut out,
                    ) {
                        Next::Continue => false,
                        Next::Again => true,
                        Next::Close => return (out.to_vec(), true),
                    } {}
                    input.drain(..request.len as usize);
                }
                Parse::Need(more) => {
                    assert!(more > 0);
                    break;
                }
                Parse::Close => return (out.to_vec(), true),
            }
        }
        engine.local.quiesce();
    }
    (out.to_vec(), false)
}

fn whole_and_cut(protocol: Protocol, data: &[u8]) {
    let Some((cut, data)) = data.split_first() else { return };
    let whole = converse(protocol, [data].into_iter());
    let pieces = data.chunks(usize::from(*cut).max(1));
    assert_eq!(whole, converse(protocol, pieces), "cut every {cut} bytes");
}

/// Classic and meta commands.
pub fn fuzz_text(data: &[u8]) {
    whole_and_cut(Protocol::Ascii, data);
}

/// The same, each line with a meta command's letters before it.
pub fn fuzz_meta(data: &[u8]) {
    let Some((cut, data)) = data.split_first() else { return };
    let mut text = vec![*cut];
    for (i, line) in data.split_inclusive(|b| *b == b'\n').enumerate() {
        text.extend_from_slice([&b"mg "[..], b"ms ", b"md ", b"ma ", b"me "][i % 5]);
        text.extend_from_slice(line);
    }
    whole_and_cut(Protocol::Ascii, &text);
}

/// The binary protocol.
pub fn fuzz_binary(data: &[u8]) {
    whole_and_cut(Protocol::Binary, data);
}

/// Whatever the first byte selects.
pub fn fuzz_any(data: &[u8]) {
    whole_and_cut(Protocol::Auto, data);
}

/// A datagram.
pub fn fuzz_udp(data: &[u8]) {
    let mut out = Out::with_units();
    let mut engine = engine(Protocol::Auto);
    if let Some(id) = udp::serve(data, &mut engine, &mut Nobody, &mut out) {
        let mut sent = 0;
        udp::datagrams(&out, id, |parts| {
            let len: usize = parts.iter().map(|part| part.len()).sum();
            assert!(len <= udp::DATAGRAM);
            sent += len - udp::HEADER;
        });
        assert_eq!(sent, out.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small numbers without a crate for them.
    struct Random(u64);

    impl Random {
        fn below(&mut self, n: usize) -> usize {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((self.0 >> 33) as usize) % n
        }

        fn one<'a>(&mut self, words: &[&'a [u8]]) -> &'a [u8] {
            words[self.below(words.len())]
        }
    }

    const WORDS: &[&[u8]] = &[
        b"get",
        b"gets",
        b"gat",
        b"gats",
        b"set",
        b"add",
        b"replace",
        b"append",
        b"prepend",
        b"cas",
        b"incr",
        b"decr",
        b"touch",
        b"delete",
        b"flush_all",
        b"verbosity",
        b"version",
        b"stats",
        b"quit",
        b"noreply",
        b"mg",
        b"ms",
        b"md",
        b"ma",
        b"me",
        b"mn",
        b"a",
        b"b",
        b"key",
        b"0",
        b"1",
        b"5",
        b"70",
        b"200",
        b"3000",
        b"-1",
        b"100000",
        b"18446744073709551615",
        b"v",
        b"k",
        b"c",
        b"q",
        b"b",
        b"I",
        b"N0",
        b"T5",
        b"E7",
        b"C1",
        b"ME",
        b"MA",
        b"D5",
        b"Oxyz",
        b"YWE=",
        b"s",
        b"\0",
        b"\t",
        b"lru",
        b"slabs",
        b"watch",
        b"HTTP/1.1",
        b"shutdown",
    ];

    #[test]
    fn random_text() {
        let mut random = Random(1);
        for _ in 0..3000 {
            let mut data = vec![random.below(40) as u8];
            for _ in 0..random.below(40) {
                match random.below(6) {
                    0 => data.extend_from_slice(b"\r\n"),
                    1 => data.extend(std::iter::repeat_n(b'x', random.below(300))),
                    2 => data.push(random.below(256) as u8),
                    _ => data.extend_from_slice(random.one(WORDS)),
                }
                data.extend_from_slice(random.one(&[b" ", b" ", b" ", b"\r\n", b"\n"]));
            }
            fuzz_text(&data);
            fuzz_meta(&data);
            fuzz_any(&data);
            fuzz_udp(&data);
            fuzz_udp(&[b"\0\x01\0\0\0\x01\0\0", &data[..]].concat());
        }
    }

    #[test]
    fn random_packets() {
        let mut random = Random(2);
        for _ in 0..5000 {
            let mut data = vec![random.below(60) as u8];
            for _ in 0..random.below(12) {
                let extras = [0, 0, 4, 8, 20, random.below(30)][random.below(6)];
                let key = [0, 1, 3, random.below(300)][random.below(4)];
                let value = [0, 0, 5, random.below(300), random.below(4000)][random.below(5)];
                let body = extras + key + value + [0, 0, 0, random.below(3)][random.below(4)];
                data.extend([0x80, random.below(0x26) as u8, (key >> 8) as u8, key as u8]);
                data.extend([extras as u8, 0, 0, 0]);
                data.extend((body as u32).to_be_bytes());
                data.extend([0; 12]);
                data.extend((0..extras + key + value).map(|i| b"a1\0"[i % 3]));
            }
            fuzz_binary(&data);
            fuzz_any(&data);
        }
    }
}
