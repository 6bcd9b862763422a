//! In place of `tls`, in a build without it: there are no such connections.

use std::io;

use anyhow::{ensure, Result};
use mio::net::TcpStream;

use crate::LoadArgs;

pub enum Secure {}

impl Secure {
    pub fn new(args: &LoadArgs) -> Result<Option<Secure>> {
        ensure!(
            !args.tls,
            "--tls: this program was built without TLS: build it with --features tls"
        );
        Ok(None)
    }

    pub fn begin(&self, _: TcpStream) -> Result<Tls> {
        match *self {}
    }
}

pub struct Tls {
    pub socket: TcpStream,
    never: Secure,
}

impl Tls {
    pub fn shake(&mut self) -> io::Result<bool> {
        match self.never {}
    }

    pub fn push(&mut self) -> io::Result<()> {
        match self.never {}
    }

    pub fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        match self.never {}
    }

    pub fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        match self.never {}
    }
}
