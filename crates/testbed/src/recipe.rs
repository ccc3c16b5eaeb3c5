//! What the test bed is built from: Go modules pinned in `testbed/*/go.mod`, their checksums in `go.sum`.
//!
//! The files are compiled into this crate, so the recipe travels with the binary. Versions are written once, in
//! `go.mod`; everything here reads them from there.

/// One program of the control plane, or one that talks to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Program {
    Etcd,
    ApiServer,
    ControllerManager,
    Scheduler,
    Kubectl,
    Kwok,
    Helm,
    Yq,
    Elector,
}

impl Program {
    /// Every program in the order it is built: what a bare control plane needs comes first.
    pub const ALL: [Program; 9] = [
        Program::Etcd,
        Program::ApiServer,
        Program::Kubectl,
        Program::ControllerManager,
        Program::Scheduler,
        Program::Kwok,
        Program::Helm,
        Program::Yq,
        Program::Elector,
    ];

    /// The name of the file, the log and the line in `status`.
    pub fn name(self) -> &'static str {
        match self {
            Program::Etcd => "etcd",
            Program::ApiServer => "kube-apiserver",
            Program::ControllerManager => "kube-controller-manager",
            Program::Scheduler => "kube-scheduler",
            Program::Kubectl => "kubectl",
            Program::Kwok => "kwok",
            Program::Helm => "helm",
            Program::Yq => "yq",
            Program::Elector => "elector",
        }
    }

    /// The Go package that is its `main`.
    pub fn package(self) -> &'static str {
        match self {
            Program::Etcd => "go.etcd.io/etcd/server/v3",
            Program::ApiServer => "k8s.io/kubernetes/cmd/kube-apiserver",
            Program::ControllerManager => "k8s.io/kubernetes/cmd/kube-controller-manager",
            Program::Scheduler => "k8s.io/kubernetes/cmd/kube-scheduler",
            Program::Kubectl => "k8s.io/kubernetes/cmd/kubectl",
            Program::Kwok => "sigs.k8s.io/kwok/cmd/kwok",
            Program::Helm => "helm.sh/helm/v4/cmd/helm",
            Program::Yq => "github.com/mikefarah/yq/v4",
            Program::Elector => "testbed/elector",
        }
    }

    /// The pinned module it is built in.
    pub fn module(self) -> &'static Module {
        match self {
            Program::Etcd => &ETCD,
            Program::ApiServer | Program::ControllerManager | Program::Scheduler | Program::Kubectl => &KUBERNETES,
            Program::Kwok => &KWOK,
            Program::Helm => &HELM,
            Program::Yq => &YQ,
            Program::Elector => &ELECTOR,
        }
    }
}

/// A Go module of ours that requires one program's module at one version, and pins all that this one needs.
#[derive(Debug)]
pub struct Module {
    /// Folder under `testbed/`.
    pub name: &'static str,
    /// The module whose version names the build.
    pub requires: &'static str,
    pub go_mod: &'static str,
    pub go_sum: &'static str,
    /// The program itself, where it is ours.
    pub main: Option<&'static str>,
}

macro_rules! module {
    ($name:literal, $requires:literal) => {
        Module {
            name: $name,
            requires: $requires,
            go_mod: include_str!(concat!("../../../testbed/", $name, "/go.mod")),
            go_sum: include_str!(concat!("../../../testbed/", $name, "/go.sum")),
            main: None,
        }
    };
}

static ETCD: Module = module!("etcd", "go.etcd.io/etcd/server/v3");
static KUBERNETES: Module = module!("kubernetes", "k8s.io/kubernetes");
static KWOK: Module = module!("kwok", "sigs.k8s.io/kwok");
static HELM: Module = module!("helm", "helm.sh/helm/v4");
static YQ: Module = module!("yq", "github.com/mikefarah/yq/v4");
/// Competes for a Lease with client-go.
static ELECTOR: Module =
    Module { main: Some(include_str!("../../../testbed/elector/main.go")), ..module!("elector", "k8s.io/client-go") };

impl Module {
    /// The pinned version, such as `v1.36.3`.
    pub fn version(&self) -> &'static str {
        self.go_mod
            .lines()
            .filter_map(|line| line.trim().trim_start_matches("require ").strip_prefix(self.requires))
            .find_map(|rest| rest.strip_prefix(' ')?.split(' ').next().filter(|version| version.starts_with('v')))
            .expect("go.mod requires the module that it is named for, which a test checks")
    }

    /// Where the build of exactly this recipe lives in the cache: any change of the recipe is another folder.
    pub fn folder(&self) -> String {
        let flags = self.linker_flags();
        let mut recipe = vec![self.go_mod, self.go_sum, &flags];
        recipe.extend(self.main);
        format!("{}-{}-{:012x}", self.name, self.version(), fnv1a(&recipe) & 0xffff_ffff_ffff)
    }

    /// Linker flags: no debug information, and for Kubernetes the version, without which the server calls itself
    /// v0.0.0 and clients misjudge it.
    pub fn linker_flags(&self) -> String {
        let mut flags = "-s -w".to_string();
        if self.name == "kubernetes" {
            let version = self.version();
            let mut parts = version.trim_start_matches('v').split('.');
            let (major, minor) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            for package in ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"] {
                for (name, value) in [("gitVersion", version), ("gitMajor", major), ("gitMinor", minor)] {
                    flags += &format!(" -X {package}.{name}={value}");
                }
            }
        }
        flags
    }
}

/// A hash that is the same on every machine and toolchain, unlike the standard library's.
pub fn fnv1a(texts: &[&str]) -> u64 {
    let bytes = texts.iter().flat_map(|text| text.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_is_pinned_and_listed_as_a_tool_of_its_module() {
        for program in Program::ALL {
            let module = program.module();
            assert!(module.version().starts_with('v'), "{}", module.name);
            assert!(module.go_mod.contains(program.package()), "{} is no tool of {}", program.name(), module.name);
            let checksum = format!("{} {} h1:", module.requires, module.version());
            assert!(module.go_sum.contains(&checksum), "{checksum} is missing in go.sum");
        }
    }

    #[test]
    fn kubernetes_knows_its_version() {
        let flags = KUBERNETES.linker_flags();
        assert!(flags.contains(&format!("component-base/version.gitVersion={}", KUBERNETES.version())), "{flags}");
        assert!(flags.contains("gitMajor=1"), "{flags}");
    }

    #[test]
    fn all_staging_modules_follow_one_version() {
        let staging = KUBERNETES.version().replacen("v1.", "v0.", 1);
        let replaced = KUBERNETES.go_mod.lines().filter(|line| line.contains(" => "));
        let wrong: Vec<&str> = replaced.filter(|line| !line.ends_with(&staging)).collect();
        assert!(wrong.is_empty(), "{wrong:?}");
    }

    #[test]
    fn another_recipe_is_another_folder() {
        assert_ne!(fnv1a(&["a", "b"]), fnv1a(&["ab", ""]));
        assert_ne!(ETCD.folder(), KWOK.folder());
    }
}
