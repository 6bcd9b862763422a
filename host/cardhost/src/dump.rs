//! `lru_crawler metadump` and `mgdump` of the card's items, by the walk of SCAN. Nothing of it is kept but where it stands:
//! the next items are looked for when the client has taken those before.

use wirekv_card::Card;
use wirekv_memcache::dump::{self, Listed};
use wirekv_proto::{Out, Settings};
use wirekv_resp::Place;

use crate::port::{Lost, RequestPort};
use crate::walk::Walks;

/// memcached's items are those of this database.
const DB: u8 = 0;

pub struct Dump {
    meta: bool,
    /// A bit for each slab class that is asked for.
    classes: u64,
    at: Place,
}

impl Dump {
    /// None: the request is another one. What is said if it asks for a class that there is not.
    pub fn asked(text: &[u8]) -> Option<Result<Dump, &'static [u8]>> {
        let words: Vec<&[u8]> = text.split(|byte| *byte == b' ').collect();
        let [b"lru_crawler", what @ (b"metadump" | b"mgdump"), classes] = words[..] else {
            return None;
        };
        let dump = |classes| Dump { meta: what == b"metadump", classes, at: Place::default() };
        Some(dump::classes(classes).map(dump).ok_or(dump::BAD_CLASS))
    }

    /// At least `least` bytes of lines, and whether there are more.
    pub fn step(
        &mut self,
        card: &mut dyn Card,
        walks: &mut Walks,
        port: &mut RequestPort,
        settings: &Settings,
        least: usize,
    ) -> Result<(Vec<u8>, bool), Lost> {
        let mut out = Out::new();
        while out.held() < least {
            walks.step(card, port, &mut self.at, true, |met| {
                let listed = Listed {
                    key: &met.key,
                    coded: met.coded(),
                    expires: met.expiry() / 1000,
                    // The card keeps neither.
                    accessed: 0,
                    fetched: false,
                    unique: met.unique,
                    value: met.value().into(),
                    flags: met.flags(),
                };
                if met.db == DB {
                    listed.tell(self.meta, self.classes, settings, &mut out);
                }
            })?;
            if self.at.cursor == 0 {
                out.text(dump::end(self.meta));
                return Ok((out.to_vec(), false));
            }
        }
        Ok((out.to_vec(), true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked() {
        let asked =
            |text: &str| Dump::asked(text.as_bytes()).map(|dump| dump.map(|d| (d.meta, d.classes)));
        assert_eq!(asked("lru_crawler metadump all"), Some(Ok((true, u64::MAX))));
        assert_eq!(asked("lru_crawler mgdump 1,3"), Some(Ok((false, 0b1010))));
        assert_eq!(asked("lru_crawler mgdump 64"), Some(Err(dump::BAD_CLASS)));
        for other in
            ["lru_crawler metadump", "lru_crawler crawl all", "lru_crawler mgdump all x", "stats"]
        {
            assert_eq!(asked(other), None, "{other}");
        }
    }
}
