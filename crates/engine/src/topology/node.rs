//! A node as it is kept: thousands of them have the same labels and resources, so names are shared.

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

/// Labels of a node, by key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Labels(Box<[(Name, Name)]>);

/// Names of which one copy is enough.
#[derive(Debug, Default)]
pub(super) struct SharedNames {
    known: FxHashSet<Name>,
    /// When there are so many, those that nobody has any more are dropped.
    most: usize,
}

impl Labels {
    pub(crate) fn get(&self, key: &str) -> Option<&Name> {
        let slot = self.0.binary_search_by(|(known, _)| (**known).cmp(key)).ok()?;
        Some(&self.0[slot].1)
    }
}

impl Node {
    pub(super) fn new(spec: NodeSpec, allocatable: Vec<i64>, names: &mut SharedNames) -> Self {
        let mut label = |(key, value): (Name, Name)| (names.share(key), names.share(value));
        let labels = Labels(spec.labels.into_iter().map(&mut label).collect());
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
