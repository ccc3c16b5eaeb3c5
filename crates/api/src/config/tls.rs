//! TLS options: the names in the file become the numbers that a TLS library takes.

use std::fmt;

use super::blocks::Tls;

/// What a server is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsSettings {
    /// The protocol's number, such as 0x0303 for TLS 1.2.
    pub min_version: u16,
    /// IANA numbers in order of preference; empty leaves the choice to the library.
    pub cipher_suites: Vec<u16>,
    /// IANA numbers of key exchange groups; empty leaves the choice to the library.
    pub curve_preferences: Vec<u16>,
}

/// One option that cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    #[error("invalid minVersion. Please use VersionTLS12 or VersionTLS13")]
    OldVersion,
    #[error("invalid minVersion: unknown tls version {0:?}. Please use VersionTLS12 or VersionTLS13")]
    UnknownVersion(String),
    #[error(
        "invalid cipher suites: Cipher suite {0} not supported or doesn't exist. Please use the secure cipher names: \
         [{names}]", names = secure_names().join(" ")
    )]
    UnknownCipherSuite(String),
    #[error("invalid curve preferences: curve preference {0} is out of range (must be 1-65535)")]
    CurveOutOfRange(i32),
    #[error("invalid curve preferences: duplicate curve preference {0}")]
    DuplicateCurve(i32),
    #[error("invalid curve preferences: curve preference {0} is not supported")]
    UnknownCurve(i32),
}

/// Everything wrong with the options; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsErrors(pub Vec<TlsError>);

impl fmt::Display for TlsErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.0.iter().map(TlsError::to_string).collect();
        f.write_str(&texts.join("; "))
    }
}

impl std::error::Error for TlsErrors {}

impl TlsSettings {
    /// Looks every name up.
    pub fn parse(options: &Tls) -> Result<Self, TlsErrors> {
        let min_version = parse_version(&options.min_version);
        let cipher_suites = parse_cipher_suites(&options.cipher_suites);
        let curve_preferences = parse_curves(&options.curve_preferences);
        match (min_version, cipher_suites, curve_preferences) {
            (Ok(min_version), Ok(cipher_suites), Ok(curve_preferences)) => {
                Ok(Self { min_version, cipher_suites, curve_preferences })
            }
            (version, suites, curves) => {
                Err(TlsErrors([version.err(), suites.err(), curves.err()].into_iter().flatten().collect()))
            }
        }
    }
}

const TLS_1_2: u16 = 0x0303;
const TLS_1_3: u16 = 0x0304;

/// TLS 1.2 when nothing is said.
fn parse_version(name: &str) -> Result<u16, TlsError> {
    match name {
        "" | "VersionTLS12" => Ok(TLS_1_2),
        "VersionTLS13" => Ok(TLS_1_3),
        "VersionTLS10" | "VersionTLS11" => Err(TlsError::OldVersion),
        other => Err(TlsError::UnknownVersion(other.to_owned())),
    }
}

fn parse_cipher_suites(names: &[String]) -> Result<Vec<u16>, TlsError> {
    let number_of = |name: &String| {
        let row = SECURE.iter().chain(INSECURE).find(|(known, _)| known == name);
        row.map(|(_, number)| *number).ok_or_else(|| TlsError::UnknownCipherSuite(name.clone()))
    };
    names.iter().map(number_of).collect()
}

fn parse_curves(numbers: &[i32]) -> Result<Vec<u16>, TlsError> {
    let mut curves = Vec::with_capacity(numbers.len());
    for number in numbers {
        let curve = match u16::try_from(*number) {
            Ok(0) | Err(_) => return Err(TlsError::CurveOutOfRange(*number)),
            Ok(curve) if curves.contains(&curve) => return Err(TlsError::DuplicateCurve(*number)),
            Ok(curve) if !CURVES.contains(&curve) => return Err(TlsError::UnknownCurve(*number)),
            Ok(curve) => curve,
        };
        curves.push(curve);
    }
    Ok(curves)
}

fn secure_names() -> Vec<&'static str> {
    SECURE.iter().map(|(name, _)| *name).collect()
}

