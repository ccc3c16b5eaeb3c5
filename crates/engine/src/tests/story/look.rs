//! The lines that read the engine's view.
//!
//! ```text
//! look QUEUE            (readiness, numbers, usage and order of a ClusterQueue)
//! path COHORT           (all cohorts from there to the root)
//! share NAME [F/R=N]... (of a ClusterQueue or else a cohort, as if it used that as well)
//! lose flavor F | lose check C | lose topology T | place F in T
//! ```

use kueue_core::amount::Amount;

use super::Stage;
use crate::*;

impl Stage {
    /// Plays a line; says whether it was one of these.
    pub(super) fn play_look(&mut self, verb: &str, words: &[&str]) -> bool {
        match (verb, words) {
            ("look", [queue]) => self.look(queue),
            ("path", [cohort]) => {
                let path = match self.engine.cohort_path(cohort) {
                    Ok(path) => path.join(" < "),
                    Err(CohortCycle) => "a circle".to_owned(),
                };
                self.told += &format!("{cohort}: {path}\n");
            }
            ("share", [name, added @ ..]) => self.share(name, added),
            ("lose", ["flavor", name]) => self.apply(Change::FlavorGone((*name).into())),
            ("lose", ["check", name]) => self.apply(Change::CheckGone((*name).into())),
            ("lose", ["topology", name]) => self.apply(Change::TopologyGone((*name).into())),
            ("place", [name, "in", topology]) => {
                let nodes = FlavorNodes { topology: Some((*topology).into()), ..FlavorNodes::default() };
                self.apply(Change::Flavor(FlavorSpec { name: (*name).into(), nodes }));
            }
            _ => return false,
        }
        true
    }

    fn share(&mut self, name: &str, added: &[&str]) {
        let amount = |word: &&str| {
            let (pool, amount) = word.split_once('=').unwrap();
            let (flavor, resource) = pool.split_once('/').unwrap();
            (flavor.into(), resource.into(), Amount::new(amount.parse().unwrap()))
        };
        let added: Vec<(Name, Name, Amount)> = added.iter().map(amount).collect();
        let share = self.engine.queue_share(name, &added).or_else(|| self.engine.cohort_share(name, &added)).unwrap();
        let borrowed: Vec<String> = share.borrowed.iter().map(|(flavor, of)| format!("{flavor}/{of}")).collect();
        let dominant = share.dominant.as_deref().unwrap_or("nothing");
        let (rounded, borrowed) = (share.rounded, borrowed.join(" "));
        self.told += &format!("  {name} has {share}, shown as {rounded}, for {dominant}; borrows [{borrowed}]\n");
    }

    fn look(&mut self, queue: &str) {
        let engine = &self.engine;
        let readiness = engine.readiness(queue);
        let mut told = format!("{queue}: {}: {}\n", readiness.reason, readiness.message);
        let (Some(count), Some(shapes), Some(usage)) =
            (engine.pending_count(queue), engine.pending_shapes(queue), engine.queue_usage(queue))
        else {
            self.told += &told;
            return;
        };
        let numbers = |count: PendingCount| format!("{} in line, {} aside", count.active, count.inadmissible);
        let asked: Vec<String> =
            engine.pending_requests(queue).iter().map(|(resource, amount)| format!("{resource} {amount}")).collect();
        told += &format!("  waiting: {}; shapes: {}; for {}\n", numbers(count), numbers(shapes), asked.join(", "));
        told += &format!("  holding: {} reserve, {} run;", usage.reserving, usage.admitted);
        for used in usage.flavors.iter().flat_map(|flavor| &flavor.resources) {
            told +=
                &format!(" {} {}/{} borrowed {}", used.resource, used.admitted, used.reserved, used.reserved_borrowed);
        }
        let order: Vec<String> = engine
            .positions(queue)
            .map(|at| format!("{} {}/{}", at.workload.name, at.in_cluster_queue, at.in_local_queue))
            .collect();
        told += &format!("\n  order: [{}]\n", order.join(", "));
        for why in engine.unadmitted(queue) {
            told += &format!("  not admitted: {} {} {}\n", why.count, why.reason, why.cause);
        }
        self.told += &told;
    }
}
