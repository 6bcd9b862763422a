//! TLS of a connection, by rustls, and the certificates that it begins with.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::Shutdown;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};

use anyhow::{Context, Result};
use mio::net::TcpStream;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{NoServerSessionStorage, ServerSessionMemoryCache, WebPkiClientVerifier};
use rustls::version::{TLS12, TLS13};
use rustls::{HandshakeKind, RootCertStore, ServerConfig, ServerConnection};

use crate::options::{Secure, Verify};

/// Sessions that clients may go on with, where they may.
const SESSIONS: usize = 1024;
/// An alert as a record of its own, to a client that is refused before its handshake: "access denied".
const DENIED: [u8; 7] = [21, 3, 3, 0, 2, 2, 49];

/// What a listener's connections begin with.
pub struct Certificates {
    secure: Secure,
    now: RwLock<Arc<ServerConfig>>,
    pub counts: Counts,
}

#[derive(Default)]
pub struct Counts {
    /// Handshakes that failed, and those of them that took too long.
    pub handshake_errors: AtomicU64,
    pub handshake_timeouts: AtomicU64,
    /// Connections that broke the protocol behind that.
    pub protocol_errors: AtomicU64,
    /// Handshakes that did not go on with an earlier session.
    pub sessions: AtomicU64,
}

impl Certificates {
    pub fn read(secure: &Secure) -> Result<Certificates> {
        let now = RwLock::new(Arc::new(config(secure)?));
        Ok(Certificates { secure: secure.clone(), now, counts: Counts::default() })
    }

    /// Reads the files again, for connections from now on. After an error all is as it was.
    pub fn renew(&self) -> Result<()> {
        let config = Arc::new(config(&self.secure)?);
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(())
    }

    pub fn accept(self: &Arc<Self>, socket: TcpStream) -> Result<Tls> {
        let config = self.now.read().unwrap_or_else(PoisonError::into_inner).clone();
        let mut session = ServerConnection::new(config)?;
        session.set_buffer_limit(Some(self.secure.piece));
        Ok(Tls {
            socket,
            session,
            home: self.clone(),
            taken: 0,
            shaking: true,
            over: false,
            ending: false,
            ended: false,
        })
    }
}

fn config(secure: &Secure) -> Result<ServerConfig> {
    let chain = certificates(&secure.chain)?;
    let key_file = secure.key.as_ref().unwrap_or(&secure.chain);
    let key = PrivateKeyDer::from_pem_file(key_file)
        .with_context(|| format!("{} has no private key", key_file.display()))?;
    let provider = Arc::new(ring::default_provider());
    let versions = if secure.only_13 { &[&TLS13][..] } else { &[&TLS13, &TLS12] };
    let builder =
        ServerConfig::builder_with_provider(provider.clone()).with_protocol_versions(versions)?;
    let builder = match (&secure.verify, &secure.authorities) {
        (Verify::No, _) | (_, None) => builder.with_no_client_auth(),
        (verify, Some(file)) => {
            let mut roots = RootCertStore::empty();
            for authority in certificates(file)? {
                roots.add(authority).with_context(|| format!("{}", file.display()))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            let verifier = match verify {
                Verify::IfGiven => verifier.allow_unauthenticated(),
                _ => verifier,
            };
            let verifier = verifier.build().with_context(|| format!("{}", file.display()))?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let mut config = builder.with_single_cert(chain, key).with_context(|| {
        format!("{} and {} do not go together", secure.chain.display(), key_file.display())
    })?;
    match secure.sessions {
        true => config.session_storage = ServerSessionMemoryCache::new(SESSIONS),
        false => {
            config.session_storage = Arc::new(NoServerSessionStorage {});
            config.send_tls13_tickets = 0;
        }
    }
    Ok(config)
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_file_iter(file)
        .with_context(|| format!("cannot read {}", file.display()))?
        .collect();
    let all = all.with_context(|| format!("{} is not PEM", file.display()))?;
    anyhow::ensure!(!all.is_empty(), "{} has no certificate", file.display());
    Ok(all)
}

/// A connection.
pub struct Tls {
    pub socket: TcpStream,
    session: ServerConnection,
    home: Arc<Certificates>,
    /// Bytes of replies that are encrypted and that the kernel did not take all of yet: they are offered again
    /// until it has, and count as written then.
    taken: usize,
    /// Its handshake is not over.
    shaking: bool,
    /// The client has sent its end.
    over: bool,
    /// Nothing follows what was written, and all of that is out.
    ending: bool,
    ended: bool,
}

/// A socket, and whether a read took all that there was.
struct Watched<'a>(&'a mut TcpStream, bool);

impl Read for Watched<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(to)?;
        self.1 = count < to.len();
        Ok(count)
    }
}

