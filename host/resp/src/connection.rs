//! Commands about the connection itself.

use wirekv_proto::Next;
use wirekv_store::DATABASES;

use super::call::Call;
use super::execute::wrong_number;
use super::number::{self, integer};
use super::rows;
use super::table::Command;
use super::{word, Error, SYNTAX, VERSION};

const WRONG_PASS: Error = "WRONGPASS invalid username-password pair or user is disabled.";
const NO_PASSWORD: Error = "ERR AUTH <password> called without any password configured for the \
                            default user. Are you sure your configuration is correct?";
const BAD_VERSION: Error = "ERR Protocol version is not an integer or out of range";
const NO_VERSION: Error = "NOPROTO unsupported protocol version";
const STRANGER: Error = "NOAUTH HELLO must be called with the client already authenticated, \
                        otherwise the HELLO AUTH <user> <pass> option can be used to authenticate \
                        the client and select the RESP protocol version at the same time";
const BAD_NAME: Error = "ERR Client names cannot contain spaces, newlines or special characters.";
const LONG_NAME: Error = "ERR Client names cannot have more than 1024 bytes";
pub const NO_DATABASE: Error = "ERR DB index is out of range";
const NOT_AN_INT: Error =
    "ERR value is out of range, value must between -2147483648 and 2147483647";
/// Connections keep it, and CLIENT LIST and SLOWLOG tell it.
const NAME_MAX: usize = 1024;
/// The one user that there is.
pub const USER: &str = "default";

pub const COMMANDS: &[Command] = &[
    Command::new(rows::AUTH, auth),
    Command::new(rows::ECHO, echo),
    Command::new(rows::HELLO, hello),
    Command::new(rows::PING, ping),
    Command::new(rows::QUIT, quit),
    Command::new(rows::RESET, reset),
    Command::new(rows::SELECT, select),
];

/// `PING [message]`
fn ping(call: &mut Call<'_>) -> Result<(), Error> {
    match call.args.len() {
        1 => call.reply.out.text(b"+PONG\r\n"),
        2 => call.reply.bulk(call.args.get(1)),
        _ => call.reply.error(wrong_number(call.command.name)),
    }
    Ok(())
}

/// `ECHO message`
fn echo(call: &mut Call<'_>) -> Result<(), Error> {
    call.reply.bulk(call.args.get(1));
    Ok(())
}

/// `QUIT`
fn quit(call: &mut Call<'_>) -> Result<(), Error> {
    call.reply.ok();
    call.next = Next::Close;
    Ok(())
}

/// `RESET`
fn reset(call: &mut Call<'_>) -> Result<(), Error> {
    if call.client.monitors {
        call.server.unwatch();
    }
    call.client.reset(&call.engine.common);
    call.reply.simple("RESET");
    Ok(())
}

/// The number of a database.
pub fn database(text: &[u8]) -> Result<u8, Error> {
    let number = i32::try_from(number::argument(text)?).map_err(|_| NOT_AN_INT)?;
    let db = u8::try_from(number).ok().filter(|db| usize::from(*db) < DATABASES);
    db.ok_or(NO_DATABASE)
}

/// `SELECT index`
fn select(call: &mut Call<'_>) -> Result<(), Error> {
    call.client.db = database(call.arg(1))?;
    call.reply.ok();
    Ok(())
}

/// `AUTH [username] password`
fn auth(call: &mut Call<'_>) -> Result<(), Error> {
    let common = &call.engine.common;
    let (user, password) = match call.args.len() {
        2 if !common.has_password() => return Err(NO_PASSWORD),
        2 => (USER.as_bytes(), call.arg(1)),
        3 => (call.arg(1), call.arg(2)),
        _ => return Err(SYNTAX),
    };
    log_in(call, user, password)?;
    call.reply.ok();
    Ok(())
}

fn log_in(call: &mut Call<'_>, user: &[u8], password: &[u8]) -> Result<(), Error> {
    if !call.engine.common.admits(user, password) {
        return Err(WRONG_PASS);
    }
    call.client.authenticated = true;
    Ok(())
}

/// A connection's name, if that may be one.
pub fn check_name(name: &[u8]) -> Result<(), Error> {
    if name.len() > NAME_MAX {
        return Err(LONG_NAME);
    }
    match name.iter().all(|byte| (b'!'..=b'~').contains(byte)) {
        true => Ok(()),
        false => Err(BAD_NAME),
    }
}

/// `HELLO [version [AUTH username password] [SETNAME name]]`
fn hello(call: &mut Call<'_>) -> Result<(), Error> {
    let mut resp3 = call.client.resp3;
    if let Some(version) = call.args.find(1) {
        resp3 = match integer(version).ok_or(BAD_VERSION)? {
            2 => false,
            3 => true,
            _ => return Err(NO_VERSION),
        };
    }
    let mut options = call.args.from(2);
    while let Some(option) = options.next() {
        let mut rest = options.clone();
        match (rest.next(), rest.next()) {
            (Some(user), Some(password)) if word::is(option, "auth") => {
                log_in(call, user, password)?;
                options.nth(1);
            }
            (Some(name), _) if word::is(option, "setname") => {
                check_name(name)?;
                call.client.name = name.to_vec();
                options.next();
            }
            _ => {
                let option = word::c_string(option);
                call.reply.error([b"ERR Syntax error in HELLO option '", option, b"'"].concat());
                return Ok(());
            }
        }
    }
    if !call.client.authenticated {
        return Err(STRANGER);
    }
    (call.client.resp3, call.reply.resp3) = (resp3, resp3);
    let (id, reply) = (call.client.id, &mut call.reply);
    reply.map(7);
    let mut text = |name: &str, value: &str| {
        reply.bulk(name.as_bytes());
        reply.bulk(value.as_bytes());
    };
    text("server", "redis");
    text("version", VERSION);
    reply.bulk(b"proto");
    reply.integer(if resp3 { 3 } else { 2 });
    reply.bulk(b"id");
    reply.integer(id as i64);
    reply.bulk(b"mode");
    reply.bulk(b"standalone");
    reply.bulk(b"role");
    reply.bulk(b"master");
    reply.bulk(b"modules");
    reply.array(0);
    Ok(())
}
