//! Feature gates: which of Kueue's optional behaviours are on.
//!
//! [`Gates`] is a small value, decided once at start and passed to whoever asks; there is no global. What exists, since
//! when, and what needs what is one table (`gates/table.rs`); what the administrator set is read in `gates/settings.rs`.

use std::fmt;

mod settings;
mod table;
mod wire;

pub use settings::{Error, Errors, parse_flag};
pub use table::Gate;

use table::{ROWS, Row};

/// A release, as gates count them: `0.20`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    pub major: u16,
    pub minor: u16,
}

/// How far a gate has come, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    Alpha,
    Beta,
    /// Always as it is; the gate will be removed.
    Ga,
    Deprecated,
}

/// What a gate is from a version on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub since: Version,
    pub stage: Stage,
    pub default: bool,
    /// Setting it to anything but the default is refused.
    pub is_locked: bool,
}

/// Which gates are on: one bit each.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Gates(u128);

// One bit per gate.
const _: () = assert!(Gate::ALL.len() <= u128::BITS as usize);

impl Version {
    /// The release whose behaviour ours is.
    pub const CURRENT: Self = Self { major: 0, minor: 20 };

    /// Reads `major.minor`.
    pub const fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let (mut numbers, mut dots, mut digits, mut at) = ([0_u16; 2], 0, 0, 0);
        while at < bytes.len() {
            match bytes[at] {
                b'.' if dots == 0 && digits > 0 => (dots, digits) = (1, 0),
                digit @ b'0'..=b'9' if digits < 4 => {
                    numbers[dots] = numbers[dots] * 10 + (digit - b'0') as u16;
                    digits += 1;
                }
                _ => return None,
            }
            at += 1;
        }
        if dots == 1 && digits > 0 { Some(Self { major: numbers[0], minor: numbers[1] }) } else { None }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl Stage {
    /// As the documentation writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Alpha => "Alpha",
            Self::Beta => "Beta",
            Self::Ga => "GA",
            Self::Deprecated => "Deprecated",
        }
    }
}

impl Gate {
    /// The gate of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|gate| gate.name() == name)
    }

    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// What it switches, in a sentence.
    pub fn doc(self) -> &'static str {
        self.row().doc.trim_start()
    }

    /// Its steps from the first version on, at least one.
    pub fn history(self) -> &'static [Step] {
        self.row().history
    }

    /// What it is at a version; `None` before it was introduced.
    pub fn at(self, version: Version) -> Option<Step> {
        self.history().iter().rev().find(|step| step.since <= version).copied()
    }

    /// The gates without which it may not be on, in alphabetical order.
    pub fn depends_on(self) -> &'static [Self] {
        self.row().depends_on
    }

    /// Whether no code of ours asks for it yet, so that setting it has no effect.
    pub fn is_unread(self) -> bool {
        self.row().is_unread
    }

    fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    fn bit(self) -> u128 {
        1 << self as u32
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Gates {
    /// The defaults of a version. A gate introduced later is off.
    pub fn for_version(version: Version) -> Self {
        let is_on = |gate: Gate| gate.at(version).is_some_and(|step| step.default);
        Gate::ALL.iter().fold(Self(0), |gates, gate| gates.set(*gate, is_on(*gate)))
    }

    pub const fn enabled(self, gate: Gate) -> bool {
        self.0 & 1 << gate as u32 != 0
    }

    /// Switches one gate for a test or a simulation, see [`Gates::with_all`].
    #[must_use]
    pub fn with(self, gate: Gate, on: bool) -> Self {
        self.with_all([(gate, on)])
    }

    /// Switches gates together with what hangs on them: enabling one enables what it needs, disabling one disables what
    /// needs it, and what is named wins over both. Locks are not looked at; an administrator's settings go through
    /// [`Gates::from_settings`].
    #[must_use]
    pub fn with_all(self, switches: impl IntoIterator<Item = (Gate, bool)> + Clone) -> Self {
        let mut gates = self;
        for (gate, _) in switches.clone().into_iter().filter(|(_, on)| !on) {
            gates = gates.without_dependents(gate);
        }
        for (gate, _) in switches.clone().into_iter().filter(|(_, on)| *on) {
            gates = gates.with_prerequisites(gate);
        }
        switches.into_iter().fold(gates, |gates, (gate, on)| gates.set(gate, on))
    }

    fn set(self, gate: Gate, on: bool) -> Self {
        if on { Self(self.0 | gate.bit()) } else { Self(self.0 & !gate.bit()) }
    }

    fn with_prerequisites(self, gate: Gate) -> Self {
        gate.depends_on().iter().fold(self.set(gate, true), |gates, needed| gates.with_prerequisites(*needed))
    }

    fn without_dependents(self, gate: Gate) -> Self {
        let dependents = Gate::ALL.iter().filter(|other| other.depends_on().contains(&gate));
        dependents.fold(self.set(gate, false), |gates, dependent| gates.without_dependents(*dependent))
    }
}

impl Default for Gates {
    fn default() -> Self {
        Self::for_version(Version::CURRENT)
    }
}

/// Shows what differs from the defaults.
impl fmt::Debug for Gates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let defaults = Self::default();
        let changed = Gate::ALL.iter().filter(|gate| self.enabled(**gate) != defaults.enabled(**gate));
        f.debug_map().entries(changed.map(|gate| (gate, self.enabled(*gate)))).finish()
    }
}

#[cfg(test)]
mod tests;
