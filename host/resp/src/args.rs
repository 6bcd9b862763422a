//! A command's arguments, in the input.

use wirekv_proto::{Request, Span};

use super::parse;
use super::table::Command;

/// The arguments of a whole command; 0 is its name.
#[derive(Clone, Copy)]
pub struct Args<'a> {
    input: &'a [u8],
    first: Span,
    second: Span,
    /// Where argument 3 begins.
    rest: usize,
    count: usize,
}

impl<'a> Args<'a> {
    /// Of a request for a command, whose bytes are at the front of `input`.
    #[inline]
    pub fn new(request: &Request, input: &'a [u8]) -> Args<'a> {
        let count = request.unique as usize;
        Args {
            input: &input[..request.len as usize],
            first: request.key,
            second: request.value,
            rest: request.args.at as usize,
            count,
        }
    }

    #[allow(clippy::len_without_is_empty)]
    #[inline]
    pub fn len(&self) -> usize {
        self.count
    }

    /// That many there must be.
    #[inline]
    pub fn get(&self, i: usize) -> &'a [u8] {
        match i {
            0 => self.name(),
            1 => self.first.of(self.input),
            2 => self.second.of(self.input),
            _ => self.from(i).next().expect("an argument that is there"),
        }
    }

    #[cold]
    fn name(&self) -> &'a [u8] {
        // As for Redis, the byte behind is the line's end, whatever it is.
        let line = memchr::memchr(b'\r', self.input).expect("a command has a first line");
        let (name, _) = parse::argument(self.input, line + 2).expect("and a name");
        name.of(self.input)
    }

    /// The `i`-th, if there are so many.
    #[inline]
    pub fn find(&self, i: usize) -> Option<&'a [u8]> {
        (i < self.count).then(|| self.get(i))
    }

    /// Those from the `i`-th on.
    #[inline]
    pub fn from(&self, i: usize) -> Iter<'a> {
        let mut iter = Iter { args: *self, i: i.min(3), at: self.rest };
        while iter.i < i && iter.next().is_some() {}
        iter
    }

    /// Those that are keys.
    pub fn keys(&self, command: &Command) -> impl Iterator<Item = &'a [u8]> {
        let (mut rest, mut at) = (self.from(0), 0);
        command.key_places(self.count).map(move |place| {
            let key = rest.nth(place - at).expect("an argument that is there");
            at = place + 1;
            key
        })
    }

    /// Those from the `i`-th on in a row, for commands that are rare.
    pub fn vec(&self, from: usize) -> Vec<&'a [u8]> {
        self.from(from).collect()
    }

    /// All of the command's bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.input
    }
}

#[derive(Clone)]
pub struct Iter<'a> {
    args: Args<'a>,
    i: usize,
    at: usize,
}

impl<'a> Iterator for Iter<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        if self.i >= self.args.count {
            return None;
        }
        self.i += 1;
        if self.i <= 3 {
            return Some(self.args.get(self.i - 1));
        }
        let (span, next) = parse::argument(self.args.input, self.at)?;
        self.at = next;
        Some(span.of(self.args.input))
    }
}
