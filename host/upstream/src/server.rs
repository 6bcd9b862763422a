//! The server behind the card: its address, and what it says at the start.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::str::FromStr;
use std::time::Duration;

use crate::memcached::TEXT_MARK;
use crate::redis;
use crate::table::Table;
use crate::value::Value;

/// It has so long to answer at the start.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longest reply to `COMMAND`.
const MAX_REPLY: usize = 8 << 20;

/// What a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// memcached's protocols.
    Memcached,
    /// Redis'.
    Redis,
}

/// Where the server is, as the command line has it: `memcached:HOST:PORT` or `redis:HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// What it speaks.
    pub protocol: Protocol,
    /// Host and port.
    pub at: String,
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Address, String> {
        let wrong = || {
            format!("'{text}' is no address such as memcached:10.0.0.1:11211 or redis:host:6379")
        };
        let (protocol, at) = text.split_once(':').ok_or_else(wrong)?;
        let protocol = match protocol {
            "memcached" => Protocol::Memcached,
            "redis" => Protocol::Redis,
            _ => return Err(wrong()),
        };
        let (host, port) = at.rsplit_once(':').ok_or_else(wrong)?;
        let port: u16 = port.parse().map_err(|_| wrong())?;
        if host.is_empty() || port == 0 {
            return Err(wrong());
        }
        Ok(Address { protocol, at: at.into() })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let protocol = match self.protocol {
            Protocol::Memcached => "memcached",
            Protocol::Redis => "redis",
        };
        write!(to, "{protocol}:{}", self.at)
    }
}

/// Why a server cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// It cannot be reached.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Its name stands for nothing.
    #[error("it has no address")]
    NoAddress,
    /// It does not know `mn`.
    #[error("it answers no meta command: memcached 1.6 is needed")]
    NoMeta,
    /// It asks for a password, which the host does not have.
    #[error("it asks for a password: one that lets everybody in is needed")]
    Password,
    /// Something else came than the list of its commands.
    #[error("it does not tell its commands: Redis is needed")]
    NoTable,
}

/// A server that has answered.
#[derive(Clone, Debug)]
pub struct Server {
    pub(crate) protocol: Protocol,
    pub(crate) address: SocketAddr,
    /// Of a Redis.
    pub(crate) table: Table,
}

impl Server {
    /// One that has said this of its commands: a Redis' reply to `COMMAND`.
    ///
    /// # Errors
    ///
    /// It is a Redis, and this is no such reply.
    pub fn told(
        protocol: Protocol,
        address: SocketAddr,
        commands: &[u8],
    ) -> Result<Server, Refused> {
        let table = match (protocol, Value::parse(commands, 0)) {
            (Protocol::Memcached, _) => Table::default(),
            (_, Ok(Some((value, _)))) => Table::new(&value).ok_or(Refused::NoTable)?,
            _ => return Err(Refused::NoTable),
        };
        Ok(Server { protocol, address, table })
    }

    /// Asks the server what it is.
    ///
    /// # Errors
    ///
    /// It is not there, does not answer within five seconds, or is another one than the address says.
    pub fn meet(address: &Address) -> Result<Server, Refused> {
        let mut last = Refused::NoAddress;
        for at in address.at.to_socket_addrs()? {
            let met = TcpStream::connect_timeout(&at, PATIENCE).map_err(Refused::Io);
            match met.and_then(|stream| ask(stream, address.protocol)) {
                Ok(table) => return Ok(Server { protocol: address.protocol, address: at, table }),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

fn ask(mut stream: TcpStream, protocol: Protocol) -> Result<Table, Refused> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    if protocol == Protocol::Memcached {
        stream.write_all(TEXT_MARK)?;
        let mut reply = [0; 4];
        stream.read_exact(&mut reply)?;
        return if &reply == b"MN\r\n" { Ok(Table::default()) } else { Err(Refused::NoMeta) };
    }
    stream.write_all(&redis::command(&[b"COMMAND"]))?;
    let (mut reply, mut buffer) = (Vec::new(), vec![0; 64 << 10]);
    let value = loop {
        match Value::parse(&reply, 0) {
            Ok(Some((value, _))) => break value,
            Ok(None) if reply.len() < MAX_REPLY => {}
            _ => return Err(Refused::NoTable),
        }
        match stream.read(&mut buffer)? {
            0 => return Err(Refused::NoTable),
            count => reply.extend_from_slice(&buffer[..count]),
        }
    };
    match &value {
        Value::Error(text) if text.starts_with(b"NOAUTH") => Err(Refused::Password),
        value => Table::new(value).ok_or(Refused::NoTable),
    }
}
