//! Which kinds of jobs are known, and which of them are ours to manage.

use std::collections::BTreeSet;

use kueue_api::config::frameworks::{FRAMEWORKS, Framework, GroupVersionKind, POD};
use kueue_api::meta::OwnerReference;

/// A kind by what owner references say.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct OwnerKind {
    pub api_version: String,
    pub kind: String,
}

impl OwnerKind {
    pub fn new(api_version: impl Into<String>, kind: impl Into<String>) -> Self {
        Self { api_version: api_version.into(), kind: kind.into() }
    }

    fn of(kind: GroupVersionKind<'_>) -> Self {
        let api_version = match kind.group {
            "" => kind.version.to_owned(),
            group => format!("{group}/{}", kind.version),
        };
        Self::new(api_version, kind.kind)
    }

    fn is_kind_of(&self, owner: &OwnerReference) -> bool {
        self.api_version == owner.api_version && self.kind == owner.kind
    }
}

/// The kinds that owners are looked for among. Built once from the configuration.
#[derive(Clone, Debug, Default)]
pub struct Integrations {
    /// Every kind that there is an integration for, enabled or not.
    pub known: BTreeSet<OwnerKind>,
    pub enabled: BTreeSet<OwnerKind>,
    /// Kinds that somebody else's controller manages as we would.
    pub external: BTreeSet<OwnerKind>,
}

impl Integrations {
    /// As the configuration says: names of frameworks, and external ones as `Kind.version.group`.
    pub fn configured<'n>(
        frameworks: impl IntoIterator<Item = &'n str>,
        external: impl IntoIterator<Item = &'n str>,
    ) -> Self {
        let named: BTreeSet<&str> = frameworks.into_iter().collect();
        let all = named.iter().copied().chain(implied(&named, implied_by));
        let enabled = all.filter_map(Framework::named).map(|framework| OwnerKind::of(framework.kind));
        Self {
            known: FRAMEWORKS.iter().map(|framework| OwnerKind::of(framework.kind)).collect(),
            enabled: enabled.collect(),
            external: external.into_iter().filter_map(GroupVersionKind::parse).map(OwnerKind::of).collect(),
        }
    }

    /// Whether jobs of the owner's kind are managed, by us or an external controller.
    pub fn manages(&self, owner: &OwnerReference) -> bool {
        self.enabled.iter().chain(&self.external).any(|kind| kind.is_kind_of(owner))
    }

    /// Whether the search for managed owners goes on through the owner. A ReplicaSet stands between pods and their
    /// Deployment, which nobody should have to configure.
    pub fn knows(&self, owner: &OwnerReference) -> bool {
        let is_replica_set = owner.kind == "ReplicaSet" && owner.api_version == "apps/v1";
        is_replica_set || self.known.iter().chain(&self.external).any(|kind| kind.is_kind_of(owner))
    }
}

/// What is switched on besides, because something that is enabled cannot do without it.
pub fn implied<'n>(enabled: &BTreeSet<&'n str>, implied_by: impl Fn(&str) -> Vec<&'n str>) -> BTreeSet<&'n str> {
    let implied = enabled.iter().flat_map(|name| implied_by(name));
    implied.filter(|name| !enabled.contains(name)).collect()
}

/// These run as pods that are held back one by one.
fn implied_by<'n>(framework: &str) -> Vec<&'n str> {
    match framework {
        "deployment" | "statefulset" | "leaderworkerset.x-k8s.io/leaderworkerset" => vec![POD],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(api_version: &str, kind: &str) -> OwnerReference {
        OwnerReference { api_version: api_version.to_owned(), kind: kind.to_owned(), ..OwnerReference::default() }
    }

    #[test]
    fn what_is_enabled_or_external_is_managed_and_everything_built_in_is_known() {
        let all = Integrations::configured(["batch/job", "statefulset"], ["Foo.v1.example.com", "nonsense"]);
        for (api_version, kind, is_managed, is_known) in [
            ("batch/v1", "Job", true, true),
            ("batch/v1beta1", "Job", false, false),
            ("apps/v1", "StatefulSet", true, true),
            ("v1", "Pod", true, true),
            ("ray.io/v1", "RayJob", false, true),
            ("example.com/v1", "Foo", true, true),
            ("apps/v1", "ReplicaSet", false, true),
            ("batch/v1", "CronJob", false, false),
        ] {
            let owner = owner(api_version, kind);
            assert_eq!((all.manages(&owner), all.knows(&owner)), (is_managed, is_known), "{api_version} {kind}");
        }
    }

    #[test]
    fn only_what_is_not_enabled_anyway_is_implied() {
        assert_eq!(implied(&["deployment"].into(), implied_by), [POD].into());
        assert_eq!(implied(&["deployment", POD].into(), implied_by), BTreeSet::new());
        assert_eq!(implied(&["batch/job"].into(), implied_by), BTreeSet::new());
    }
}
