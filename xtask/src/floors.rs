//! `floors.toml`: how many cases must pass, per corpus package and data family. It only ever rises.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::program::root;

const FILE: &str = "floors.toml";

/// Name of a package or family, and how many of its cases must pass.
pub type Table = BTreeMap<String, usize>;

/// What passes today and must pass tomorrow.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Floors {
    pub corpus: Table,
    pub scenarios: Table,
    pub exchanges: Table,
}

impl Floors {
    pub fn read() -> Result<Self> {
        let path = root().join(FILE);
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {FILE}"))?;
        toml::from_str(&text).with_context(|| format!("{FILE} is not as expected"))
    }

    pub fn write(&self) -> Result<()> {
        let mut text = String::from(
            "# How many cases pass, and so must pass: `--raise-floors` of `cargo xtask conformance`, `scenarios`, `exchanges` writes this.\n",
        );
        for (section, table) in
            [("corpus", &self.corpus), ("scenarios", &self.scenarios), ("exchanges", &self.exchanges)]
        {
            writeln!(text, "\n[{section}]")?;
            for (name, count) in table {
                writeln!(text, "{name} = {count}")?;
            }
        }
        std::fs::write(root().join(FILE), text).with_context(|| format!("cannot write {FILE}"))
    }
}

/// Every name that fell below its floor, as sentences.
pub fn below(floors: &Table, passed: &Table) -> Vec<String> {
    let count = |name: &String| passed.get(name).copied().unwrap_or_default();
    floors
        .iter()
        .filter(|(name, floor)| count(name) < **floor)
        .map(|(name, floor)| format!("{name}: {} pass, the floor is {floor}", count(name)))
        .collect()
}

/// The floors, lifted to what passes now.
pub fn raised(floors: &Table, passed: &Table) -> Table {
    let mut raised = floors.clone();
    for (name, count) in passed.iter().filter(|(_, count)| **count > 0) {
        let floor = raised.entry(name.clone()).or_default();
        *floor = (*floor).max(*count);
    }
    raised
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(entries: &[(&str, usize)]) -> Table {
        entries.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    }

    #[test]
    fn a_package_below_its_floor_is_named_with_both_numbers() {
        let below = below(&table(&[("a", 3), ("b", 2), ("gone", 1)]), &table(&[("a", 3), ("b", 1)]));
        assert_eq!(below, ["b: 1 pass, the floor is 2", "gone: 0 pass, the floor is 1"]);
    }

    #[test]
    fn floors_rise_and_never_fall() {
        let raised = raised(&table(&[("a", 3), ("b", 2)]), &table(&[("a", 1), ("b", 5), ("c", 1), ("none", 0)]));
        assert_eq!(raised, table(&[("a", 3), ("b", 5), ("c", 1)]));
    }
}
