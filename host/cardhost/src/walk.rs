//! Walks through the card's index: the request port tells the next item from a place on (`rtl/store/index/execute_walk.sv`).
//!
//! A place counts the ways of all even buckets, then those of all odd ones. Entries that move while somebody may be
//! walking move from even buckets to odd ones only (`csr::ONE_WAY`), which is set before a walk begins: so what is there
//! from a walk's beginning to its end is met at least once, whatever others store meanwhile. Nothing is kept for a
//! walk. When nobody has walked for some minutes entries move both ways again and a new *era* begins; its number is in
//! each cursor, and one of an older era starts from the beginning.

use std::time::{Duration, Instant};

use anyhow::Result;
use wirekv_card::{csr, Card};
use wirekv_memcache::binary::opcode::port::WALK;
use wirekv_memcache::binary::{HEADER, REQUEST};
use wirekv_resp::Place;

use crate::port::{Hold, Lost, RequestPort, Speech};

/// Bytes of a reply's flags, and of an item's header.
const FLAGS: usize = 4;
const ITEM_HEAD: usize = 16;
/// In that, bits of its bytes 1 to 3, and of byte 3.
const VALUE: u32 = 0x1F_FFFF;
const CODED: u8 = 0x80;
/// Bits of a place: the way, the bucket's line in its bank, the bank, the end.
const WAY_BITS: u32 = 3;
const BANK_AT: u32 = 29;
const PLACE_BITS: u32 = 31;
const END: u32 = 2 << BANK_AT;
/// A request looks at so many buckets of a bank, up to a multiple of it. Where nothing can be the card leaves out all
/// up to the next of these in which something may be.
const GROUP: u32 = 64 << WAY_BITS;
/// Requests that are sent at once. Others wait until they are executed.
const AT_ONCE: usize = 16;
/// Clocks between two looks whether others want to go on.
const REST: u64 = 64;
/// Places drawn at once for a random item, and how often before it is looked for in order.
const DRAWS: usize = 8;
const ROUNDS: usize = 4;
/// Nobody walks any more.
const PAUSE: Duration = Duration::from_secs(600);

/// An item as the card has it.
pub struct Met {
    pub db: u8,
    pub key: Box<[u8]>,
    /// The header in front of its key (`rtl/store/store_pkg.sv`), and its CAS unique.
    head: [u8; ITEM_HEAD],
    pub unique: u64,
}

impl Met {
    /// Bytes of its value.
    pub fn value(&self) -> u32 {
        u32::from_le_bytes([self.head[1], self.head[2], self.head[3], 0]) & VALUE
    }

    /// Its key came in base64.
    pub fn coded(&self) -> bool {
        self.head[3] & CODED != 0
    }

    pub fn flags(&self) -> u32 {
        u32::from_le_bytes(self.head[4..8].try_into().expect("four bytes"))
    }

    /// Unix time in milliseconds; 0: never.
    pub fn expiry(&self) -> u64 {
        let mut expiry = [0; 8];
        expiry[..6].copy_from_slice(&self.head[8..14]);
        u64::from_le_bytes(expiry)
    }
}

pub struct Walks {
    /// Buckets of a bank.
    lines: u32,
    era: u64,
    /// When somebody walked last, if entries move one way since.
    last: Option<Instant>,
    /// So far.
    pub exchanges: u64,
}

impl Walks {
    pub fn new(index_bits: u32) -> Walks {
        Walks { lines: 1 << (index_bits - 1), era: 0, last: None, exchanges: 0 }
    }

    /// Ends the era if nobody has walked for long.
    pub fn rest(&mut self, card: &mut dyn Card, now: Instant) -> Result<()> {
        if self.last.is_some_and(|last| now.saturating_duration_since(last) > PAUSE) {
            self.last = None;
            self.era += 1;
            card.write_csr(csr::ONE_WAY, 0)?;
        }
        Ok(())
    }

