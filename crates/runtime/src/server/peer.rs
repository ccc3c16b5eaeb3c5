//! Clients that show a certificate.
//!
//! The handshake proves that the key is theirs. Whether anybody vouches for it is judged when they ask for something:
//! whom to believe may change while a connection lives.

use std::sync::Arc;

use jiff::Timestamp;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme};

/// The certificate of a client, and those that lead to who vouches for it.
#[derive(Clone, Debug)]
pub struct Peer(Arc<[CertificateDer<'static>]>);

impl Peer {
    pub(super) fn new(chain: &[CertificateDer<'static>]) -> Self {
        Self(chain.iter().map(|one| one.clone().into_owned()).collect())
    }

    /// Whether one of these authorities, in PEM, vouches for it now.
    pub fn is_known_to(&self, authorities: &[u8], now: Timestamp) -> bool {
        let mut roots = RootCertStore::empty();
        for authority in CertificateDer::pem_slice_iter(authorities).flatten() {
            // One that cannot be read vouches for nobody.
            let _ = roots.add(authority);
        }
        let Some((own, others)) = self.0.split_first() else { return false };
        let provider = Arc::new(super::provider());
        let Ok(verifier) = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build() else {
            return false;
        };
        let now = UnixTime::since_unix_epoch(now.duration_since(Timestamp::UNIX_EPOCH).unsigned_abs());
        verifier.verify_client_cert(own, others, now).is_ok()
    }

    /// The name that the certificate is about.
    pub fn common_name(&self) -> Option<String> {
        let certificate = contents(self.0.first()?, SEQUENCE)?.0;
        let mut fields = contents(certificate, SEQUENCE)?.0;
        // A version, which only new certificates have, then number, algorithm, issuer and validity; then the subject.
        if let Some((_, rest)) = contents(fields, VERSION) {
            fields = rest;
        }
        for tag in [INTEGER, SEQUENCE, SEQUENCE, SEQUENCE] {
            fields = contents(fields, tag)?.1;
        }
        let mut names = contents(fields, SEQUENCE)?.0;
        while let Some((set, rest)) = contents(names, SET) {
            let pair = contents(set, SEQUENCE)?.0;
            let (kind, value) = contents(pair, OBJECT_ID)?;
            if kind == COMMON_NAME {
                let text = contents(value, *value.first()?)?.0;
                return String::from_utf8(text.to_vec()).ok();
            }
            names = rest;
        }
        None
    }
}

const INTEGER: u8 = 0x02;
const OBJECT_ID: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const VERSION: u8 = 0xa0;
/// 2.5.4.3
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];

/// What is in the first element of DER if it has this tag, and what follows it.
fn contents(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (found, rest) = der.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match *first {
        short @ ..0x80 => (usize::from(short), rest),
        long => {
            let (bytes, rest) = rest.split_at_checked(usize::from(long & 0x7f))?;
            let add = |sum: usize, byte: &u8| sum.checked_mul(256)?.checked_add(usize::from(*byte));
            (bytes.iter().try_fold(0, add)?, rest)
        }
    };
    (*found == tag).then(|| rest.split_at_checked(length)).flatten()
}

/// Lets everybody in, whoever vouches for them or not.
#[derive(Debug)]
pub(super) struct Anybody(pub(super) Arc<CryptoProvider>);

impl ClientCertVerifier for Anybody {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
