//! The job that a job belongs to: the top-most owner that is managed, found by following who controls whom.
//!
//! Owners have to be read one after the other, so the search is a value that says whom it wants to see next.

use kueue_api::meta::{ObjectMeta, OwnerReference};

use crate::integrations::Integrations;
use crate::workload::queue_name;

/// So many owners above each other are followed.
const LONGEST_CHAIN: usize = 10;

/// A managed owner.
#[derive(Clone, PartialEq, Debug)]
pub struct Ancestor {
    pub owner: OwnerReference,
    pub metadata: ObjectMeta,
}

/// Why nobody can say whom a job belongs to.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Lost {
    #[error("cyclic ownership")]
    Cyclic,
    #[error("managed owner chain limit reached")]
    TooDeep,
    #[error("workload owner not found: {kind} {name:?}")]
    OwnerNotFound { kind: String, name: String },
}

impl Lost {
    /// What is told about a job with too many owners.
    pub fn too_deep_message() -> String {
        format!("Terminated search for Kueue-managed Job because ancestor depth exceeded limit of {LONGEST_CHAIN}")
    }
}

/// A search that is under way.
#[derive(Debug)]
pub struct Search<'a> {
    integrations: &'a Integrations,
    /// Owners that name no queue count as well.
    counts_unqueued: bool,
    seen: Vec<String>,
    current: ObjectMeta,
    top: Option<Ancestor>,
    is_over: bool,
}

impl<'a> Search<'a> {
    pub fn of(job: &ObjectMeta, integrations: &'a Integrations, counts_unqueued: bool) -> Self {
        let current = job.clone();
        Self { integrations, counts_unqueued, seen: Vec::new(), current, top: None, is_over: false }
    }

    /// The owner whose metadata the search wants to see next; none when it is over.
    pub fn wants(&self) -> Result<Option<OwnerReference>, Lost> {
        if self.is_over {
            return Ok(None);
        }
        if self.seen.len() > LONGEST_CHAIN {
            return Err(Lost::TooDeep);
        }
        if self.seen.contains(&self.current.uid) {
            return Err(Lost::Cyclic);
        }
        let controller = self.current.owner_references.iter().find(|owner| owner.controller == Some(true));
        Ok(controller.filter(|owner| self.integrations.knows(owner)).cloned())
    }

    /// The owner that was asked for, if it exists.
    pub fn tell(&mut self, owner: &OwnerReference, found: Option<ObjectMeta>) -> Result<(), Lost> {
        let Some(metadata) = found else {
            return Err(Lost::OwnerNotFound { kind: owner.kind.clone(), name: owner.name.clone() });
        };
        // Another object of the same name: the real owner is gone.
        if metadata.uid != owner.uid {
            self.is_over = true;
            return Ok(());
        }
        if self.integrations.manages(owner) && (self.counts_unqueued || !queue_name(&metadata).is_empty()) {
            self.top = Some(Ancestor { owner: owner.clone(), metadata: metadata.clone() });
        }
        self.seen.push(std::mem::replace(&mut self.current, metadata).uid);
        Ok(())
    }

    /// The ancestor, once the search is over.
    pub fn found(self) -> Option<Ancestor> {
        self.top
    }

    /// The whole search, where owners are at hand.
    pub fn run(mut self, read: impl Fn(&OwnerReference) -> Option<ObjectMeta>) -> Result<Option<Ancestor>, Lost> {
        while let Some(owner) = self.wants()? {
            self.tell(&owner, read(&owner))?;
        }
        Ok(self.found())
    }
}

#[cfg(test)]
mod tests {
    use kueue_api::kueue::names::label;

    use super::*;

    fn owner(kind: &str, name: &str) -> OwnerReference {
        let api_version = if kind == "ReplicaSet" { "apps/v1" } else { "batch/v1" };
        OwnerReference {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            name: name.to_owned(),
            uid: name.to_owned(),
            controller: Some(true),
            ..OwnerReference::default()
        }
    }

    /// `name<owner`, `!` behind a name that has a queue.
    fn objects(text: &str) -> Vec<ObjectMeta> {
        let object = |word: &str| {
            let (name, above) = word.split_once('<').unwrap_or((word, ""));
            let mut meta = ObjectMeta {
                name: name.trim_end_matches('!').to_owned(),
                uid: name.trim_end_matches('!').to_owned(),
                ..ObjectMeta::default()
            };
            if name.ends_with('!') {
                meta.labels.insert(label::QUEUE_NAME.to_owned(), "q".to_owned());
            }
            let kind = if above.starts_with("cron") { "CronJob" } else { "Job" };
            meta.owner_references.extend((!above.is_empty()).then(|| owner(kind, above)));
            meta
        };
        text.split_whitespace().map(object).collect()
    }

    fn check(text: &str, counts_unqueued: bool, expected: &str) {
        let objects = objects(text);
        let integrations = Integrations::configured(["batch/job"], []);
        let search = Search::of(&objects[0], &integrations, counts_unqueued);
        let found = search.run(|owner| objects.iter().find(|meta| meta.name == owner.name).cloned());
        let shown = match found {
            Ok(None) => "none".to_owned(),
            Ok(Some(ancestor)) => ancestor.metadata.name,
            Err(lost) => lost.to_string(),
        };
        assert_eq!(shown, expected, "{text}");
    }

    #[test]
    fn the_top_most_managed_owner_counts() {
        check("j", false, "none");
        check("j<p p!", false, "p");
        check("j<p p", false, "none");
        check("j<p p", true, "p");
        check("j<p p!<g g!", false, "g");
        check("j<p p!<g g", false, "p");
        check("j<cron cron!", false, "none");
        check("j<p", false, "workload owner not found: Job \"p\"");
        check("j<p p<j", false, "cyclic ownership");
    }

    #[test]
    fn a_chain_that_is_too_long_is_not_followed() {
        let chain: Vec<String> = (0..13).map(|index| format!("j{index}<j{}", index + 1)).collect();
        check(&chain.join(" "), false, "managed owner chain limit reached");
    }

    #[test]
    fn an_owner_of_another_identity_is_no_owner() {
        let (job, integrations) = (objects("j<p"), Integrations::configured(["batch/job"], []));
        let other = ObjectMeta { uid: "other".to_owned(), ..objects("p!").remove(0) };
        assert_eq!(Search::of(&job[0], &integrations, true).run(|_| Some(other.clone())), Ok(None));
    }
}