    /// A step of a walk: tells of the next item, if there is one in the next groups; or if there are `many`, of all of
    /// them.
    pub fn step(
        &mut self,
        card: &mut dyn Card,
        port: &mut RequestPort,
        at: &mut Place,
        many: bool,
        mut each: impl FnMut(Met),
    ) -> Result<(), Lost> {
        if self.last.is_none() {
            card.write_csr(csr::ONE_WAY, 1).map_err(|_| Lost)?;
        }
        self.last = Some(Instant::now());
        let same_era = at.cursor >> PLACE_BITS == self.era;
        let place = if same_era { at.cursor as u32 & (END | (END - 1)) } else { 0 };
        let (place, width) = (self.within(place), at.width.max(1));
        let (next, found) = match () {
            () if place >= END => (END, false),
            () if many => (self.all(card, port, place, width, &mut each)?, false),
            () => {
                let (next, item) = self.next(card, port, place, width)?;
                let found = item.is_some();
                item.map(&mut each);
                (next, found)
            }
        };
        at.looks += width;
        at.width = self.wider(place, next, width, found);
        at.cursor = if next < END { self.era << PLACE_BITS | u64::from(next) } else { 0 };
        Ok(())
    }

    /// How many groups are asked for at once after so many have led from a place to the next: twice as many, but few
    /// where an item was found, or where groups are left out.
    fn wider(&self, place: u32, next: u32, width: usize, found: bool) -> usize {
        let asked = self.groups(place, width).last().map_or(END, |last| self.group_end(*last));
        if found || next > asked {
            1
        } else {
            (2 * width).min(AT_ONCE)
        }
    }

    /// The next item from a place on, if it is in this group or one of the next, so many in all; and a place that is
    /// not beyond it.
    fn next(
        &mut self,
        card: &mut dyn Card,
        port: &mut RequestPort,
        place: u32,
        width: usize,
    ) -> Result<(u32, Option<Met>), Lost> {
        let places = self.groups(place, width);
        let mut next = place;
        for (asked, (behind, met)) in places.iter().zip(self.ask(card, port, &places)?) {
            next = behind;
            // Where all that stands in a bucket is gone, the group goes on behind it, too.
            if met.is_some() || behind < self.group_end(*asked) {
                return Ok((next, met));
            }
        }
        Ok((next, None))
    }

    /// All items of a place's group from there on, and of some groups behind it in its bank; the place behind. What
    /// moves to the other bank meanwhile could be missed in both if that were asked at once, too.
    fn all(
        &mut self,
        card: &mut dyn Card,
        port: &mut RequestPort,
        place: u32,
        width: usize,
        each: &mut dyn FnMut(Met),
    ) -> Result<u32, Lost> {
        let mut places = self.groups(place, width);
        places.retain(|other| other >> BANK_AT == place >> BANK_AT);
        let mut end = place;
        while !places.is_empty() {
            let mut rest = Vec::new();
            for (asked, (behind, met)) in places.iter().zip(self.ask(card, port, &places)?) {
                end = end.max(behind);
                met.map(&mut *each);
                if behind < self.group_end(*asked) {
                    rest.push(behind);
                }
            }
            places = rest;
        }
        Ok(end)
    }

    /// A place, and where the groups behind its own begin.
    fn groups(&self, place: u32, count: usize) -> Vec<u32> {
        let behind = |place: &u32| Some(self.group_end(*place));
        std::iter::successors(Some(place), behind).take_while(|p| *p < END).take(count).collect()
    }

    fn group_end(&self, place: u32) -> u32 {
        self.within((place / GROUP + 1) * GROUP)
    }

    /// The same, or behind a bank's last bucket the first one of the other bank.
    fn within(&self, place: u32) -> u32 {
        let bank = place >> BANK_AT;
        match place >> WAY_BITS & ((1 << (BANK_AT - WAY_BITS)) - 1) >= self.lines {
            _ if place >= END => END,
            true => (bank + 1) << BANK_AT,
            false => place,
        }
    }

