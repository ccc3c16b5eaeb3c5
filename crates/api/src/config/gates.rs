//! Feature gates: set on the command line or in the file, not in both.

use std::collections::BTreeMap;

use kueue_core::field::{self, Path};
use kueue_core::gates::{Gate, Gates, Version, parse_flag};

/// The gates that the flag or the file sets, or everything wrong with what they say.
///
/// `flag` is empty when it was not given.
pub fn resolve(flag: &str, file: Option<&BTreeMap<String, bool>>) -> Result<Gates, field::Errors> {
    let at = Path::new("featureGates");
    let in_file = || serde_json::to_value(file).unwrap_or_default();
    match (flag, file) {
        ("", file) => Gates::from_settings(Version::CURRENT, file.unwrap_or(&BTreeMap::new()))
            .map_err(|errors| vec![field::Error::invalid(&at, in_file(), errors.to_string())]),
        (_, Some(_)) => {
            let why = "feature gates for CLI and configuration cannot both specified";
            Err(vec![field::Error::invalid(&at, in_file(), why)])
        }
        (flag, None) => parse_flag(flag)
            .and_then(|settings| Gates::from_settings(Version::CURRENT, &settings))
            .map_err(|errors| vec![field::Error::invalid(&at, flag, errors.to_string())]),
    }
}

/// What was probably meant by settings that [`resolve`] refuses, so that the rest can still be looked at.
pub(super) fn guess(flag: &str, file: Option<&BTreeMap<String, bool>>) -> Gates {
    let mut settings = parse_flag(flag).unwrap_or_default();
    settings.extend(file.cloned().unwrap_or_default());
    let known: Vec<(Gate, bool)> =
        settings.iter().filter_map(|(name, on)| Gate::named(name).map(|gate| (gate, *on))).collect();
    Gates::default().with_all(known)
}
