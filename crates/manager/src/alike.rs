//! Workloads in as little room as they need: there are many, and most have pods like those of others and get what others
//! get.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Weak};

use kueue_api::core_v1::PodTemplateSpec;
use kueue_api::kueue::v1beta2::{Admission, Workload};
use serde::Serialize;

/// So many parts are always kept in mind before those that nobody has any more are looked for.
const ROOM: usize = 256;

/// Parts that many Workloads have.
#[derive(Debug, Default)]
pub(crate) struct Alike {
    templates: Parts<PodTemplateSpec>,
    admissions: Parts<Admission>,
}

impl Alike {
    /// A Workload that shares what it can with others, and takes no more room than it needs: what was just read has room
    /// for more of everything.
    pub(crate) fn compact(&mut self, object: &Workload, last: Option<&Workload>) -> Workload {
        let mut object = object.clone();
        // Pod sets are the same as long as the generation is, where there is one.
        let generation = object.metadata.generation;
        let last = last.filter(|last| generation != 0 && last.metadata.generation == generation);
        let last = last.filter(|last| last.spec.pod_sets.len() == object.spec.pod_sets.len());
        for (place, pod_set) in object.spec.pod_sets.iter_mut().enumerate() {
            pod_set.template = match last {
                Some(last) => Arc::clone(&last.spec.pod_sets[place].template),
                None => self.templates.shared(&pod_set.template),
            };
        }
        if let Some(admission) = &mut object.status.admission {
            *admission = self.admissions.shared(admission);
        }
        object
    }
}

/// Parts of objects, each once.
#[derive(Debug)]
struct Parts<T> {
    /// By what they look like in JSON.
    known: HashMap<u64, Weak<T>>,
    hashes: RandomState,
    /// With more parts than this, some may have gone.
    room: usize,
}

impl<T> Default for Parts<T> {
    fn default() -> Self {
        Self { known: HashMap::new(), hashes: RandomState::new(), room: ROOM }
    }
}

impl<T: Serialize> Parts<T> {
    /// The same part as somebody else has it.
    fn shared(&mut self, part: &Arc<T>) -> Arc<T> {
        // Parts that count as equal may still be written differently.
        let text = |part: &T| serde_json::to_vec(part).unwrap_or_default();
        let own = text(part);
        let hash = self.hashes.hash_one(&own);
        let known = self.known.get(&hash).and_then(Weak::upgrade);
        if let Some(known) = known.filter(|known| text(known) == own) {
            return known;
        }
        self.known.insert(hash, Arc::downgrade(part));
        if self.known.len() > self.room {
            self.known.retain(|_, part| part.strong_count() > 0);
            self.room = ROOM.max(2 * self.known.len());
        }
        Arc::clone(part)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn workload(generation: i64, template: &Value, queue: &str) -> Workload {
        let pod_sets = json!([{"name": "main", "count": 1, "template": template}]);
        let metadata = json!({"name": "w", "generation": generation});
        let admission = json!({"clusterQueue": queue, "podSetAssignments": []});
        let object = json!({"metadata": metadata, "spec": {"podSets": pod_sets}, "status": {"admission": admission}});
        serde_json::from_value(object).unwrap()
    }

    fn have_one_template(a: &Workload, b: &Workload) -> bool {
        Arc::ptr_eq(&a.spec.pod_sets[0].template, &b.spec.pod_sets[0].template)
    }

    #[test]
    fn workloads_keep_once_what_they_have_in_common() {
        let mut alike = Alike::default();
        let mut compact = |template: &Value, queue| alike.compact(&workload(1, template, queue), None);
        let pods = |priority: i32| json!({"spec": {"priority": priority, "containers": []}});
        let (first, second, other) = (compact(&pods(1), "a"), compact(&pods(1), "a"), compact(&pods(2), "b"));
        assert!(have_one_template(&first, &second) && !have_one_template(&first, &other));
        let admission = |workload: &Workload| Arc::as_ptr(workload.status.admission.as_ref().unwrap());
        assert_eq!(admission(&first), admission(&second));
        assert_ne!(admission(&first), admission(&other));
        let bare = compact(&json!({"spec": {"priority": 1}}), "a");
        assert!(!have_one_template(&first, &bare), "equal, and written differently");
    }

    #[test]
    fn versions_of_a_workload_keep_one_template_until_its_spec_changes() {
        let mut alike = Alike::default();
        let (old, new) = (json!({"spec": {"priority": 1}}), json!({"spec": {"priority": 2}}));
        let first = alike.compact(&workload(1, &old, "a"), None);
        assert!(have_one_template(&first, &alike.compact(&workload(1, &old, "a"), Some(&first))));
        let changed = alike.compact(&workload(2, &new, "a"), Some(&first));
        assert_eq!(changed.spec.pod_sets[0].template.spec.priority, Some(2));
    }

    #[test]
    fn what_nobody_has_is_forgotten() {
        let mut alike = Alike::default();
        for priority in 0..10 * ROOM {
            drop(alike.compact(&workload(1, &json!({"spec": {"priority": priority}}), "a"), None));
        }
        assert!(alike.templates.known.len() <= ROOM);
    }
}
