//! From a request to its handler.

use wirekv_proto::limits::KEY_MAX;
use wirekv_proto::{Asked, Dialect, Next, Out, Parsed, Request};

use super::absent;
use super::admin;
use super::args::Args;
use super::call::Call;
use super::client::{extend, Client, Queue, Replies, Watched};
use super::elsewhere;
use super::line;
use super::monitor;
use super::parse::{self, Op, Violation, MAX_LINE};
use super::reply::Reply;
use super::table::{flag, Command, Named};
use super::word::c_string;
use super::{Engine, Server};
use super::{Error, LONG_KEY};

const NOT_QUEUED: &str = "ERR Command not allowed inside a transaction";
const NO_AUTH: &str = "NOAUTH Authentication required.";
const LONG_TRANSACTION: &str = "ERR the transaction is longer than this server takes";

impl Dialect for Client {
    type Op = Op;
    type Engine = Engine;
    type Server<'s> = dyn Server + 's;

    #[inline]
    fn parse(&mut self, input: &[u8], engine: &Engine) -> Parsed<Op> {
        self.parse(input, engine)
    }

    fn execute(
        &mut self,
        op: Op,
        request: &mut Request,
        input: &[u8],
        engine: &mut Engine,
        server: &mut (dyn Server + '_),
        out: &mut Out,
    ) -> Next {
        let mut place = Place { engine, server, out };
        let next = match op {
            Op::Command(named) => place.command(self, named, request, input),
            op => place.other(self, op, request, input),
        };
        if !matches!(next, Next::Wait | Next::Sleep) {
            self.settle();
        }
        next
    }

    fn may_go_on(&self, engine: &Engine) -> bool {
        self.may_go_on(engine)
    }
}

/// Where requests are executed.
pub(super) struct Place<'a> {
    pub engine: &'a mut Engine,
    pub server: &'a mut dyn Server,
    pub out: &'a mut Out,
}

