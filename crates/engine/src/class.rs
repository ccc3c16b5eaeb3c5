//! Workloads that every queue would treat alike share a class.
//!
//! Two workloads are alike when their pod sets, the pods that still count, their priorities and the flavors they may
//! get are equal. What one attempt finds out about one of them holds for all.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::id::{ClassId, Name, Slab};
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

/// All classes with a living member, or about which something is remembered.
#[derive(Debug, Default)]
pub(crate) struct Classes {
    ids: FxHashMap<Arc<Likeness>, ClassId>,
    classes: Slab<ClassId, (Arc<Likeness>, usize)>,
}

impl Classes {
    /// The class of a workload that joins it; its pod sets are shared from now on.
    pub(crate) fn join(&mut self, likeness: Likeness) -> ClassId {
        if let Some(id) = self.ids.get(&likeness) {
            self.classes[*id].1 += 1;
            return *id;
        }
        let likeness = Arc::new(likeness);
        let id = self.classes.insert((likeness.clone(), 1));
        self.ids.insert(likeness, id);
        id
    }

    /// Somebody else remembers something about the class, and will [`leave`](Self::leave) it as a member does.
    pub(crate) fn keep(&mut self, id: ClassId) {
        self.classes[id].1 += 1;
    }

    /// A member left; a class without members is forgotten.
    pub(crate) fn leave(&mut self, id: ClassId) {
        let (likeness, members) = &mut self.classes[id];
        *members -= 1;
        if *members == 0 {
            self.ids.remove(likeness);
            self.classes.remove(id);
        }
    }

    pub(crate) fn pod_sets(&self, id: ClassId) -> &Arc<[PodSet]> {
        &self.classes[id].0.pod_sets
    }

    /// Panics unless each class has as many members as are counted, and no class is left over.
    pub(crate) fn check_invariants(&self, members: &FxHashMap<ClassId, usize>) {
        for id in self.classes.ids() {
            let (likeness, count) = &self.classes[id];
            assert_eq!(members.get(&id), Some(count), "a class knows who belongs to it");
            assert_eq!(self.ids.get(likeness), Some(&id), "a class is found by what its members have in common");
        }
        assert_eq!(self.ids.len(), self.classes.ids().count(), "nobody is in a class that is gone");
    }

    pub(crate) fn likeness(&self, id: ClassId) -> &Likeness {
        &self.classes[id].0
    }
}
