//! Workloads that every queue would treat alike share a class.
//!
//! Two workloads are alike when their pod sets, the pods that still count, their priorities and the flavors they may
//! get are equal. What one attempt finds out about one of them holds for all.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::id::{ClassId, Name, ResourceId, Slab};
use crate::workload::PodSet;

/// What members of a class have in common.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Likeness {
    pub(crate) pod_sets: Arc<[PodSet]>,
    /// Pods per pod set that still need something.
    pub(crate) counts: Vec<i32>,
    pub(crate) priority: i64,
    /// The only flavors that are tried, if not all are.
    pub(crate) allowed_flavors: Option<Vec<Name>>,
}

impl Likeness {
    fn requests(&self) -> Arc<[(ResourceId, i64)]> {
        let mut sums: Vec<(ResourceId, i64)> = Vec::new();
        for (pod_set, count) in self.pod_sets.iter().zip(&self.counts) {
            for (resource, sum) in pod_set.total(*count).requests {
                match sums.iter_mut().find(|(known, _)| *known == resource) {
                    Some((_, known)) => *known = known.saturating_add(sum),
                    None => sums.push((resource, sum)),
                }
            }
        }
        sums.into()
    }
}

/// All classes with a living member, or about which something is remembered.
#[derive(Debug, Default)]
pub(crate) struct Classes {
    ids: FxHashMap<Arc<Likeness>, ClassId>,
    classes: Slab<ClassId, Class>,
    /// How many members take the place of a smaller slice, where there are any.
    slices: FxHashMap<ClassId, usize>,
}

#[derive(Debug)]
struct Class {
    likeness: Arc<Likeness>,
    /// What one member asks for, all its pods together.
    requests: Arc<[(ResourceId, i64)]>,
    members: usize,
}

impl Classes {
    /// The class of a workload that joins it; its pod sets are shared from now on.
    pub(crate) fn join(&mut self, likeness: Likeness) -> ClassId {
        if let Some(id) = self.ids.get(&likeness) {
            self.classes[*id].members += 1;
            return *id;
        }
        let likeness = Arc::new(likeness);
        let requests = likeness.requests();
        let id = self.classes.insert(Class { likeness: likeness.clone(), requests, members: 1 });
        self.ids.insert(likeness, id);
        id
    }

    /// A member takes the place of a smaller slice.
    pub(crate) fn add_slice(&mut self, id: ClassId) {
        *self.slices.entry(id).or_default() += 1;
    }

    /// Such a member leaves, or is an ordinary one from now on.
    pub(crate) fn remove_slice(&mut self, id: ClassId) {
        if let Some(count) = self.slices.get_mut(&id) {
            *count -= 1;
            if *count == 0 {
                self.slices.remove(&id);
            }
        }
    }

    pub(crate) fn has_slices(&self, id: ClassId) -> bool {
        self.slices.contains_key(&id)
    }

    /// Somebody else remembers something about the class, and will [`leave`](Self::leave) it as a member does.
    pub(crate) fn keep(&mut self, id: ClassId) {
        self.classes[id].members += 1;
    }

    /// A member left; a class without members is forgotten.
    pub(crate) fn leave(&mut self, id: ClassId) {
        let class = &mut self.classes[id];
        class.members -= 1;
        if class.members == 0 {
            self.ids.remove(&class.likeness);
            self.classes.remove(id);
        }
    }

    pub(crate) fn pod_sets(&self, id: ClassId) -> &Arc<[PodSet]> {
        &self.classes[id].likeness.pod_sets
    }

    pub(crate) fn requests(&self, id: ClassId) -> &Arc<[(ResourceId, i64)]> {
        &self.classes[id].requests
    }

    /// Panics unless each class has as many members as are counted, and no class is left over.
    pub(crate) fn check_invariants(&self, members: &FxHashMap<ClassId, usize>) {
        for id in self.classes.ids() {
            let class = &self.classes[id];
            assert_eq!(members.get(&id), Some(&class.members), "a class knows who belongs to it");
            assert_eq!(self.ids.get(&class.likeness), Some(&id), "a class is found by what its members have in common");
        }
        assert_eq!(self.ids.len(), self.classes.ids().count(), "nobody is in a class that is gone");
    }

    pub(crate) fn likeness(&self, id: ClassId) -> &Likeness {
        &self.classes[id].likeness
    }
}
