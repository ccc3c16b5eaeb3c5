//! A certificate for our Service, and an authority of our own that vouches for it.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kueue_core::base64;
use kueue_core::time::Time;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};

/// A certificate is replaced so long before it ends.
const SPARE: Duration = Duration::from_secs(90 * 24 * 3600);
const YEARS_OF_CERTIFICATE: i16 = 1;
const YEARS_OF_AUTHORITY: i16 = 10;

// How they are called in the Secret.
const CA_CERTIFICATE: &str = "ca.crt";
const CA_KEY: &str = "ca.key";
const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";

/// What the Secret holds.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Material {
    /// The authority, and the one before it: replicas that still show the old certificate are trusted as well.
    pub(crate) authorities: String,
    authority_key: String,
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl std::fmt::Debug for Material {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Material").finish_non_exhaustive()
    }
}

impl Material {
    /// What a Secret's data say; none when something is missing.
    pub(crate) fn from_data(data: &BTreeMap<String, String>) -> Option<Self> {
        let text = |key: &str| String::from_utf8(base64::STANDARD.decode(data.get(key)?).ok()?).ok();
        Some(Self {
            authorities: text(CA_CERTIFICATE)?,
            authority_key: text(CA_KEY)?,
            certificate: text(CERTIFICATE)?,
            key: text(KEY)?,
        })
    }

    pub(crate) fn to_data(&self) -> BTreeMap<String, String> {
        let all = [
            (CA_CERTIFICATE, &self.authorities),
            (CA_KEY, &self.authority_key),
            (CERTIFICATE, &self.certificate),
            (KEY, &self.key),
        ];
        all.map(|(key, text)| (key.to_owned(), base64::STANDARD.encode(text.as_bytes()))).into()
    }

    /// A new authority and a certificate of it for that name, in place of the old ones if there are any.
    pub(crate) fn make(name: &str, old: Option<&Self>, now: Time) -> Result<Self, rcgen::Error> {
        let authority_key = KeyPair::generate()?;
        let authority = authority(now);
        let authority_pem = authority.self_signed(&authority_key)?.pem();
        let key = KeyPair::generate()?;
        let issuer = Issuer::from_params(&authority, &authority_key);
        let certificate = certificate(name, now)?.signed_by(&key, &issuer)?;
        let before = old.and_then(|old| first_pem(&old.authorities)).unwrap_or_default();
        Ok(Self {
            authorities: authority_pem + &before,
            authority_key: authority_key.serialize_pem(),
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        })
    }

    /// Whether clients that trust the authorities believe the certificate for that name, for some time to come.
    pub(crate) fn is_good_for(&self, name: &str, now: Time) -> bool {
        let mut roots = RootCertStore::empty();
        for authority in CertificateDer::pem_slice_iter(self.authorities.as_bytes()).flatten() {
            // One that is none is not trusted, that is all.
            let _ = roots.add(authority);
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let Ok(verifier) = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build() else {
            return false;
        };
        let chain: Vec<CertificateDer<'_>> =
            CertificateDer::pem_slice_iter(self.certificate.as_bytes()).flatten().collect();
        let (Some((certificate, above)), Ok(name)) = (chain.split_first(), ServerName::try_from(name)) else {
            return false;
        };
        let now = Duration::from_secs(u64::try_from(now.timestamp().as_second()).unwrap_or(0));
        verifier.verify_server_cert(certificate, above, &name, &[], UnixTime::since_unix_epoch(now + SPARE)).is_ok()
    }
}

/// The first certificate of several.
fn first_pem(text: &str) -> Option<String> {
    const END: &str = "-----END CERTIFICATE-----";
    text.split_once(END).map(|(first, _)| format!("{first}{END}\n"))
}

fn authority(now: Time) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, "kueue-ca");
    name.push(DnType::OrganizationName, "kueue");
    params.distinguished_name = name;
    last(&mut params, now, YEARS_OF_AUTHORITY);
    params
}

fn certificate(name: &str, now: Time) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new([name.to_owned()])?;
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
    let mut common = DistinguishedName::new();
    common.push(DnType::CommonName, name);
    params.distinguished_name = common;
    last(&mut params, now, YEARS_OF_CERTIFICATE);
    Ok(params)
}

/// Valid from the day before, since clocks differ, for so many years.
fn last(params: &mut CertificateParams, now: Time, years: i16) {
    let today = now.timestamp().to_zoned(jiff::tz::TimeZone::UTC).date();
    let day = |date: jiff::civil::Date| {
        date_time_ymd(
            date.year().into(),
            u8::try_from(date.month()).unwrap_or(1),
            u8::try_from(date.day()).unwrap_or(1),
        )
    };
    params.not_before = day(today.yesterday().unwrap_or(today));
    params.not_after = day(today.saturating_add(jiff::Span::new().years(years)));
}
