//! What the Workload of a job is called.

use kueue_core::gates::{Gate, Gates};
use sha1::{Digest as _, Sha1};

/// Of the hash, so many digits are shown.
const HASH_DIGITS: usize = 5;
/// The longest name an object may have.
const LONGEST: usize = 253;
/// The longest name that is also a label value.
const LONGEST_SHORT: usize = 63;

/// The object that a Workload is named after.
#[derive(Clone, Copy, Debug)]
pub struct Owner<'a> {
    pub group: &'a str,
    pub kind: &'a str,
    pub name: &'a str,
    pub uid: &'a str,
}

/// The name of the owner's Workload: kind and name, and a hash that tells owners of the same name apart. `extra` tells
/// the Workloads of one owner apart and is empty where there is only one.
pub fn workload_name(owner: Owner<'_>, extra: &str, gates: Gates) -> String {
    let longest = if gates.enabled(Gate::ShortWorkloadNames) { LONGEST_SHORT } else { LONGEST };
    let mut prefix = format!("{}-{}", owner.kind.to_lowercase(), owner.name);
    prefix.truncate(prefix.floor_char_boundary(longest - 1 - HASH_DIGITS));
    format!("{prefix}-{}", hash(owner, extra))
}

fn hash(owner: Owner<'_>, extra: &str) -> String {
    let mut text = [owner.kind, owner.group, owner.name, owner.uid].join("\n");
    if !extra.is_empty() {
        text = format!("{text}\n{extra}");
    }
    let digest = Sha1::digest(text.as_bytes());
    let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    digits[..HASH_DIGITS].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner<'a>(name: &'a str, uid: &'a str) -> Owner<'a> {
        Owner { group: "batch", kind: "Job", name, uid }
    }

    #[test]
    fn the_name_tells_kind_owner_and_identity() {
        let gates = Gates::default().with(Gate::ShortWorkloadNames, false);
        assert_eq!(workload_name(owner("name", "uid"), "", gates), "job-name-ef3a1");
        assert_ne!(workload_name(owner("name", "uid"), "", gates), workload_name(owner("name", "uid2"), "", gates));
        assert_ne!(workload_name(owner("name", "uid"), "2", gates), workload_name(owner("name", "uid"), "", gates));
    }

    #[test]
    fn long_names_are_cut_before_the_hash() {
        let long = "a".repeat(300);
        for (is_short, length) in [(false, LONGEST), (true, LONGEST_SHORT)] {
            let gates = Gates::default().with(Gate::ShortWorkloadNames, is_short);
            let name = workload_name(owner(&long, "uid"), "", gates);
            assert_eq!(name.len(), length);
            assert!(name.starts_with("job-aaa"));
        }
    }
}
