//! TLS of a client's connection.

use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{ensure, Context, Result};
use mio::net::TcpStream;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::Resumption;
use rustls::crypto::{ring, CryptoProvider};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme,
};

use crate::LoadArgs;

/// What connections begin with.
pub struct Secure {
    config: Arc<ClientConfig>,
    server: ServerName<'static>,
}

impl Secure {
    /// `None`: no TLS is asked for.
    pub fn new(args: &LoadArgs) -> Result<Option<Secure>> {
        if !args.tls {
            return Ok(None);
        }
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone());
        let builder = builder.with_safe_default_protocol_versions()?;
        let builder = match &args.cacert {
            Some(file) => {
                let mut roots = RootCertStore::empty();
                for authority in certificates(file)? {
                    roots.add(authority).with_context(|| format!("--cacert {}", file.display()))?;
                }
                builder.with_root_certificates(roots)
            }
            None => {
                ensure!(args.tls_skip_verify, "--tls: give --cacert FILE or --tls-skip-verify");
                builder.dangerous().with_custom_certificate_verifier(Arc::new(Anybody(provider)))
            }
        };
        let mut config = match &args.cert {
            None => builder.with_no_client_auth(),
            Some(file) => {
                let key = args.key.as_ref().unwrap_or(file);
                let key = PrivateKeyDer::from_pem_file(key)
                    .with_context(|| format!("{} has no private key", key.display()))?;
                builder.with_client_auth_cert(certificates(file)?, key)?
            }
        };
        config.resumption = Resumption::disabled();
        let server = ServerName::try_from(args.server.clone())?;
        Ok(Some(Secure { config: Arc::new(config), server }))
    }

    pub fn begin(&self, socket: TcpStream) -> Result<Tls> {
        let session = ClientConnection::new(self.config.clone(), self.server.clone())?;
        Ok(Tls { socket, session })
    }
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_file_iter(file)
        .with_context(|| format!("cannot read {}", file.display()))?
        .collect();
    all.with_context(|| format!("{} is not PEM", file.display()))
}

/// Takes any certificate whose key the server has.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// A connection.
pub struct Tls {
    pub socket: TcpStream,
    session: ClientConnection,
}

impl Tls {
    /// Goes on with the handshake as far as that goes. True: it is over.
    pub fn shake(&mut self) -> io::Result<bool> {
        while self.session.is_handshaking() {
            self.push()?;
            match self.session.read_tls(&mut self.socket) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(_) => self.process()?,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(e) => return Err(e),
            }
        }
        self.push()?;
        Ok(true)
    }

    fn process(&mut self) -> io::Result<()> {
        let processed = self.session.process_new_packets();
        // What is wrong the server is to know, too.
        let pushed = self.push();
        processed.map_err(|e| io::Error::new(ErrorKind::InvalidData, e))?;
        pushed
    }

    /// Gives the kernel what is encrypted, as far as it takes it.
    pub fn push(&mut self) -> io::Result<()> {
        while self.session.wants_write() {
            match self.session.write_tls(&mut self.socket) {
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(e) if e.kind() != ErrorKind::Interrupted => return Err(e),
                _ => {}
            }
        }
        Ok(())
    }

    /// Takes some of it, if what it took earlier has left.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.push()?;
        if self.session.wants_write() {
            return Err(ErrorKind::WouldBlock.into());
        }
        let count = self.session.writer().write(bytes)?;
        self.push()?;
        Ok(count)
    }

    /// As of a socket: fewer bytes than there is room for are all that there were.
    pub fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let mut count = 0;
        while count < to.len() {
            match self.session.reader().read(&mut to[count..]) {
                Ok(0) => break,
                Ok(n) => count += n,
                Err(e) if e.kind() != ErrorKind::WouldBlock => return Err(e),
                Err(_) => match self.session.read_tls(&mut self.socket) {
                    Ok(_) => self.process()?,
                    Err(e) if e.kind() == ErrorKind::WouldBlock && count > 0 => break,
                    Err(e) => return Err(e),
                },
            }
        }
        Ok(count)
    }
}
