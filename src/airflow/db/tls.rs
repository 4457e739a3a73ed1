//! TLS to PostgreSQL, with libpq's meaning of `sslmode`.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::url::{Server, Tls};
use crate::airflow::SourceError;

/// What makes connections to a server.
///
/// # Errors
/// Certificates that cannot be read.
pub(super) fn connector(server: &Server) -> Result<MakeRustlsConnect, SourceError> {
    let provider = Arc::new(ring::default_provider());
    let fail = |error: Error| SourceError::new(format!("TLS cannot be set up: {error}"));
    // As libpq: `require` with a certificate to trust is `verify-ca`.
    let chain = match (server.tls, &server.root_certificate) {
        (Tls::VerifyCa | Tls::VerifyFull, _) | (Tls::Require, Some(_)) => {
            let roots = Arc::new(roots(server)?);
            let verifier = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider)).build();
            Some(verifier.map_err(|error| SourceError::new(format!("TLS cannot be set up: {error}")))?)
        }
        _ => None,
    };
    let verifier = Verifier { provider: Arc::clone(&provider), chain, name: server.tls == Tls::VerifyFull };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(fail)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

/// The certificates to trust: those of `sslrootcert`, else the system's.
fn roots(server: &Server) -> Result<RootCertStore, SourceError> {
    let mut store = RootCertStore::empty();
    let certificates: Vec<CertificateDer<'static>> = match &server.root_certificate {
        Some(path) if path != "system" => {
            let fail = |error: rustls::pki_types::pem::Error| SourceError::new(format!("sslrootcert {path}: {error}"));
            CertificateDer::pem_file_iter(path).map_err(fail)?.collect::<Result<_, _>>().map_err(fail)?
        }
        _ => rustls_native_certs::load_native_certs().certs,
    };
    store.add_parsable_certificates(certificates);
    match store.is_empty() {
        true => Err(SourceError::new("no certificate authority to trust is found")
            .help("sslrootcert=FILE in the URL names one")),
        false => Ok(store),
    }
}

/// Checks as much as `sslmode` asks for.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    /// The check of the chain; without one every certificate is taken.
    chain: Option<Arc<WebPkiServerVerifier>>,
    /// Whether the server's name must be in its certificate.
    name: bool,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        match chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            // The name is looked at last: the chain is right.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.name => Ok(ServerCertVerified::assertion()),
            result => result,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
