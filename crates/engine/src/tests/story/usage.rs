//! The lines about admission fair sharing.
//!
//! ```text
//! usage half=S every=S         (settings, before everything else)
//! local NAME queue=Q [weight=N] [used=CPUS]
//! move JOB to=LOCAL | sample
//! used LOCAL                   (tells what it used and owes)
//! ```

use std::collections::BTreeMap;

use kueue_core::duration::Duration;
use kueue_core::resource_list::ResourceList;

use super::Stage;
use crate::*;

/// Takes a line of settings; says whether it was one.
pub(super) fn choose(settings: &mut Settings, line: &str) -> bool {
    let Some(line) = line.strip_prefix("usage ") else { return false };
    let options: BTreeMap<&str, &str> = line.split_whitespace().filter_map(|word| word.split_once('=')).collect();
    let seconds = |key: &str| Duration::from_seconds(options[key].parse().unwrap());
    settings.admission_fair_sharing = Some(AdmissionFairSharing {
        half_life: seconds("half"),
        sampling_interval: seconds("every"),
        resource_weights: BTreeMap::new(),
    });
    true
}

impl Stage {
    /// Plays a line; says whether it was about usage.
    pub(super) fn play_usage(&mut self, verb: &str, name: &str, options: &BTreeMap<&str, &str>) -> bool {
        match verb {
            "local" => self.apply(Change::LocalQueue(LocalQueueSpec {
                namespace: "ns".into(),
                name: name.into(),
                queue: options["queue"].into(),
                weight: options.get("weight").map_or(1.0, |weight| weight.parse().unwrap()),
                consumed: options.get("used").map(|cpus| [("cpu".to_owned(), cpus.parse().unwrap())].into()),
                ..LocalQueueSpec::default()
            })),
            "move" => self.edit(name, |job| job.local_queue = options["to"].into()),
            "sample" => {
                let effects = self.engine.sample(self.now);
                self.tell(effects);
            }
            "used" => {
                let ledger = self.engine.ledger("ns", name).unwrap();
                let shown = |list: &ResourceList| list.get("cpu").map_or("0".to_owned(), ToString::to_string);
                self.told +=
                    &format!("  {name} used {} and owes {}\n", shown(ledger.consumed()), shown(ledger.penalty()));
            }
            _ => return false,
        }
        true
    }
}
