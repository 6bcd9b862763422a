//! What the server answers for itself to Redis' commands, and the way to items that are in a card.

use std::sync::Arc;

use wirekv_proto::Counters;

use super::{Engine, Error, Facts, Key, Shown};

/// What the server answers for itself: rare requests, none of them on the hot path.
pub trait Server: wirekv_proto::Server {
    /// All connections that speak Redis' protocol, as they were seen last.
    fn connections(&mut self) -> Vec<Arc<Shown>> {
        Vec::new()
    }

    /// Connections were killed, or a pause has ended: their threads should look.
    fn wake(&mut self) {}

    /// What Redis' `INFO` and `CONFIG GET` tell of the server. `own` as with `stats`.
    fn facts(&mut self, own: &Counters) -> Facts {
        Facts { counters: *own, ..Facts::default() }
    }

    /// The way to the items, where they are in a card ([`Engine::elsewhere`]).
    fn card(&mut self) -> Option<&mut dyn CardItems> {
        None
    }
}

/// Items that are in a card.
pub trait CardItems {
    /// Brings those of these keys to the engine's store, and keeps all others from changing them until they are
    /// given back. `watched`: the keys' items stay here, and one that has changed in the card when it is brought
    /// again counts as changed.
    fn bring(&mut self, _: &mut Engine, keys: &[Key], watched: bool) -> Result<(), Error>;

    /// The card gets what was changed.
    fn give_back(&mut self, _: &mut Engine) -> Result<(), Error>;

    /// Goes on with a walk through the keys of a database up to about `count` of them, or to a place that is far
    /// enough; without `count` to the end. False: it is not there yet, and others have their turn first.
    fn walk(
        &mut self,
        _: &mut Engine,
        db: u8,
        _: &mut Walk,
        count: Option<usize>,
        wanted: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<bool, Error>;

    /// Any of them.
    fn any_key(&mut self, _: &mut Engine, db: u8) -> Result<Option<Box<[u8]>>, Error>;

    /// Empties a database, or all. False: as with `walk`.
    fn flush(&mut self, _: &mut Engine, db: Option<u8>, _: &mut Walk) -> Result<bool, Error>;
}

/// A walk through the keys of a card ([`Server::card`]), between its steps.
#[derive(Default)]
pub struct Walk {
    pub place: Place,
    /// Keys that there were, and those of them that were wanted, perhaps more than once.
    pub met: usize,
    pub found: Vec<Box<[u8]>>,
    /// It goes on whatever becomes of its connection.
    pub to_the_end: bool,
}

/// Where a walk stands.
#[derive(Clone, Copy, Default)]
pub struct Place {
    /// Where it goes on; 0 at the beginning, and behind the end.
    pub cursor: u64,
    /// It looks into so many groups of buckets at once (0: at its beginning), and has looked into so many.
    pub width: usize,
    pub looks: usize,
}