impl Tls {
    pub fn is_shaking(&self) -> bool {
        self.shaking
    }

    pub fn is_over(&self) -> bool {
        self.over
    }

    /// As of a socket: fewer bytes than there is room for are all that there were.
    pub fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let (mut count, mut drained) = (0, false);
        while count < to.len() && !self.over {
            match self.session.reader().read(&mut to[count..]) {
                Ok(0) => self.over = true,
                Ok(n) => count += n,
                // As when a socket's peer ends: a request that is cut off is not executed.
                Err(e) if e.kind() == ErrorKind::UnexpectedEof => self.over = true,
                Err(e) if e.kind() != ErrorKind::WouldBlock => return Err(e),
                Err(_) if drained && count > 0 => break,
                Err(e) if drained => return Err(e),
                Err(_) => {
                    let mut socket = Watched(&mut self.socket, false);
                    match self.session.read_tls(&mut socket) {
                        Ok(_) => drained = socket.1,
                        Err(e) if e.kind() == ErrorKind::WouldBlock => drained = true,
                        Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                        Err(e) => return Err(e),
                    }
                    self.process()?;
                }
            }
        }
        if self.over && self.shaking {
            self.fail();
        }
        Ok(count)
    }

    fn process(&mut self) -> io::Result<()> {
        let processed = self.session.process_new_packets();
        // The handshake's next words, or why there are none.
        let pushed = self.push();
        if let Err(e) = processed {
            self.fail();
            return Err(io::Error::new(ErrorKind::InvalidData, e));
        }
        if self.shaking && !self.session.is_handshaking() {
            self.shaking = false;
            let resumed = self.session.handshake_kind() == Some(HandshakeKind::Resumed);
            self.home.counts.sessions.fetch_add(u64::from(!resumed), Relaxed);
        }
        pushed
    }

    fn fail(&self) {
        let counts = &self.home.counts;
        let count = if self.shaking { &counts.handshake_errors } else { &counts.protocol_errors };
        count.fetch_add(1, Relaxed);
    }

    /// The handshake took too long.
    pub fn give_up(&self) {
        self.fail();
        self.home.counts.handshake_timeouts.fetch_add(1, Relaxed);
    }

    /// Encrypts some of the parts, once. They are not written until the kernel has all that came of them, and are to
    /// be given again.
    pub fn write(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        if self.taken == 0 {
            self.flush()?;
            self.taken = self.session.writer().write_vectored(parts)?;
        }
        self.flush()?;
        Ok(std::mem::take(&mut self.taken))
    }

    /// Gives the kernel what is encrypted.
    fn flush(&mut self) -> io::Result<()> {
        while self.session.wants_write() {
            match self.session.write_tls(&mut self.socket) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Err(e) if e.kind() != ErrorKind::Interrupted => return Err(e),
                _ => {}
            }
        }
        if self.ending && !self.ended {
            self.ended = true;
            self.socket.shutdown(Shutdown::Write)?;
        }
        Ok(())
    }

    /// As `flush`; what the kernel does not take waits for the next event.
    pub fn push(&mut self) -> io::Result<()> {
        match self.flush() {
            Err(e) if e.kind() == ErrorKind::WouldBlock => Ok(()),
            result => result,
        }
    }

    /// Nothing more is written: tells the client so.
    pub fn end(&mut self) -> io::Result<()> {
        if !self.ending {
            self.ending = true;
            self.session.send_close_notify();
        }
        self.push()
    }

    /// The client is sent away before anything was said.
    pub fn refuse(&mut self) {
        let _ = self.socket.write(&DENIED);
    }
}