/// P-256, P-384, P-521, X25519 and the three hybrids with ML-KEM.
const CURVES: [u16; 7] = [23, 24, 25, 29, 4587, 4588, 4589];

/// Suites without known weakness, by name; two also under the name they had before.
const SECURE: &[(&str, u16)] = &[
    ("TLS_AES_128_GCM_SHA256", 0x1301),
    ("TLS_AES_256_GCM_SHA384", 0x1302),
    ("TLS_CHACHA20_POLY1305_SHA256", 0x1303),
    ("TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", 0xc009),
    ("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", 0xc02b),
    ("TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", 0xc00a),
    ("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", 0xc02c),
    ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305", 0xcca9),
    ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", 0xcca9),
    ("TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", 0xc013),
    ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", 0xc02f),
    ("TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", 0xc014),
    ("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", 0xc030),
    ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", 0xcca8),
    ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", 0xcca8),
];

/// Suites with known weaknesses: accepted, never recommended.
const INSECURE: &[(&str, u16)] = &[
    ("TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", 0xc023),
    ("TLS_ECDHE_ECDSA_WITH_RC4_128_SHA", 0xc007),
    ("TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA", 0xc012),
    ("TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", 0xc027),
    ("TLS_ECDHE_RSA_WITH_RC4_128_SHA", 0xc011),
    ("TLS_RSA_WITH_3DES_EDE_CBC_SHA", 0x000a),
    ("TLS_RSA_WITH_AES_128_CBC_SHA", 0x002f),
    ("TLS_RSA_WITH_AES_128_CBC_SHA256", 0x003c),
    ("TLS_RSA_WITH_AES_128_GCM_SHA256", 0x009c),
    ("TLS_RSA_WITH_AES_256_CBC_SHA", 0x0035),
    ("TLS_RSA_WITH_AES_256_GCM_SHA384", 0x009d),
    ("TLS_RSA_WITH_RC4_128_SHA", 0x0005),
];

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(version: &str, suites: &[&str], curves: &[i32], expected: &Expect) {
        let options = Tls {
            min_version: version.to_owned(),
            cipher_suites: suites.iter().map(ToString::to_string).collect(),
            curve_preferences: curves.to_vec(),
        };
        let shown = match TlsSettings::parse(&options) {
            Ok(settings) => {
                let suites: Vec<String> = settings.cipher_suites.iter().map(|suite| format!("{suite:#06x}")).collect();
                format!("{:#06x} {suites:?} {:?}", settings.min_version, settings.curve_preferences)
            }
            Err(errors) => errors.to_string(),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn names_become_numbers() {
        check("", &[], &[], &expect!["0x0303 [] []"]);
        check("VersionTLS13", &[], &[29, 4588], &expect!["0x0304 [] [29, 4588]"]);
        let suites = ["TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "TLS_RSA_WITH_RC4_128_SHA"];
        check("VersionTLS12", &suites, &[23], &expect![[r#"0x0303 ["0xcca8", "0x0005"] [23]"#]]);
    }

    #[test]
    fn all_wrong_options_are_told() {
        check(
            "VersionTLS11",
            &["NULL"],
            &[0],
            &expect![
                "invalid minVersion. Please use VersionTLS12 or VersionTLS13; invalid cipher suites: Cipher suite NULL not supported or doesn't exist. Please use the secure cipher names: [TLS_AES_128_GCM_SHA256 TLS_AES_256_GCM_SHA384 TLS_CHACHA20_POLY1305_SHA256 TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305 TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305 TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256]; invalid curve preferences: curve preference 0 is out of range (must be 1-65535)"
            ],
        );
        check(
            "1.2",
            &[],
            &[23, 23],
            &expect![[
                r#"invalid minVersion: unknown tls version "1.2". Please use VersionTLS12 or VersionTLS13; invalid curve preferences: duplicate curve preference 23"#
            ]],
        );
        check("", &[], &[22], &expect!["invalid curve preferences: curve preference 22 is not supported"]);
        check(
            "",
            &[],
            &[-1],
            &expect!["invalid curve preferences: curve preference -1 is out of range (must be 1-65535)"],
        );
    }
}
