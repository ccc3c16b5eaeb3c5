//! What is fuzzed: each target has good samples to damage and a rule that every input must keep.

mod configuration;
mod kinds;
mod requests;
mod storm;
mod topology;

use std::fmt::{Debug, Display};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use kueue_core::duration::Duration;
use kueue_core::quantity::Quantity;
use kueue_core::selector::{FieldSelector, Selector};
use kueue_core::time::{MicroTime, Time};
use kueue_core::{gates, label, name};
use serde_json::Value;

use crate::mutate;
use kueue_storm::Random;

/// A parser under test.
pub struct Target {
    pub name: &'static str,
    samples: Samples,
    /// The rule: `Err` says how the input broke it. A refusal of bad input is no error.
    pub check: fn(&str) -> Result<(), String>,
    /// Tells more about an input that broke the rule, if there is more to tell than the input.
    pub explain: Option<fn(&str) -> String>,
}

/// What inputs are made from.
enum Samples {
    Texts(&'static [&'static str]),
    Documents(Vec<Value>),
    /// No sample: the input is a number that the target makes everything from.
    Numbers,
}

/// All documents of the YAML files in a folder.
fn documents(folder: &Path) -> Vec<Value> {
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("cannot list {}: {error}", folder.display()))
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .collect();
    files.sort();
    let parse = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        serde_saphyr::from_multiple::<Value>(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    files.iter().flat_map(parse).collect()
}

impl Target {
    /// The input of one round.
    pub fn input(&self, random: &mut Random) -> String {
        match &self.samples {
            Samples::Numbers => random.word().to_string(),
            Samples::Texts(texts) => {
                let text = *random.pick(texts);
                mutate::text(random, text)
            }
            Samples::Documents(documents) => {
                let document = random.pick(documents).clone();
                let document = mutate::json(random, &document).to_string();
                // Now and then break the notation too, not only the structure.
                if random.below(8) == 0 { mutate::text(random, &document) } else { document }
            }
        }
    }
}

/// Every target, the small grammars first.
pub fn all() -> Vec<Target> {
    let text = |name, samples, check| Target { name, samples: Samples::Texts(samples), check, explain: None };
    vec![
        text(
            "quantity",
            &["100m", "1.5Gi", "12e6", "-0.5", "9223372036854775807", "1000000000Gi", "0.000000001"],
            quantity,
        ),
        text("duration", &["1h30m0.5s", "-15ms", "1.5h", "300us", "0"], reprints::<Duration>),
        text("time", &["2026-11-16T01:02:03Z", "2026-11-16T01:02:03.123456+02:00"], |input| {
            reprints::<Time>(input)?;
            reprints::<MicroTime>(input)
        }),
        text("names-and-labels", &["a-b.example.com", "example.com/Some_name.1", "a", "x/y"], |input| {
            let _ = (name::dns1123_label(input), name::dns1123_subdomain(input), name::dns1035_label(input));
            let _ = (label::qualified_name(input), label::value(input));
            Ok(())
        }),
        text("feature-gates", &["AllAlpha=true,MultiKueue=false", "PartialAdmission=1"], |input| {
            if let Ok(settings) = gates::parse_flag(input) {
                let _ = gates::Gates::from_settings(gates::Version::CURRENT, &settings);
            }
            Ok(())
        }),
        text("label-query", &["a in (b,c), d!=e, !f, g, x>5", "example.com/a=b,c notin (d)"], reprints::<Selector>),
        text("field-query", &["metadata.name=a,status.phase!=Running", "a=b\\,c"], reprints::<FieldSelector>),
        configuration::target(),
        kinds::target(),
        topology::target(),
        requests::target(),
        storm::target(),
    ]
}

fn quantity(input: &str) -> Result<(), String> {
    reprints::<Quantity>(input)?;
    if let Ok(quantity) = Quantity::from_str(input) {
        let _ = (quantity.value(), quantity.milli_value(), quantity.as_f64(), &(-&quantity) + &quantity);
    }
    Ok(())
}

/// What is accepted prints back to something equal, and the print is stable.
fn reprints<T: FromStr + Display + PartialEq + Debug>(input: &str) -> Result<(), String> {
    let Ok(value) = T::from_str(input) else { return Ok(()) };
    let printed = value.to_string();
    match T::from_str(&printed) {
        Ok(again) if again == value && again.to_string() == printed => Ok(()),
        Ok(again) => Err(format!("{input:?} is {value:?}, prints {printed:?}, which reads as {again:?}")),
        Err(_) => Err(format!("{input:?} prints {printed:?}, which is refused")),
    }
}
