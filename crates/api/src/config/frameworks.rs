//! The kinds of jobs that are built in, by the names the configuration uses.

/// A kind in all its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupVersionKind<'t> {
    pub group: &'t str,
    pub version: &'t str,
    pub kind: &'t str,
}

impl<'t> GroupVersionKind<'t> {
    /// Reads `Kind.version.group`; the group may hold further dots.
    pub fn parse(text: &'t str) -> Option<Self> {
        let (kind, rest) = text.split_once('.')?;
        let (version, group) = rest.split_once('.')?;
        Some(Self { group, version, kind })
    }
}

/// A built-in integration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framework {
    pub name: &'static str,
    pub kind: GroupVersionKind<'static>,
    /// Whether MultiKueue can send jobs of this kind to other clusters.
    pub is_dispatched: bool,
}

const fn row(name: &'static str, group: &'static str, version: &'static str, kind: &'static str) -> Framework {
    Framework { name, kind: GroupVersionKind { group, version, kind }, is_dispatched: true }
}

/// One that MultiKueue cannot handle by itself.
const fn local(framework: Framework) -> Framework {
    Framework { is_dispatched: false, ..framework }
}

/// Jobs of this name are single pods, which every namespace has.
pub const POD: &str = "pod";

/// Every built-in integration, by name.
pub const FRAMEWORKS: &[Framework] = &[
    row("batch/job", "batch", "v1", "Job"),
    local(row("deployment", "apps", "v1", "Deployment")),
    row("jobset.x-k8s.io/jobset", "jobset.x-k8s.io", "v1alpha2", "JobSet"),
    row("kubeflow.org/jaxjob", "kubeflow.org", "v1", "JAXJob"),
    row("kubeflow.org/mpijob", "kubeflow.org", "v2beta1", "MPIJob"),
    row("kubeflow.org/paddlejob", "kubeflow.org", "v1", "PaddleJob"),
    row("kubeflow.org/pytorchjob", "kubeflow.org", "v1", "PyTorchJob"),
    row("kubeflow.org/tfjob", "kubeflow.org", "v1", "TFJob"),
    row("kubeflow.org/xgboostjob", "kubeflow.org", "v1", "XGBoostJob"),
    row("leaderworkerset.x-k8s.io/leaderworkerset", "leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet"),
    row(POD, "", "v1", "Pod"),
    row("ray.io/raycluster", "ray.io", "v1", "RayCluster"),
    row("ray.io/rayjob", "ray.io", "v1", "RayJob"),
    row("ray.io/rayservice", "ray.io", "v1", "RayService"),
    local(row("sparkoperator.k8s.io/sparkapplication", "sparkoperator.k8s.io", "v1beta2", "SparkApplication")),
    row("statefulset", "apps", "v1", "StatefulSet"),
    row("trainer.kubeflow.org/trainjob", "trainer.kubeflow.org", "v1alpha1", "TrainJob"),
    row("workload.codeflare.dev/appwrapper", "workload.codeflare.dev", "v1beta2", "AppWrapper"),
];

impl Framework {
    pub fn named(name: &str) -> Option<&'static Self> {
        FRAMEWORKS.iter().find(|framework| framework.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_alphabetical() {
        assert!(FRAMEWORKS.is_sorted_by(|one, next| one.name < next.name));
    }

    #[test]
    fn a_kind_needs_version_and_group() {
        let kind = GroupVersionKind { group: "example.com", version: "v1", kind: "Foo" };
        assert_eq!(GroupVersionKind::parse("Foo.v1.example.com"), Some(kind));
        for text in ["", "Foo", "Foo.v1"] {
            assert_eq!(GroupVersionKind::parse(text), None);
        }
    }
}