    /// An item for which `wanted` is true. Of those that follow some drawn places the nearest one, not the first one
    /// behind a single place: so an item behind a large gap is hardly likelier than another.
    pub fn any(
        &mut self,
        card: &mut dyn Card,
        port: &mut RequestPort,
        draw: impl Fn(usize) -> u64,
        mut wanted: impl FnMut(&Met) -> bool,
    ) -> Result<Option<Met>, Lost> {
        for round in 0..ROUNDS {
            let draws = round * DRAWS..(round + 1) * DRAWS;
            let places: Vec<u32> = draws.map(|n| self.drawn(draw(n))).collect();
            let met = places.iter().zip(self.ask(card, port, &places)?);
            let met = met.filter_map(|(place, (behind, met))| {
                met.filter(&mut wanted).map(|met| (behind - place, met))
            });
            if let Some((_, met)) = met.min_by_key(|(way, _)| *way) {
                return Ok(Some(met));
            }
        }
        // There are few. From a place to the end, then from the beginning.
        let start = self.drawn(draw(ROUNDS * DRAWS));
        for (mut place, end) in [(start, END), (0, start)] {
            let mut width = 1;
            while place < end {
                let (next, met) = self.next(card, port, place, width)?;
                if let Some(met) = met.filter(&mut wanted) {
                    return Ok(Some(met));
                }
                (width, place) = (self.wider(place, next, width, false), next);
            }
        }
        Ok(None)
    }

    /// A way of either bank, from a random number.
    fn drawn(&self, number: u64) -> u32 {
        let ways = u64::from(self.lines) << WAY_BITS;
        ((number & 1) as u32) << BANK_AT | ((number >> 1) % ways) as u32
    }

    /// Of each place, what the card says: the place behind what it has looked at, and the item that it has met.
    fn ask(
        &mut self,
        card: &mut dyn Card,
        port: &mut RequestPort,
        places: &[u32],
    ) -> Result<Vec<(u32, Option<Met>)>, Lost> {
        if port.is_for_nobody(card) {
            return Err(Lost);
        }
        self.exchanges += 1;
        let requests: Vec<u8> = places.iter().flat_map(|place| request(*place)).collect();
        let whole =
            |replies: &[u8]| replies_of(replies).is_some_and(|all| all.len() == places.len());
        let begin = card.clock();
        let replies = port.ask(card, (Speech::Binary, &requests, Hold::default()), whole)?;
        // Others have as many clocks as these have taken, if they want them.
        let end = card.clock() + (card.clock() - begin);
        while !port.holds && card.clock() < end && !card.idle() {
            card.advance(REST);
        }
        let replies = replies_of(&replies).ok_or(Lost)?;
        replies.iter().map(|reply| self.read(reply).ok_or(Lost)).collect()
    }

    fn read(&self, reply: &[u8]) -> Option<(u32, Option<Met>)> {
        let (head, body) = reply.split_at_checked(HEADER)?;
        let (flags, item) = body.split_at_checked(FLAGS)?;
        let place = u32::from_be_bytes(flags.try_into().ok()?);
        let met = (!item.is_empty()).then(|| {
            let (item, key) = item.split_first_chunk::<ITEM_HEAD>()?;
            let unique = u64::from_be_bytes(head[16..24].try_into().ok()?);
            Some(Met { db: item[14] & 15, key: key.into(), head: *item, unique })
        });
        (head[6..8] == [0, 0]).then(|| (self.within(place), met.flatten()))
    }
}

fn request(place: u32) -> [u8; HEADER] {
    let mut request = [0; HEADER];
    (request[0], request[1]) = (REQUEST, WALK);
    request[12..16].copy_from_slice(&place.to_le_bytes());
    request
}

/// The replies, unless the last one is not complete.
pub fn replies_of(mut bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let mut replies = Vec::new();
    while !bytes.is_empty() {
        let body = u32::from_be_bytes(bytes.get(8..12)?.try_into().ok()?) as usize;
        let (reply, rest) = bytes.split_at_checked(HEADER + body)?;
        replies.push(reply);
        bytes = rest;
    }
    Some(replies)
}
