//! TLS options by name.

use kueue_api::config::blocks::Tls;
use kueue_api::config::tls::{TlsErrors, TlsSettings};
use serde_json::Value;

use super::Runners;
use crate::compare::equal;
use crate::corpus::{Case, Failure};

pub const RUNNERS: Runners = &[
    ("TestConvertCipherSuites", cipher_suites),
    ("TestConvertCurvePreferences", curve_preferences),
    ("TestConvertTLSMinVersion", min_version),
    ("TestParseTLSOptions", parse),
];

fn cipher_suites(case: &Case) -> Result<(), Failure> {
    let parsed = TlsSettings::parse(&Tls { cipher_suites: case.arg("input")?, ..Tls::default() });
    same_errors(&[case.raw("wantErr")], parsed.as_ref().err())?;
    equal(&case.arg("expected")?, &parsed.map(|settings| settings.cipher_suites).unwrap_or_default())
}

/// Expected curves are recorded by their Go names.
fn curve_preferences(case: &Case) -> Result<(), Failure> {
    let parsed = TlsSettings::parse(&Tls { curve_preferences: case.arg("input")?, ..Tls::default() });
    same_errors(&[case.raw("wantErr")], parsed.as_ref().err())?;
    let names = parsed.map(|settings| settings.curve_preferences).unwrap_or_default().into_iter().map(curve_name);
    equal(&case.arg::<Vec<String>>("expected")?, &names.map(str::to_owned).collect())
}

fn min_version(case: &Case) -> Result<(), Failure> {
    let parsed = TlsSettings::parse(&Tls { min_version: case.arg("input")?, ..Tls::default() });
    same_errors(&wanted_errors(case), parsed.as_ref().err())?;
    equal(&case.arg("expected")?, &parsed.map(|settings| settings.min_version).unwrap_or_default())
}

/// What a good row must give is code; that nothing is refused is all the row says.
fn parse(case: &Case) -> Result<(), Failure> {
    let options: Option<Tls> = case.get("cfg")?;
    let parsed = options.as_ref().map(TlsSettings::parse).transpose();
    same_errors(&wanted_errors(case), parsed.as_ref().err())?;
    equal(&case.arg("expectNil")?, &matches!(parsed, Ok(None)))
}

fn wanted_errors(case: &Case) -> Vec<&Value> {
    case.raw("wantErrs").as_array().into_iter().flatten().collect()
}

/// Errors are compared by their sort, which is how their text begins.
fn same_errors(wanted: &[&Value], found: Option<&TlsErrors>) -> Result<(), Failure> {
    let wanted: Vec<&str> = wanted.iter().filter_map(|error| error["error"].as_str()).collect();
    let found: Vec<String> = found.iter().flat_map(|errors| &errors.0).map(ToString::to_string).collect();
    let matches = wanted.len() == found.len() && found.iter().zip(&wanted).all(|(text, sort)| text.starts_with(sort));
    if matches { Ok(()) } else { Err(Failure(format!("expected {wanted:?}, got {found:?}"))) }
}

fn curve_name(number: u16) -> &'static str {
    match number {
        23 => "CurveP256",
        24 => "CurveP384",
        25 => "CurveP521",
        29 => "X25519",
        4587 => "SecP256r1MLKEM768",
        4588 => "X25519MLKEM768",
        4589 => "SecP384r1MLKEM1024",
        _ => "unknown",
    }
}