impl Place<'_> {
    fn reply(&mut self, client: &Client) -> Reply<'_> {
        Reply::new(self.out, client.resp3, self.engine.settings.copy_max)
    }

    #[cold]
    fn other(&mut self, client: &mut Client, op: Op, request: &Request, input: &[u8]) -> Next {
        let bytes = &input[..request.len as usize];
        match op {
            Op::Line => self.line(client, bytes),
            Op::Part | Op::End => self.gather(client, op, request.unique, bytes),
            Op::Broken(violation) => self.broken(client, violation),
            Op::Command(_) => Next::Continue,
        }
    }

    /// Nothing more is understood of what comes.
    fn broken(&mut self, client: &Client, violation: Violation) -> Next {
        if matches!(client.replies, Replies::On | Replies::SkipNext) {
            self.reply(client).error(violation.text());
        }
        Next::Close
    }

    fn line(&mut self, client: &mut Client, bytes: &[u8]) -> Next {
        let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        match line::words(text) {
            None => self.broken(client, Violation::Quotes),
            Some(words) if words.is_empty() => Next::Continue,
            Some(words) => self.whole(client, &line::encode(&words)),
        }
    }

    /// A command that is not in the input. When it is not through, it goes on with the next call.
    pub fn whole(&mut self, client: &mut Client, bytes: &[u8]) -> Next {
        let Some(Asked { op, mut request }) = parse::parse_whole(bytes) else {
            return Next::Continue;
        };
        let Some(Op::Command(named)) = op else { return Next::Continue };
        request.number = std::mem::take(&mut client.goes_on);
        let next = self.command(client, named, &mut request, bytes);
        if next.comes_again() {
            client.goes_on = request.number;
        }
        next
    }

    fn gather(&mut self, client: &mut Client, op: Op, missing: u64, bytes: &[u8]) -> Next {
        let is_line = client.gathered.first().or(bytes.first()) != Some(&b'*');
        let limit = if is_line { MAX_LINE } else { self.engine.settings.gather_max() };
        let len = client.gathered.len() + bytes.len();
        let mut too_much = len as u64 + missing > limit as u64;
        if !too_much {
            match client.keep(bytes.len(), self.engine, self.server) {
                Ok(()) => extend(&mut client.gathered, bytes),
                Err(Next::Close) => too_much = true,
                Err(next) => return next,
            }
        }
        let violation = match too_much {
            true if is_line && len > limit => Some(Violation::LongLine),
            true => Some(Violation::TooMuch),
            false => None,
        };
        if let Some(violation) = violation {
            client.gathered = Vec::new();
            return self.broken(client, violation);
        }
        if op == Op::Part {
            return Next::Continue;
        }
        let mut whole = std::mem::take(&mut client.gathered);
        let next = match is_line {
            true => self.line(client, &whole),
            false => self.whole(client, &whole),
        };
        if next.comes_again() {
            // The last part comes again.
            whole.truncate(whole.len() - bytes.len());
            client.gathered = whole;
        }
        next
    }

    #[inline]
    fn command(
        &mut self,
        client: &mut Client,
        named: Option<Named>,
        request: &mut Request,
        input: &[u8],
    ) -> Next {
        let args = Args::new(request, input);
        let mark = self.out.mark_all();
        let next = match self.check(client, named, &args) {
            Ok((command, number)) => self.call(client, command, number, args, request),
            Err(next) => next,
        };
        if client.replies != Replies::On {
            match client.replies {
                Replies::Off | Replies::Skip => self.out.rewind_all(mark),
                Replies::On | Replies::SkipNext => {}
            }
            if !next.comes_again() {
                client.replies = match client.replies {
                    Replies::SkipNext => Replies::Skip,
                    Replies::Skip => Replies::On,
                    same => same,
                };
            }
        }
        next
    }

    #[inline]
    fn call(
        &mut self,
        client: &mut Client,
        command: &'static Command,
        number: usize,
        args: Args<'_>,
        request: &mut Request,
    ) -> Next {
        let brought = match self.bring(client, command, &args) {
            Ok(brought) => brought,
            Err(error) => {
                if command.name == "exec" {
                    // That was it, as with any other error of EXEC.
                    (client.queue, client.watches) = (None, Watched::default());
                }
                self.reply(client).error(error);
                return Next::Continue;
            }
        };
        // Of a transaction `EXEC` is shown.
        if !self.engine.together {
            client.calls(command);
        }
        let all = self.engine.common.times_all();
        let timed = self.engine.commands.begin(number, command, all, request.number == 0);
        let reply = Reply::new(self.out, client.resp3, self.engine.settings.copy_max);
        // The database, or its place, may have changed since the request was parsed.
        let hash = request.hash.map(|hash| self.engine.local.renew(hash, client.db));
        let (next, from) = (Next::Continue, request.number);
        let (engine, server) = (&mut *self.engine, &mut *self.server);
        let mut call = Call { command, args, reply, engine, client, server, hash, next, from };
        let mark = call.reply.mark();
        if let Err(error) = (command.handler)(&mut call) {
            call.reply.rewind(mark);
            call.reply.error(error);
            if call.next != Next::Close {
                call.next = Next::Continue;
            }
        } else {
            request.number = call.from;
        }
        let next = call.next;
        if brought {
            let card = call.server.card();
            if let Some(Err(error)) = card.map(|card| card.give_back(call.engine)) {
                call.reply.rewind(mark);
                call.reply.error(error);
            }
        }
        if let Some(error) = call.reply.failed.take() {
            self.engine.commands.failed(number);
            self.engine.common.stats.error(&error);
        }
        if !next.comes_again() {
            monitor::called(self.engine, command, &args, client);
        }
        if let Some(timed) = timed {
            let micros = self.engine.commands.end(number, &timed);
            self.engine.common.took(micros, command, &args, client);
        }
        if command.has(flag::STALE) {
            // It may have been about the connection itself.
            client.publish();
        }
        next
    }

    /// Where items are in a card, those of this command come from there; whether any did.
    #[inline]
    fn bring(
        &mut self,
        client: &Client,
        command: &'static Command,
        args: &Args<'_>,
    ) -> Result<bool, Error> {
        // Those of a transaction have come at once.
        if !self.engine.elsewhere || self.engine.together {
            return Ok(false);
        }
        let keys = elsewhere::keys(command, args, client);
        if keys.is_empty() && !elsewhere::holds(command, client) {
            return Ok(false);
        }
        let Some(card) = self.server.card() else { return Ok(false) };
        card.bring(self.engine, &keys, command.name == "watch")?;
        Ok(true)
    }

    /// Whether it has to wait (CLIENT PAUSE).
    #[inline]
    fn is_paused(&self, client: &Client, command: &Command) -> bool {
        let common = &self.engine.common;
        let writes = || {
            let queue = client.queue.as_ref();
            command.has(flag::WRITE)
                || (command.name == "exec" && queue.is_some_and(|queue| queue.writes))
        };
        // A transaction is not interrupted.
        common.pause.is_set()
            && !self.engine.together
            && common.pause.holds(common.uptime_ms(), writes())
    }

    /// What does not depend on what the command does, in Redis' order. `Err`: it is refused, and that
    /// was replied.
    #[inline]
    fn check(
        &mut self,
        client: &mut Client,
        named: Option<Named>,
        args: &Args<'_>,
    ) -> Result<(&'static Command, usize), Next> {
        let Some(Named(mut command, number)) = named else {
            if is_attack(args.get(0)) {
                return Err(Next::Close);
            }
            return Err(self.refuse(client, named, None, &unknown(args)));
        };
        let mut number = usize::from(number);
        if !command.subcommands.is_empty() && args.len() > 1 {
            let name = args.get(1);
            let Some((at, found)) = command.subcommand(name) else {
                let text = unknown_subcommand(command, name);
                return Err(self.refuse(client, named, None, &text));
            };
            number += 1 + at;
            if !found.takes(args.len()) {
                let text = wrong_number(&format!("{}|{}", command.name, found.name));
                return Err(self.refuse(client, named, Some(number), &text));
            }
            command = found;
        } else if !command.takes(args.len()) {
            let text = wrong_number(command.name);
            return Err(self.refuse(client, named, Some(number), &text));
        }
        if command.has(flag::PROTECTED) && !self.engine.common.allows_debug() {
            return Err(self.refuse(client, named, Some(number), admin::REFUSED.as_bytes()));
        }
        if !command.has(flag::NO_AUTH) && client.is_stranger(&self.engine.common) {
            return Err(self.refuse(client, named, Some(number), NO_AUTH.as_bytes()));
        }
        if has_long_key(command, args) {
            return Err(self.refuse(client, named, Some(number), LONG_KEY.as_bytes()));
        }
        if self.engine.elsewhere {
            if let Some(text) = elsewhere::refusal(command, args, client) {
                return Err(self.refuse(client, named, Some(number), &text));
            }
        }
        if client.queue.is_some() && command.has(flag::NO_MULTI) {
            return Err(self.refuse(client, named, Some(number), NOT_QUEUED.as_bytes()));
        }
        if client.monitors && command.has(flag::READONLY | flag::WRITE | flag::MAY_REPLICATE) {
            return Err(self.refuse(client, named, Some(number), monitor::NO_KEYS.as_bytes()));
        }
        if self.is_paused(client, command) {
            return Err(Next::Sleep);
        }
        if client.queue.is_some() && !command.has(flag::AT_ONCE) {
            return Err(self.queue(client, (named, number), command, args));
        }
        Ok((command, number))
    }

    /// Says why a command is not done; a transaction is not done either, then.
    #[cold]
    fn refuse(
        &mut self,
        client: &mut Client,
        named: Option<Named>,
        number: Option<usize>,
        text: &[u8],
    ) -> Next {
        self.engine.common.stats.error(text);
        if let Some(number) = number {
            self.engine.commands.rejected(number);
        }
        if named.is_some_and(|named| named.0.name == "exec") {
            client.queue = None;
            client.watches = Watched::default();
            client.publish();
            let text = text.strip_prefix(b"ERR ").unwrap_or(text);
            self.reply(client)
                .error([b"EXECABORT Transaction discarded because of: ", text].concat());
            return Next::Continue;
        }
        if let Some(queue) = &mut client.queue {
            queue.refuse();
        }
        self.reply(client).error(text);
        Next::Continue
    }

    /// One more command of a transaction.
    #[cold]
    fn queue(
        &mut self,
        client: &mut Client,
        (named, number): (Option<Named>, usize),
        command: &Command,
        args: &Args<'_>,
    ) -> Next {
        let bytes = args.bytes();
        if client.queue.as_ref().is_some_and(|queue| !queue.is_broken) {
            match client.keep(Queue::size_of(bytes), self.engine, self.server) {
                Ok(()) => {}
                Err(Next::Close) => {
                    return self.refuse(client, named, Some(number), LONG_TRANSACTION.as_bytes());
                }
                Err(next) => return next,
            }
        }
        let Some(queue) = &mut client.queue else { return Next::Continue };
        queue.push(bytes);
        queue.writes |= command.has(flag::WRITE);
        queue.swaps |= command.name == "swapdb";
        client.publish();
        self.out.text(b"+QUEUED\r\n");
        Next::Continue
    }
}

