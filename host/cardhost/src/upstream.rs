//! The card before another server: rows of bytes from its punt queue go to [`Upstream`], pieces of answers come back, and
//! the request port keeps the card's items as they are to be.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use wirekv_card::{Card, Port};
use wirekv_memcache::binary::opcode::port::FILL;
use wirekv_memcache::binary::opcode::{DELETE_QUIET, FLUSH_QUIET, NOOP};
use wirekv_proto::limits::KEY_MAX;
use wirekv_upstream::{Cache, Item, Protocol, Sockets, Upstream, Within};

use crate::clients::Question;
use crate::exceptions::{self, Context, Request, Tag};
use crate::items::{binary, lines, Writes};
use crate::mover::Mover;
use crate::port::{Hold, Lost, RequestPort, Speech};
use crate::walk::replies_of;

/// So many clients are asked about in a second.
const ASKED: usize = 16;

/// A row of bytes of a connection, as far as it has come.
struct Row {
    text: Vec<u8>,
    within: Within,
    stranger: bool,
}

/// The punt queue of such a card.
pub struct Front {
    upstream: Upstream<Sockets>,
    rows: HashMap<Tag, Row>,
}

impl Front {
    pub fn new(upstream: Upstream<Sockets>) -> Front {
        Front { upstream, rows: HashMap::new() }
    }

    /// How long this can be left alone.
    pub fn patience(&self) -> Duration {
        self.upstream.patience(Instant::now())
    }

    /// A part of a row, or the wish for the next piece of an answer.
    pub fn take(&mut self, request: &Request<'_>, card: &mut Mover) {
        let (tag, now) = (request.tag, Instant::now());
        if request.text.is_empty() {
            match self.upstream.knows(tag) {
                true => self.upstream.more(tag, now),
                // Its answer was given up together with it.
                false => send(card, tag, Context::default(), (&[], true, true)),
            }
            return;
        }
        if request.begins || !self.rows.contains_key(&tag) {
            let within = within(request.goes_on);
            self.rows.insert(tag, Row { text: Vec::new(), within, stranger: request.stranger });
        }
        let Some(row) = self.rows.get_mut(&tag) else { return };
        row.text.extend_from_slice(request.text);
        if request.more {
            return;
        }
        let Some(Row { text, within, stranger }) = self.rows.remove(&tag) else { return };
        self.upstream.row(tag, &text, (within, stranger), (now, card.now()));
        if self.upstream.blocks(tag) {
            // What gates have answered before is not to wait for this.
            Question { tag, stranger, told: false }.is_there(card);
        }
    }

    /// Does what there is to be done.
    pub fn turn(&mut self, card: &mut Mover, port: &mut RequestPort) {
        let mut pieces = Vec::new();
        let mut say = |tag, piece, waits| pieces.push((tag, piece, waits));
        let mut items = Items { protocol: self.upstream.protocol(), card: &mut *card, port };
        self.upstream.turn(Instant::now(), &mut items, &mut say);
        for (tag, piece, waits) in pieces {
            let context = Context { all: piece.all, ..Context::default() };
            send(card, tag, context, (&piece.text, piece.last, piece.closes));
            if waits {
                Question { tag, stranger: false, told: false }.is_there(card);
            }
        }
    }

    /// Looks which clients are gone: nothing of them is kept, and nothing waits for them at the server.
    pub fn forget(&mut self, card: &mut Mover) {
        let now = Instant::now();
        for (tag, met) in self.upstream.silent(now).into_iter().take(ASKED) {
            let question = Question { tag, stranger: !met, told: false };
            let gone = !question.is_there(card);
            self.upstream.gone(tag, gone, now);
        }
    }
}

fn within((what, left): (u8, u32)) -> Within {
    match what {
        0 => Within::No,
        1 => Within::Get,
        2 => Within::Gets,
        _ => Within::Mget(left),
    }
}

fn send(card: &mut Mover, tag: Tag, context: Context, (text, last, closes): (&[u8], bool, bool)) {
    card.send(Port::Exception, &exceptions::piece(tag, context, text, last, closes));
}

/// The card's items, by way of the request port.
struct Items<'a> {
    protocol: Protocol,
    card: &'a mut Mover,
    port: &'a mut RequestPort,
}

impl Items<'_> {
    /// Requests of the binary protocol, until all are executed. False: it is not known what became of them.
    fn binary(&mut self, mut requests: Vec<u8>) -> bool {
        requests.extend(binary(NOOP, &[], &[], &[]));
        // A NOOP is answered behind all others.
        let whole = |replies: &[u8]| {
            let replies = replies_of(replies);
            replies.is_some_and(|all| all.last().is_some_and(|last| last[1] == NOOP))
        };
        self.ask((Speech::Binary, &requests), whole).is_ok()
    }

    fn ask(
        &mut self,
        (speech, requests): (Speech, &[u8]),
        whole: impl Fn(&[u8]) -> bool,
    ) -> Result<(), Lost> {
        self.port.ask(self.card, (speech, requests, Hold::default()), whole).map(drop)
    }
}

impl Cache for Items<'_> {
    fn delete(&mut self, keys: &[Vec<u8>]) -> bool {
        let keys = keys.iter().filter(|key| !key.is_empty() && key.len() <= KEY_MAX);
        self.binary(keys.flat_map(|key| binary(DELETE_QUIET, &[], key, &[])).collect())
    }

    fn flush(&mut self) -> bool {
        self.binary(binary(FLUSH_QUIET, &[], &[], &[]))
    }

    fn fill(&mut self, items: &[Item]) -> bool {
        if self.protocol == Protocol::Memcached {
            return self.binary(items.iter().flat_map(fill).collect());
        }
        let mut writes = Writes::new(0);
        for Item { key, value, expiry, .. } in items {
            let at = expiry.map(|expiry| expiry.as_millis().to_string());
            let mut words: Vec<&[u8]> = vec![b"SET", key, value];
            words.extend(at.iter().flat_map(|at| [&b"PXAT"[..], at.as_bytes()]));
            writes.command(&words);
        }
        let whole = |replies: &[u8]| lines(replies).len() == items.len();
        self.ask((Speech::Redis, &writes.text), whole).is_ok()
    }
}

/// An item as of memcached.
fn fill(item: &Item) -> Vec<u8> {
    let expiry = item.expiry.map_or(0, |expiry| expiry.as_secs() as u32);
    let extras = [item.flags.to_be_bytes(), expiry.to_be_bytes()].concat();
    let mut request = binary(FILL, &extras, &item.key, &item.value);
    request[16..24].copy_from_slice(&item.unique.to_be_bytes());
    request
}
