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
    with_hash(format!("{}-{}", owner.kind.to_lowercase(), owner.name), owner, extra, gates)
}

/// The name of the variant of a Workload that may use only one flavor. `parent` is the owner of the Workload, but by the
/// name of the Workload.
pub fn variant_name(parent: Owner<'_>, flavor: &str, gates: Gates) -> String {
    let (base, _) = parent.name.rsplit_once('-').unwrap_or((parent.name, ""));
    with_hash(format!("{base}-variant-{flavor}"), parent, flavor, gates)
}

fn with_hash(prefix: String, owner: Owner<'_>, extra: &str, gates: Gates) -> String {
    format!("{}-{}", cut(prefix, gates), hash(owner, extra))
}

/// As much of a name as leaves room for the hash.
fn cut(mut prefix: String, gates: Gates) -> String {
    let longest = if gates.enabled(Gate::ShortWorkloadNames) { LONGEST_SHORT } else { LONGEST };
    prefix.truncate(prefix.floor_char_boundary(longest - 1 - HASH_DIGITS));
    prefix
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
    fn a_variant_is_named_after_its_parent_and_flavor() {
        let name = variant_name(owner("job-my-job-12345", "uid-123"), "spot", Gates::default());
        assert_eq!(name, "job-my-job-variant-spot-6320b");
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
