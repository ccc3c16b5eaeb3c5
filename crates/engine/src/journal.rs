//! Everything that was done to an engine, so that it can be done again.
//!
//! The same steps at the same times give the same effects, bit for bit: a journal reproduces any decision. As text it
//! is one JSON document per line, the settings first, so that whoever owns an engine can write it as it goes and
//! somebody else can play it later.

#[cfg(test)]
mod tests;

use kueue_core::time::Time;
use serde::{Deserialize, Serialize};

use crate::change::Change;
use crate::effect::Effect;
use crate::engine::Engine;
use crate::settings::Settings;

/// One call of the engine.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Call {
    /// Something became known.
    Apply(Change),
    /// Workloads took their steps.
    Settle,
    /// Quota was given out.
    Cycle,
    /// Parked workloads were offered again.
    Flush,
    /// Usage of LocalQueues was counted.
    Sample,
}

/// A call and its time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Step {
    /// When.
    pub at: Time,
    /// What.
    pub call: Call,
}

/// The life of one engine.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    /// What the engine was made with.
    pub settings: Settings,
    /// What was done to it, in order.
    pub steps: Vec<Step>,
}

/// Why a text is no journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// There is no first line.
    #[error("a journal starts with the settings")]
    NoSettings,
    /// A line cannot be read.
    #[error("line {line} of the journal cannot be read")]
    Line {
        /// Counted from 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

impl Engine {
    /// Takes one step. What the engine decides by it is returned as by the call itself; applying and flushing decide
    /// nothing.
    pub fn play(&mut self, step: Step) -> Vec<Effect> {
        match step.call {
            Call::Apply(change) => {
                self.apply(change, step.at);
                Vec::new()
            }
            Call::Settle => self.settle(step.at),
            Call::Cycle => self.cycle(step.at),
            Call::Sample => self.sample(step.at),
            Call::Flush => {
                self.flush(step.at);
                Vec::new()
            }
        }
    }
}

impl Journal {
    /// Does everything again with a new engine, and returns the effects of each step.
    pub fn replay(&self) -> Vec<Vec<Effect>> {
        let mut engine = Engine::new(self.settings.clone());
        self.steps.iter().map(|step| engine.play(step.clone())).collect()
    }

    /// One line per step, after one for the settings.
    pub fn to_text(&self) -> String {
        let mut text = Self::line(&self.settings);
        for step in &self.steps {
            text.push_str(&Self::line(step));
        }
        text
    }

    /// One line of a journal: the settings, or a step.
    pub fn line(value: &impl Serialize) -> String {
        let mut line = serde_json::to_string(value).expect("all of it can be written as JSON");
        line.push('\n');
        line
    }

    /// Reads what [`to_text`](Self::to_text) wrote.
    pub fn from_text(text: &str) -> Result<Self, JournalError> {
        let mut lines = text.lines().enumerate();
        let (_, first) = lines.next().ok_or(JournalError::NoSettings)?;
        let settings = read(0, first)?;
        let steps = lines.map(|(index, line)| read(index, line)).collect::<Result<_, _>>()?;
        Ok(Self { settings, steps })
    }
}

fn read<'a, T: Deserialize<'a>>(index: usize, line: &'a str) -> Result<T, JournalError> {
    serde_json::from_str(line).map_err(|source| JournalError::Line { line: index + 1, source })
}

/// Weights as text: JSON has no word for what is not a number, and a storm has.
pub(crate) mod weight {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(weight: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{weight:?}"))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|_| D::Error::custom(format!("{text:?} is no weight")))
    }
}
