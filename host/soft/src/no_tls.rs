//! In place of `tls`, in a build without it: there are no such connections.

use std::io::{self, IoSlice};
use std::sync::atomic::AtomicU64;
use std::sync::Arc;

use anyhow::{bail, Result};
use mio::net::TcpStream;

use crate::options::Secure;

pub struct Certificates {
    never: Never,
    pub counts: Counts,
}

enum Never {}

#[derive(Default)]
pub struct Counts {
    pub handshake_errors: AtomicU64,
    pub handshake_timeouts: AtomicU64,
    pub protocol_errors: AtomicU64,
    pub sessions: AtomicU64,
}

impl Certificates {
    pub fn read(_: &Secure) -> Result<Certificates> {
        bail!("this program was built without TLS: build it with --features tls")
    }

    pub fn renew(&self) -> Result<()> {
        match self.never {}
    }

    pub fn accept(self: &Arc<Self>, _: TcpStream) -> Result<Tls> {
        match self.never {}
    }
}

pub struct Tls {
    never: Never,
    pub socket: TcpStream,
}

impl Tls {
    pub fn is_shaking(&self) -> bool {
        match self.never {}
    }

    pub fn is_over(&self) -> bool {
        match self.never {}
    }

    pub fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        match self.never {}
    }

    pub fn write(&mut self, _: &[IoSlice<'_>]) -> io::Result<usize> {
        match self.never {}
    }

    pub fn push(&mut self) -> io::Result<()> {
        match self.never {}
    }

    pub fn end(&mut self) -> io::Result<()> {
        match self.never {}
    }

    pub fn give_up(&self) {
        match self.never {}
    }

    pub fn refuse(&mut self) {
        match self.never {}
    }
}
