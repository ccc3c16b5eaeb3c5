//! Resource lists as they stand in objects: name to quantity.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::quantity::Quantity;

/// Requests, limits, quotas or capacities by resource name.
pub type ResourceList = BTreeMap<String, Quantity>;

/// What becomes of a resource that is in both lists of a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    First,
    Larger,
    Smaller,
    Sum,
}

/// Adds the resources of `other` to `list`.
pub fn merge(list: &mut ResourceList, other: &ResourceList, keep: Keep) {
    for (name, quantity) in other {
        match list.entry(name.clone()) {
            Entry::Vacant(vacant) => {
                vacant.insert(quantity.clone());
            }
            Entry::Occupied(mut occupied) => {
                let own = occupied.get_mut();
                match keep {
                    Keep::Larger if *own < *quantity => *own = quantity.clone(),
                    Keep::Smaller if *own > *quantity => *own = quantity.clone(),
                    Keep::First | Keep::Larger | Keep::Smaller => {}
                    Keep::Sum => *own += quantity,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> ResourceList {
        let pairs = text.split_whitespace().map(|pair| pair.split_once('=').unwrap());
        pairs.map(|(name, quantity)| (name.to_owned(), quantity.parse().unwrap())).collect()
    }

    fn merged(a: &str, b: &str, keep: Keep) -> String {
        let mut merged = list(a);
        merge(&mut merged, &list(b), keep);
        merged.iter().map(|(name, quantity)| format!("{name}={quantity}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn resources_in_both_lists_are_resolved_as_asked() {
        let (a, b) = ("cpu=2 gpu=1 memory=1Gi", "cpu=500m memory=2Gi pods=3");
        assert_eq!(merged(a, b, Keep::First), "cpu=2 gpu=1 memory=1Gi pods=3");
        assert_eq!(merged(a, b, Keep::Larger), "cpu=2 gpu=1 memory=2Gi pods=3");
        assert_eq!(merged(a, b, Keep::Smaller), "cpu=500m gpu=1 memory=1Gi pods=3");
        assert_eq!(merged(a, b, Keep::Sum), "cpu=2500m gpu=1 memory=3Gi pods=3");
    }

    #[test]
    fn equal_quantities_keep_the_first_spelling() {
        assert_eq!(merged("cpu=+1", "cpu=1", Keep::Larger), "cpu=+1");
        assert_eq!(merged("", "cpu=+1", Keep::Larger), "cpu=+1");
    }
}
