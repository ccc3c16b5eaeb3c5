//! What the administrator set: `--feature-gates=A=true,B=false`, or the same as a map in the configuration file.
//!
//! `AllAlpha` and `AllBeta` switch every gate of that stage which is not named itself. Refusals are worded as Kubernetes
//! components word them, and all are reported at once.

use std::collections::BTreeMap;
use std::fmt;

use super::{Gate, Gates, Stage, Version};
use crate::quote::quoted;

/// The names that stand for every gate of a stage.
const GROUPS: [(&str, Stage); 2] = [("AllAlpha", Stage::Alpha), ("AllBeta", Stage::Beta)];

/// One thing wrong with the settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// `A` instead of `A=true`.
    MissingValue {
        name: String,
    },
    /// `A=maybe`.
    InvalidValue {
        name: String,
        value: String,
    },
    Unrecognized {
        name: String,
    },
    Locked {
        gate: Gate,
        locked_to: bool,
    },
    /// The gate was introduced after the version that is emulated.
    NotYetIntroduced {
        gate: Gate,
        value: bool,
        version: Version,
    },
    MissingPrerequisites {
        gate: Gate,
        disabled: Vec<Gate>,
    },
}

/// Everything wrong with the settings; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errors(pub Vec<Error>);

/// Reads the value of the flag. Of a name that occurs twice the last value counts.
pub fn parse_flag(text: &str) -> Result<BTreeMap<String, bool>, Errors> {
    let mut settings = BTreeMap::new();
    let mut errors = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (name, value) = match part.split_once('=') {
            Some((name, value)) => (name.trim(), value.trim()),
            None => {
                errors.push(Error::MissingValue { name: part.trim().to_owned() });
                continue;
            }
        };
        match parse_bool(value) {
            Some(on) => _ = settings.insert(name.to_owned(), on),
            None => errors.push(Error::InvalidValue { name: name.to_owned(), value: value.to_owned() }),
        }
    }
    if errors.is_empty() { Ok(settings) } else { Err(Errors(errors)) }
}

impl Gates {
    /// The defaults of a version with the settings applied, or everything that is wrong with them.
    pub fn from_settings(version: Version, settings: &BTreeMap<String, bool>) -> Result<Self, Errors> {
        let mut gates = Self::for_version(version);
        for (group, stage) in GROUPS {
            if let Some(on) = settings.get(group) {
                let members = Gate::ALL.iter().filter(|gate| gate.at(version).is_some_and(|step| step.stage == stage));
                gates = members.fold(gates, |gates, gate| gates.set(*gate, *on));
            }
        }
        let mut errors = Vec::new();
        for (name, on) in settings.iter().filter(|(name, _)| GROUPS.iter().all(|(group, _)| group != name)) {
            match check(version, name, *on) {
                Ok(gate) => gates = gates.set(gate, *on),
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() {
            errors = gates.missing_prerequisites();
        }
        if errors.is_empty() { Ok(gates) } else { Err(Errors(errors)) }
    }

    fn missing_prerequisites(self) -> Vec<Error> {
        let enabled = Gate::ALL.iter().copied().filter(|gate| self.enabled(*gate));
        let disabled_of = |gate: Gate| -> Vec<Gate> {
            gate.depends_on().iter().copied().filter(|needed| !self.enabled(*needed)).collect()
        };
        enabled
            .map(|gate| (gate, disabled_of(gate)))
            .filter(|(_, disabled)| !disabled.is_empty())
            .map(|(gate, disabled)| Error::MissingPrerequisites { gate, disabled })
            .collect()
    }
}

/// Whether a gate of that name may be set to that value.
fn check(version: Version, name: &str, on: bool) -> Result<Gate, Error> {
    let gate = Gate::named(name).ok_or_else(|| Error::Unrecognized { name: name.to_owned() })?;
    let step = gate.at(version).ok_or(Error::NotYetIntroduced { gate, value: on, version })?;
    if step.is_locked && step.default != on {
        return Err(Error::Locked { gate, locked_to: step.default });
    }
    Ok(gate)
}

/// The spellings Go has for truth.
fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingValue { name } => write!(f, "missing bool value for {name}"),
            Self::InvalidValue { name, value } => {
                let why = format!("strconv.ParseBool: parsing {}: invalid syntax", quoted(value));
                write!(f, "invalid value of {name}={value}, err: {why}")
            }
            Self::Unrecognized { name } => write!(f, "unrecognized feature gate: {name}"),
            Self::Locked { gate, locked_to } => {
                write!(f, "cannot set feature gate {gate} to {}, feature is locked to {locked_to}", !locked_to)
            }
            Self::NotYetIntroduced { gate, value, version } => {
                let before = Version { minor: version.minor.saturating_sub(1), ..*version };
                let when = format!("at emulated version {version}, min compatibility version {before}");
                write!(f, "cannot set feature gate {gate} to {value}, feature is PreAlpha {when}")
            }
            Self::MissingPrerequisites { gate, disabled } => {
                let names: Vec<&str> = disabled.iter().map(|gate| gate.name()).collect();
                write!(f, "{gate} is enabled, but depends on features that are disabled: [{}]", names.join(" "))
            }
        }
    }
}

impl std::error::Error for Error {}

/// Bare for one, bracketed for several.
impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0[..] {
            [only] => write!(f, "{only}"),
            several => {
                let texts: Vec<String> = several.iter().map(ToString::to_string).collect();
                write!(f, "[{}]", texts.join(", "))
            }
        }
    }
}

impl std::error::Error for Errors {}
