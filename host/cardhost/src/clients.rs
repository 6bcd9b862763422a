//! What the card is told and asked about the connections of Redis' clients.

use std::collections::HashSet;
use std::sync::Arc;

use wirekv_card::{csr, Card, CardError, Port};
use wirekv_resp::{Common, Shown};

use crate::exceptions::{self, Tag};

/// Clocks between two looks for an answer.
const CLOCKS: u64 = 16;
/// So long none takes: jobs that the connection has on their way are done before.
const PATIENCE: u64 = 16 << 20;
/// Who was there not so many clocks ago is not asked about again, which takes some 30.
const FRESH: u64 = 1 << 14;

/// Whether new clients have to be let in, and whether commands wait, as the card was told last.
pub struct Rules(u32);

impl Rules {
    /// As the card is told when it begins.
    pub fn new(common: &Common) -> Rules {
        Rules(rules(common))
    }

    /// Tells the card, if that has changed.
    pub fn tell(&mut self, card: &mut dyn Card, common: &Common) -> Result<(), CardError> {
        let now = rules(common);
        if self.0 != now {
            card.write_csr(csr::REDIS_CLIENTS, now)?;
            self.0 = now;
        }
        Ok(())
    }
}

fn rules(common: &Common) -> u32 {
    let guard = if common.has_password() { csr::REDIS_CLIENTS_GUARD } else { 0 };
    guard | if common.pause.is_on(common.uptime_ms()) { csr::REDIS_CLIENTS_PAUSE } else { 0 }
}

/// A question about a connection.
#[derive(Clone, Copy)]
pub struct Question {
    pub tag: Tag,
    /// One is meant that had no answer yet, else one that had; and that the card has told of before. So one that has
    /// its tag since is not meant.
    pub stranger: bool,
    pub told: bool,
}

impl Question {
    /// Whether there is that one.
    pub fn is_there(self, card: &mut dyn Card) -> bool {
        self.ask(card, false) & csr::ABOUT_THERE != 0
    }

    /// Whether its client still waits for an answer: it has not left, be it that it only sends no more.
    pub fn waits(self, card: &mut dyn Card) -> bool {
        self.ask(card, false) & (csr::ABOUT_THERE | csr::ABOUT_LEFT) == csr::ABOUT_THERE
    }

    /// Has it closed.
    pub fn kill(self, card: &mut dyn Card) {
        self.ask(card, true);
    }

    /// A card that does not answer has no connections.
    fn ask(self, card: &mut dyn Card, kill: bool) -> u32 {
        let Ok(before) = card.read_csr(csr::ABOUT) else { return 0 };
        card.send(Port::Exception, &exceptions::question(self.tag, self.stranger, self.told, kill));
        let end = card.clock() + PATIENCE;
        loop {
            card.advance(CLOCKS);
            match card.read_csr(csr::ABOUT) {
                Ok(now) if (now ^ before) >> 31 != 0 => return now,
                Ok(_) if !card.idle() && card.clock() < end => {}
                _ => return 0,
            }
        }
    }
}

/// Whose command is done. It may have left before that begins, or leave meanwhile.
pub struct Caller {
    question: Question,
    /// The card's clock when it was there for certain.
    pub heard: u64,
    pub left: bool,
}

impl Caller {
    pub fn new(question: Question, heard: u64) -> Caller {
        Caller { question, heard, left: false }
    }

    /// It was reset or is to be closed: nobody gets the answer. One that only sends no more waits for it.
    pub fn has_left(&mut self, card: &mut dyn Card) -> bool {
        if !self.left && card.clock() > self.heard + FRESH {
            self.ask(card);
        }
        self.left
    }

    /// The same, asked for certain; so what it was answered before is not to wait for this.
    pub fn ask(&mut self, card: &mut dyn Card) {
        self.left = !self.question.is_there(card);
        self.heard = card.clock();
    }
}

/// A connection, while a command is done.
pub struct Known {
    pub tag: Tag,
    pub shown: Arc<Shown>,
    question: Question,
    /// Its command has to wait here.
    waits: bool,
    /// The card has told of it just now; it has told that it is gone.
    pub new: bool,
    pub gone: bool,
}

impl Known {
    pub fn new(question: Question, shown: Arc<Shown>, waits: bool) -> Known {
        Known { tag: question.tag, shown, question, waits, new: false, gone: false }
    }
}

/// All connections, as a command may ask for them.
pub struct Clients {
    /// Where they come to.
    bind: String,
    /// They are numbered.
    last: u64,
    /// Whose command is done, and who there is, as was last heard.
    asks: Tag,
    known: Vec<Known>,
}

impl Clients {
    pub fn new(bind: String) -> Clients {
        Clients { bind, last: 0, asks: Tag::default(), known: Vec::new() }
    }

    /// A connection that was not known. Who it is, only the card knows.
    pub fn meet(&mut self, tag: Tag) -> Arc<Shown> {
        self.last += 1;
        let address = format!("card:{}", u32::from_le_bytes(tag) & 0x3fff);
        Arc::new(Shown::new(self.last, address, self.bind.clone(), false, 0))
    }

    /// A command of this one is done.
    pub fn begin(&mut self, asks: Tag, known: impl Iterator<Item = Known>) {
        self.asks = asks;
        self.known = known.collect();
    }

    /// It is done; who has come and gone, as far as it asked for that.
    pub fn end(&mut self) -> Vec<Known> {
        std::mem::take(&mut self.known)
    }

    /// Who there is, be it that they have asked this program for nothing.
    pub fn list(&mut self, card: &mut dyn Card) -> Vec<Arc<Shown>> {
        // A card that does not answer is another's business.
        let _ = self.look(card);
        let there = self.known.iter().filter(|known| !known.gone && !known.shown.is_killed());
        there.map(|known| known.shown.clone()).collect()
    }

    fn look(&mut self, card: &mut dyn Card) -> Result<(), CardError> {
        for known in &mut self.known {
            let is_clear = known.tag == self.asks || known.shown.is_killed();
            known.gone = !is_clear
                && match known.waits {
                    true => !known.question.waits(card),
                    false => !known.question.is_there(card),
                };
        }
        let there = self.known.iter().filter(|known| !known.gone && !known.shown.is_killed());
        let tags: HashSet<Tag> = there.map(|known| known.tag).collect();
        // Connections of all protocols are counted.
        let open = card.read_csr(csr::OPEN_CONNS)? as usize;
        let mut others = open.saturating_sub(tags.len());
        for tag in (0..card.read_csr(csr::CONNS)?).map(u32::to_le_bytes) {
            if others == 0 {
                break;
            }
            let question = Question { tag, stranger: true, told: false };
            if !tags.contains(&tag) && question.is_there(card) {
                let shown = self.meet(tag);
                self.known.push(Known { new: true, ..Known::new(question, shown, false) });
                others -= 1;
            }
        }
        Ok(())
    }
}
