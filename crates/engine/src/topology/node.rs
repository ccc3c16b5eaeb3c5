//! A node as it is kept: thousands of them have the same labels and resources, so names are shared.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::NodeSpec;
use crate::id::Name;
use crate::placement::Taint;
use kueue_core::time::Time;

/// What is known of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Node {
    pub(crate) name: Name,
    pub(crate) labels: Labels,
    pub(crate) taints: Box<[Taint]>,
    /// What pods can be given, by column.
    pub(super) allocatable: Box<[i64]>,
    pub(crate) ready: Option<bool>,
    pub(crate) ready_since: Time,
    is_cordoned: bool,
}

/// Labels of a node. Nodes of a kind have the same keys, which are kept once for all of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Labels {
    /// In order.
    keys: Arc<[Name]>,
    /// In the order of the keys.
    values: Box<[Name]>,
}

/// Names of which one copy is enough.
#[derive(Debug, Default)]
pub(super) struct SharedNames {
    known: FxHashSet<Name>,
    /// The keys that labels of some node have, together.
    keys: FxHashSet<Arc<[Name]>>,
    /// When there are so many, those that nobody has any more are dropped.
    most: usize,
}

impl Labels {
    pub(crate) fn get(&self, key: &str) -> Option<&Name> {
        let slot = self.keys.binary_search_by(|known| (**known).cmp(key)).ok()?;
        Some(&self.values[slot])
    }
}

impl Node {
    pub(super) fn new(spec: NodeSpec, allocatable: Vec<i64>, names: &mut SharedNames) -> Self {
        let (keys, values): (Vec<Name>, Vec<Name>) = spec.labels.into_iter().unzip();
        let values = values.into_iter().map(|value| names.share(value)).collect();
        let labels = Labels { keys: names.share_keys(keys), values };
        Self {
            labels,
            name: names.share(spec.name),
            taints: spec.taints.into(),
            allocatable: allocatable.into(),
            ready: spec.ready,
            ready_since: spec.ready_since,
            is_cordoned: spec.is_cordoned,
        }
    }

    /// Whether pods can be sent there.
    pub(super) fn is_usable(&self) -> bool {
        self.ready == Some(true) && !self.is_cordoned
    }
}

impl SharedNames {
    fn share_keys(&mut self, keys: Vec<Name>) -> Arc<[Name]> {
        if let Some(known) = self.keys.get(&keys[..]) {
            return known.clone();
        }
        // Clusters have few kinds of nodes; where each has labels of its own, only those in use are kept.
        if self.keys.len() > self.most {
            self.keys.retain(|known| Arc::strong_count(known) > 1);
        }
        let keys: Arc<[Name]> = keys.into_iter().map(|key| self.share(key)).collect();
        self.keys.insert(keys.clone());
        keys
    }

    fn share(&mut self, name: Name) -> Name {
        if let Some(known) = self.known.get(&name) {
            return known.clone();
        }
        if self.known.len() > self.most {
            self.known.retain(|known| Name::strong_count(known) > 1);
            self.most = 2 * self.known.len() + 1024;
        }
        self.known.insert(name.clone());
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_kept_once_and_only_while_somebody_has_it() {
        let mut names = SharedNames::default();
        let kept = names.share("kept".into());
        assert!(Name::ptr_eq(&kept, &names.share("kept".into())));
        for number in 0..5000 {
            names.share(number.to_string().into());
        }
        assert!(names.known.len() < 3000, "{}", names.known.len());
        assert!(Name::ptr_eq(&kept, &names.share("kept".into())));
    }
}
