//! TLS that looks as TLS everywhere, and protects nothing: the sessions inside authenticate and encrypt. So the
//! certificate is made at each start and signed by itself, and no certificate is examined.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ClientConnection, Resumption};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::server::{NoServerSessionStorage, ServerConnection};
use rustls::version::TLS13;
use rustls::{
    ClientConfig, DigitallySignedStruct, Error, ServerConfig, SignatureScheme,
    SupportedProtocolVersion,
};

const VERSIONS: &[&SupportedProtocolVersion] = &[&TLS13];

/// Settings of both sides.
pub(super) struct Identity {
    client: Arc<ClientConfig>,
    server: Option<Arc<ServerConfig>>,
}

impl Identity {
    /// Makes the settings; a server's certificate only if `serves`.
    ///
    /// # Errors
    /// If there is no randomness.
    pub(super) fn new(serves: bool) -> io::Result<Self> {
        let provider = Arc::new(ring::default_provider());
        let mut client = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(VERSIONS)
            .map_err(io::Error::other)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(NoVerifier(Arc::clone(&provider))))
            .with_no_client_auth();
        client.resumption = Resumption::disabled();
        Ok(Self {
            client: Arc::new(client),
            server: serves.then(|| server(provider)).transpose()?,
        })
    }

    /// Begins as the client of the server at this address.
    pub(super) fn client(&self, server: IpAddr) -> io::Result<rustls::Connection> {
        let name = ServerName::from(server);
        let client = ClientConnection::new(Arc::clone(&self.client), name);
        client
            .map(rustls::Connection::Client)
            .map_err(io::Error::other)
    }

    /// Begins as the server.
    pub(super) fn server(&self) -> io::Result<rustls::Connection> {
        let settings = self.server.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        let server = ServerConnection::new(Arc::clone(settings));
        server
            .map(rustls::Connection::Server)
            .map_err(io::Error::other)
    }
}

fn server(provider: Arc<CryptoProvider>) -> io::Result<Arc<ServerConfig>> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]);
    let made = made.map_err(io::Error::other)?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let certificates = vec![CertificateDer::from(made.cert)];
    let mut settings = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(VERSIONS)
        .and_then(|builder| {
            builder
                .with_no_client_auth()
                .with_single_cert(certificates, key.into())
        })
        .map_err(io::Error::other)?;
    // Nothing is kept for strangers.
    settings.session_storage = Arc::new(NoServerSessionStorage {});
    settings.send_tls13_tickets = 0;
    Ok(Arc::new(settings))
}

/// Accepts every certificate.
#[derive(Debug)]
struct NoVerifier(Arc<CryptoProvider>);

impl ServerCertVerifier for NoVerifier {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