/// A browser's request, which some page sends on behalf of its visitor.
#[cold]
fn is_attack(name: &[u8]) -> bool {
    super::word::is(name, "post") || super::word::is(name, "host:")
}

#[inline]
fn has_long_key(command: &Command, args: &Args<'_>) -> bool {
    match (command.keys.first, command.keys.last) {
        (0, _) => false,
        (1, 1) => args.get(1).len() > KEY_MAX,
        _ => {
            let mut places = command.key_places(args.len());
            let Some(first) = places.next() else { return false };
            let step = command.keys.step as usize;
            let count = 1 + places.count();
            args.from(first).step_by(step.max(1)).take(count).any(|key| key.len() > KEY_MAX)
        }
    }
}

/// As `%.128s` of C.
fn shown(text: &[u8], most: usize) -> &[u8] {
    let text = c_string(text);
    &text[..text.len().min(most)]
}

#[cold]
fn unknown(args: &Args<'_>) -> Vec<u8> {
    if let Some(kind) = absent::kind(args.get(0)) {
        let name = String::from_utf8_lossy(args.get(0)).to_lowercase();
        return format!("ERR '{name}' is a command on {kind}; this server keeps strings only")
            .into_bytes();
    }
    let mut list = Vec::new();
    for arg in args.from(1) {
        if list.len() >= 128 {
            break;
        }
        let arg = shown(arg, 128 - list.len());
        list.extend_from_slice(&[b"'", arg, b"' "].concat());
    }
    let name = shown(args.get(0), 128);
    [b"ERR unknown command '", name, b"', with args beginning with: ", &list].concat()
}

#[cold]
fn unknown_subcommand(command: &Command, name: &[u8]) -> Vec<u8> {
    let try_this = format!("'. Try {} HELP.", command.name.to_ascii_uppercase());
    [b"ERR unknown subcommand '", shown(name, 128), try_this.as_bytes()].concat()
}

#[cold]
pub fn wrong_number(name: &str) -> Vec<u8> {
    format!("ERR wrong number of arguments for '{name}' command").into_bytes()
}
