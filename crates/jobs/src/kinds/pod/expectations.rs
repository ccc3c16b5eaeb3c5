//! What was done to pods and not seen yet.
//!
//! A look at a group that does not show what the last one did would do it again, to other pods. So whoever lets pods go
//! says so here, and the next look waits until the informer has shown it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use kueue_runtime::key::Key;

/// Pods, by identity, that were let go; per group.
#[derive(Debug, Default)]
pub struct Expectations(Mutex<BTreeMap<Key, BTreeSet<String>>>);

impl Expectations {
    /// A pod is about to be let go. Unless what it returns is [kept](Expected::keep), nothing is waited for.
    pub fn expect<'a>(&'a self, group: &'a Key, uid: &'a str) -> Expected<'a> {
        self.edit(|groups| {
            groups.entry(group.clone()).or_default().insert(uid.to_owned());
        });
        Expected { all: self, group, uid, is_kept: false }
    }

    pub fn observe(&self, group: &Key, uid: &str) {
        self.edit(|groups| {
            if let Some(expected) = groups.get_mut(group) {
                expected.remove(uid);
                if expected.is_empty() {
                    groups.remove(group);
                }
            }
        });
    }

    pub fn are_met(&self, group: &Key) -> bool {
        let groups = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        !groups.contains_key(group)
    }

    fn edit(&self, edit: impl FnOnce(&mut BTreeMap<Key, BTreeSet<String>>)) {
        edit(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// A pod that is being let go. A look may end at any moment, with the Lease: what nobody knows to be done is not waited
/// for, or its group would wait for ever.
#[derive(Debug)]
pub struct Expected<'a> {
    all: &'a Expectations,
    group: &'a Key,
    uid: &'a str,
    is_kept: bool,
}

impl Expected<'_> {
    /// It was let go; the informer will show that.
    pub fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for Expected<'_> {
    fn drop(&mut self) {
        if !self.is_kept {
            self.all.observe(self.group, self.uid);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_knows_to_be_done_is_not_waited_for() {
        let (all, group) = (Expectations::default(), Key::new("ns", "g"));
        let under_way = all.expect(&group, "1");
        assert!(!all.are_met(&group));
        drop(under_way);
        assert!(all.are_met(&group));
    }

    #[test]
    fn a_group_waits_until_each_of_its_pods_was_seen() {
        let (all, group, other) = (Expectations::default(), Key::new("ns", "g"), Key::new("ns", "h"));
        all.expect(&group, "1").keep();
        all.expect(&group, "2").keep();
        assert!(!all.are_met(&group) && all.are_met(&other));
        all.observe(&group, "1");
        all.observe(&other, "2");
        assert!(!all.are_met(&group));
        all.observe(&group, "2");
        assert!(all.are_met(&group));
    }
}
