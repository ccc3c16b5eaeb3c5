//! One text per rule: what stands in the file, and what is said about it.

use expect_test::{Expect, expect};

use crate::config::check;

mod devices;
mod metrics;
mod multikueue;

/// Checks a file with gates given as `A=true,B=false`; CEL with a `!` does not compile.
fn check_with(flag: &str, text: &str, expected: &Expect) {
    expected.assert_eq(&outcome(flag, text));
}

fn outcome(flag: &str, text: &str) -> String {
    let compile = |expression: &str| match expression.contains('!') {
        true => Err("ERROR: <input>:1:1: Syntax error".to_owned()),
        false => Ok(()),
    };
    match check(text, flag, "kueue-system", &compile) {
        Ok(_) => "fine\n".to_owned(),
        Err(rejected) => rejected.problems.iter().map(|problem| format!("{problem}\n")).collect(),
    }
}

fn check_file(text: &str, expected: &Expect) {
    check_with("", text, expected);
}

#[test]
fn wait_for_pods_ready() {
    let text = "waitForPodsReady:
  timeout: -5m
  recoveryTimeout: -1s
  requeuingStrategy:
    timestamp: Never
    backoffLimitCount: -1
    backoffBaseSeconds: -2
    backoffMaxSeconds: -3
";
    check_file(
        text,
        &expect![[r#"
        line 2: waitForPodsReady.timeout: Invalid value: "-5m0s": must be greater than or equal to 0
        line 3: waitForPodsReady.recoveryTimeout: Invalid value: "-1s": must be greater than or equal to 0
        line 5: waitForPodsReady.requeuingStrategy.timestamp: Unsupported value: "Never": supported values: "Creation", "Eviction"
        line 6: waitForPodsReady.requeuingStrategy.backoffLimitCount: Invalid value: -1: must be greater than or equal to 0
        line 7: waitForPodsReady.requeuingStrategy.backoffBaseSeconds: Invalid value: -2: must be greater than or equal to 0
        line 8: waitForPodsReady.requeuingStrategy.backoffMaxSeconds: Invalid value: -3: must be greater than or equal to 0
    "#]],
    );
    check_with(
        "DisableWaitForPodsReady=true",
        text,
        &expect![[r#"
        fine
    "#]],
    );
    check_file(
        "waitForPodsReady: {timeout: 5m, recoveryTimeout: 0s}\n",
        &expect![[r#"
        fine
    "#]],
    );
}

#[test]
fn integrations() {
    check_file(
        "integrations: {frameworks: [batch/job, ray.io/rayjobs, pod]}\n",
        &expect![[r#"
        line 1: integrations.frameworks[1]: Unsupported value: "ray.io/rayjobs": supported values: "batch/job", "deployment", "jobset.x-k8s.io/jobset", "kubeflow.org/jaxjob", "kubeflow.org/mpijob", "kubeflow.org/paddlejob", "kubeflow.org/pytorchjob", "kubeflow.org/tfjob", "kubeflow.org/xgboostjob", "leaderworkerset.x-k8s.io/leaderworkerset", "pod", "ray.io/raycluster", "ray.io/rayjob", "ray.io/rayservice", "sparkoperator.k8s.io/sparkapplication", "statefulset", "trainer.kubeflow.org/trainjob", "workload.codeflare.dev/appwrapper"
    "#]],
    );
    check_file(
        "integrations: {frameworks: [batch/job, pod, batch/job, nope]}\n",
        &expect![[r#"
        line 1: integrations.frameworks[3]: Unsupported value: "nope": supported values: "batch/job", "deployment", "jobset.x-k8s.io/jobset", "kubeflow.org/jaxjob", "kubeflow.org/mpijob", "kubeflow.org/paddlejob", "kubeflow.org/pytorchjob", "kubeflow.org/tfjob", "kubeflow.org/xgboostjob", "leaderworkerset.x-k8s.io/leaderworkerset", "pod", "ray.io/raycluster", "ray.io/rayjob", "ray.io/rayservice", "sparkoperator.k8s.io/sparkapplication", "statefulset", "trainer.kubeflow.org/trainjob", "workload.codeflare.dev/appwrapper"
    "#]],
    );
    check_file(
        "integrations:\n  externalFrameworks:\n  - Foo.v1.example.com\n  - Foo\n  - Foo.v1.example.com\n  - Job.v1.batch\n",
        &expect![[r#"
            line 4: integrations.externalFrameworks[1]: Invalid value: "Foo": must be format, 'Kind.version.group.com'
            line 5: integrations.externalFrameworks[2]: Duplicate value: "Foo.v1.example.com"
            line 6: integrations.externalFrameworks[3]: Duplicate value: "Job.v1.batch"
        "#]],
    );
}

#[test]
fn a_framework_that_is_named_twice_is_told_and_counts_once() {
    let text = "integrations: {frameworks: [batch/job, pod, batch/job]}\n";
    let checked = check(text, "", "kueue-system", &|_| Ok(())).unwrap();
    assert_eq!(checked.notes, ["integrations.frameworks[2]: Duplicate value: \"batch/job\"; once is enough"]);
    assert_eq!(checked.configuration.integrations.unwrap().frameworks, ["batch/job", "pod"]);
}

#[test]
fn a_field_that_has_no_effect_is_told() {
    let text = "pprofBindAddress: :8083\ncontroller: {cacheSyncTimeout: 60000000000}\n";
    let checked = check(text, "", "kueue-system", &|_| Ok(())).unwrap();
    let fields = checked.notes.iter().filter_map(|note| note.split_once(" has no effect"));
    assert_eq!(fields.map(|(field, _)| field).collect::<Vec<_>>(), ["pprofBindAddress", "controller.cacheSyncTimeout"]);
}

#[test]
fn fair_sharing() {
    check_file(
        "fairSharing: {}\n",
        &expect![[r#"
        line 1: fairSharing.preemptionStrategies: Required value: must be specified
    "#]],
    );
    check_file(
        "fairSharing: {preemptionStrategies: [LessThanInitialShare, Never]}\n",
        &expect![[r#"
        line 1: fairSharing.preemptionStrategies: Unsupported value: ["LessThanInitialShare","Never"]: supported values: "LessThanOrEqualToFinalShare", "LessThanInitialShare", "LessThanOrEqualToFinalShare,LessThanInitialShare"
    "#]],
    );
    check_file(
        "fairSharing: {preemptionStrategies: [LessThanInitialShare]}\n",
        &expect![[r#"
        fine
    "#]],
    );
    let both = "fairSharing: {preemptionStrategies: [LessThanOrEqualToFinalShare, LessThanInitialShare]}\n";
    check_file(
        both,
        &expect![[r#"
        fine
    "#]],
    );
}

#[test]
fn admission_fair_sharing() {
    check_file(
        "admissionFairSharing:\n  usageHalfLifeTime: -1s\n  usageSamplingInterval: -2s\n  resourceWeights:\n    cpu: -0.5\n    \
         memory: 0\n    example.com/gpu: -1\n",
        &expect![[r#"
            line 2: admissionFairSharing.usageHalfLifeTime: Invalid value: "-1s": must be greater than or equal to 0
            line 3: admissionFairSharing.usageSamplingInterval: Invalid value: "-2s": must be greater than 0
            line 5: admissionFairSharing.resourceWeights[cpu]: Invalid value: -0.5: must be greater than or equal to 0
            line 7: admissionFairSharing.resourceWeights[example.com/gpu]: Invalid value: -1: must be greater than or equal to 0
        "#]],
    );
    check_file(
        "admissionFairSharing: {usageHalfLifeTime: 0s}\n",
        &expect![[r#"
        fine
    "#]],
    );
}

#[test]
fn internal_cert_management() {
    let names = "webhookServiceName: 0-wrong\n  webhookSecretName: ':)'\n";
    check_file(
        &format!("internalCertManagement:\n  {names}"),
        &expect![[r#"
        line 2: internalCertManagement.webhookServiceName: Invalid value: "0-wrong": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')
        line 3: internalCertManagement.webhookSecretName: Invalid value: ":)": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')
    "#]],
    );
    check_file(
        &format!("internalCertManagement:\n  enable: false\n  {names}"),
        &expect![[r#"
        fine
    "#]],
    );
}

#[test]
fn resource_transformations() {
    check_file(
        "resources:
  transformations:
  - input: cpu
  - input: memory
    strategy: Drop
  - input: cpu
    strategy: Replace
    outputs: {credits: 2}
",
        &expect![[r#"
            line 5: resources.transformations[1].strategy: Unsupported value: "Drop": supported values: "Retain", "Replace"
            line 6: resources.transformations[2].input: Duplicate value: "cpu"
        "#]],
    );
}

#[test]
fn quota_check_strategy() {
    let both = "resources: {quotaCheckStrategy: IgnoreUndeclared, excludeResourcePrefixes: [example.com]}\n";
    check_file(
        both,
        &expect![[r#"
        line 1: resources.quotaCheckStrategy: Invalid value: "IgnoreUndeclared": excludeResourcePrefixes is not allowed when quotaCheckStrategy is IgnoreUndeclared
    "#]],
    );
    check_with(
        "QuotaCheckStrategy=false",
        both,
        &expect![[r#"
        fine
    "#]],
    );
    check_file(
        "resources: {quotaCheckStrategy: Sometimes}\n",
        &expect![[r#"
        line 1: resources.quotaCheckStrategy: Unsupported value: "Sometimes": supported values: "IgnoreUndeclared", "BlockUndeclared"
    "#]],
    );
    check_file(
        "resources: {quotaCheckStrategy: BlockUndeclared, excludeResourcePrefixes: [example.com]}\n",
        &expect![[r#"
        fine
    "#]],
    );
}

#[test]
fn managed_jobs_namespace_selector() {
    check_file(
        "managedJobsNamespaceSelector: {}\n",
        &expect![[r#"
        line 1: managedJobsNamespaceSelector: Invalid value: {}: should not match the "kube-system" namespace
        line 1: managedJobsNamespaceSelector: Invalid value: {}: should not match the "kueue-system" namespace
    "#]],
    );
    check_file(
        "namespace: kueue\nmanagedJobsNamespaceSelector:\n  matchLabels:\n    kubernetes.io/metadata.name: kueue\n",
        &expect![[r#"
            line 2: managedJobsNamespaceSelector: Invalid value: {"matchLabels":{"kubernetes.io/metadata.name":"kueue"}}: should not match the "kueue" namespace
        "#]],
    );
    check_file(
        "managedJobsNamespaceSelector:\n  matchExpressions:\n  - {key: a, operator: Is, values: [b]}\n",
        &expect![[r#"
        line 3: managedJobsNamespaceSelector.matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator
    "#]],
    );
    check_file(
        "managedJobsNamespaceSelector:\n  matchLabels: {managed: 'yes'}\n",
        &expect![[r#"
        fine
    "#]],
    );
}

#[test]
fn object_retention_policies() {
    check_file(
        "objectRetentionPolicies:\n  workloads:\n    afterFinished: -1s\n    afterDeactivatedByKueue: -1h\n",
        &expect![[r#"
        line 3: objectRetentionPolicies.workloads.afterFinished: Invalid value: "-1s": must be greater than or equal to 0
        line 4: objectRetentionPolicies.workloads.afterDeactivatedByKueue: Invalid value: "-1h0m0s": must be greater than or equal to 0
    "#]],
    );
    check_file(
        "objectRetentionPolicies: {workloads: {afterFinished: 0s}}\n",
        &expect![[r#"
        fine
    "#]],
    );
}

#[test]
fn tls() {
    check_file(
        "tls:\n  minVersion: VersionTLS11\n  curvePreferences: [0]\n",
        &expect![[r#"
        line 1: tls: Invalid value: {"curvePreferences":[0],"minVersion":"VersionTLS11"}: invalid minVersion. Please use VersionTLS12 or VersionTLS13; invalid curve preferences: curve preference 0 is out of range (must be 1-65535)
    "#]],
    );
    check_file(
        "tls:\n  minVersion: VersionTLS13\n  cipherSuites:\n  - TLS_AES_128_GCM_SHA256\n",
        &expect![[r#"
        line 3: tls.cipherSuites: Invalid value: ["TLS_AES_128_GCM_SHA256"]: may not be specified when `minVersion` is 'VersionTLS13'
    "#]],
    );
    check_file(
        "tls: {minVersion: VersionTLS12, cipherSuites: [TLS_AES_128_GCM_SHA256]}\n",
        &expect![[r#"
        fine
    "#]],
    );
}

#[test]
fn visibility_server() {
    check_file(
        "visibilityServer:\n  bindAddress: localhost\n  bindPort: 65536\n",
        &expect![[r#"
        line 2: visibilityServer.bindAddress: Invalid value: "localhost": must be a valid IP address
        line 3: visibilityServer.bindPort: Invalid value: 65536: must be a valid port number (1-65535)
    "#]],
    );
    check_file(
        "visibilityServer: {bindAddress: '::1', bindPort: 65535}\n",
        &expect![[r#"
        fine
    "#]],
    );
}

#[test]
fn feature_gates() {
    check_with(
        "PartialAdmission=false",
        "featureGates: {}\n",
        &expect![[r#"
        line 1: featureGates: Invalid value: {}: feature gates for CLI and configuration cannot both specified
    "#]],
    );
    check_with(
        "PartialAdmission=maybe,Nonsense",
        "",
        &expect![[r#"
        featureGates: Invalid value: "PartialAdmission=maybe,Nonsense": [invalid value of PartialAdmission=maybe, err: strconv.ParseBool: parsing "maybe": invalid syntax, missing bool value for Nonsense]
    "#]],
    );
    check_file(
        "namespace: a\nfeatureGates:\n  Nonsense: true\n  TopologyAwareScheduling: false\n",
        &expect![[r#"
        line 2: featureGates: Invalid value: {"Nonsense":true,"TopologyAwareScheduling":false}: unrecognized feature gate: Nonsense
    "#]],
    );
    check_file(
        "featureGates: {TopologyAwareScheduling: false}\n",
        &expect![[r#"
        line 1: featureGates: Invalid value: {"TopologyAwareScheduling":false}: [TASFailedNodeReplacement is enabled, but depends on features that are disabled: [TopologyAwareScheduling], TASFailedNodeReplacementFailFast is enabled, but depends on features that are disabled: [TopologyAwareScheduling], TASHandleOverlappingFlavors is enabled, but depends on features that are disabled: [TopologyAwareScheduling], TASMultiLayerTopology is enabled, but depends on features that are disabled: [TopologyAwareScheduling], TASProfileMixed is enabled, but depends on features that are disabled: [TopologyAwareScheduling], TASRecomputeAssignmentWithinSchedulingCycle is enabled, but depends on features that are disabled: [TopologyAwareScheduling], TASReplaceNodeOnNodeTaints is enabled, but depends on features that are disabled: [TopologyAwareScheduling], TASReplaceNodeOnPodTermination is enabled, but depends on features that are disabled: [TopologyAwareScheduling]]
    "#]],
    );
    check_file(
        "featureGates: {PartialAdmission: false}\n",
        &expect![[r#"
        fine
    "#]],
    );
}

#[test]
fn what_is_misspelt_is_not_called_missing_too() {
    check_file(
        "fairSharing:\n  preemptionStrategys: [LessThanInitialShare]\n",
        &expect![[r#"
        line 2: fairSharing.preemptionStrategys: Unknown field: did you mean "preemptionStrategies"?
    "#]],
    );
    check_file(
        "managedJobsNamespaceSelector: all\nwaitForPodsReady:\n  timeout: -1s\n  blockAdmision: true\n",
        &expect![[r#"
        line 1: managedJobsNamespaceSelector: Invalid value: "all": must be a mapping
        line 2: waitForPodsReady.recoveryTimeout: Invalid value: "-1s": must be greater than or equal to 0
        line 3: waitForPodsReady.timeout: Invalid value: "-1s": must be greater than or equal to 0
        line 4: waitForPodsReady.blockAdmision: Unknown field: did you mean "blockAdmission"?
    "#]],
    );
    check_file(
        "a: [\n",
        &expect![[r#"
        line 1: not YAML: unclosed bracket '['
    "#]],
    );
}
