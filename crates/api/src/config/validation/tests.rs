//! One text per rule: what stands in the file, and what is said about it.

use expect_test::{Expect, expect};

use crate::config::check;

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
        "integrations: {frameworks: [batch/job, pod, batch/job]}\n",
        &expect![[r#"
        line 1: integrations.frameworks[2]: Duplicate value: "batch/job"
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
fn multi_kueue() {
    check_file(
        "multiKueue:\n  gcInterval: -1s\n  workerLostTimeout: -1s\n  origin: '=]'\n",
        &expect![[r#"
        line 2: multiKueue.gcInterval: Invalid value: "-1s": must be greater than or equal to 0
        line 3: multiKueue.workerLostTimeout: Invalid value: "-1s": must be greater than or equal to 0
        line 4: multiKueue.origin: Invalid value: "=]": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')
    "#]],
    );
    check_file(
        "multiKueue: {gcInterval: 0s, dispatcherName: example.com/mine}\n",
        &expect![[r#"
        fine
    "#]],
    );
    check_file(
        "multiKueue:\n  incrementalDispatcherConfig:\n    stepSize: 0\n",
        &expect![[r#"
        line 2: multiKueue.incrementalDispatcherConfig: Invalid value: {"stepSize":0}: incrementalDispatcherConfig is only valid when dispatcherName is set to the incremental dispatcher
        line 3: multiKueue.incrementalDispatcherConfig.stepSize: Invalid value: 0: must be greater than or equal to 1
    "#]],
    );
    check_file(
        "multiKueue:\n  dispatcherName: kueue.x-k8s.io/multikueue-dispatcher-incremental\n  incrementalDispatcherConfig:\n    \
         stepSize: 5\n",
        &expect![[r#"
            fine
        "#]],
    );
}

#[test]
fn multi_kueue_external_frameworks() {
    check_file(
        "multiKueue:
  externalFrameworks:
  - name: PipelineRun.v1.tekton.dev
  - name: PipelineRun
  - name: Job.v1.batch
  - name: PipelineRun.v1.tekton.dev
  - name: SparkApplication.v1beta2.sparkoperator.k8s.io
",
        &expect![[r#"
            line 4: multiKueue.externalFrameworks[1].name: Invalid value: "PipelineRun": must be in 'kind.version.group' format
            line 5: multiKueue.externalFrameworks[2].name: Invalid value: "Job.v1.batch": conflicts with a built-in MultiKueue adapter
            line 6: multiKueue.externalFrameworks[3].name: Duplicate value: "PipelineRun.v1.tekton.dev"
        "#]],
    );
}

#[test]
fn multi_kueue_cluster_profiles() {
    let good = "{name: p, execConfig: {command: c, apiVersion: v1, interactiveMode: Never}}";
    check_file(
        &format!("multiKueue: {{clusterProfile: {{accessProviders: [{good}]}}}}\n"),
        &expect![[r#"
        fine
    "#]],
    );
    check_file(
        &format!("multiKueue:\n  clusterProfile:\n    accessProviders: [{good}]\n    credentialsProviders: [{good}]\n"),
        &expect![[r#"
            line 4: multiKueue.clusterProfile.credentialsProviders: Forbidden: must not be specified when accessProviders is specified
        "#]],
    );
    check_file(
        "multiKueue:
  clusterProfile:
    credentialsProviders:
    - execConfig:
        env: [{name: A}, {value: x}]
    - name: second
      execConfig: {command: c, apiVersion: v1, interactiveMode: Sometimes}
",
        &expect![[r#"
            line 3: multiKueue.clusterProfile.credentialsProviders.name: Required value: must be specified
            line 3: multiKueue.clusterProfile.credentialsProviders.execConfig.command: Required value: must be specified
            line 3: multiKueue.clusterProfile.credentialsProviders.execConfig.apiVersion: Required value: must be specified
            line 3: multiKueue.clusterProfile.credentialsProviders.execConfig.env.name: Required value: must be specified
            line 3: multiKueue.clusterProfile.credentialsProviders.execConfig.interactiveMode: Required value: must be specified
            line 3: multiKueue.clusterProfile.credentialsProviders.execConfig.interactiveMode: Unsupported value: "Sometimes": supported values: "Never", "IfAvailable", "Always"
        "#]],
    );
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
fn device_class_mappings() {
    check_file(
        "resources:
  deviceClassMappings:
  - name: '@wrong'
    deviceClassNames: []
  - name: first
    deviceClassNames: [gpu.example.com, gpu.example.com, '']
  - name: second
    deviceClassNames: [gpu.example.com]
  - name: second
    deviceClassNames: [a, b, c, d, e, f, g, h, i]
",
        &expect![[r#"
            line 3: resources.deviceClassMappings[0].name: Invalid value: "@wrong": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')
            line 4: resources.deviceClassMappings[0].deviceClassNames: Required value: at least one device class name is required
            line 6: resources.deviceClassMappings[1].deviceClassNames[1]: Duplicate value: "gpu.example.com"
            line 6: resources.deviceClassMappings[1].deviceClassNames[2]: Invalid value: "": name part must be non-empty; name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')
            line 8: resources.deviceClassMappings[2].deviceClassNames[0]: Invalid value: "gpu.example.com": device class already mapped to resource first
            line 9: resources.deviceClassMappings[3].name: Duplicate value: "second"
            line 10: resources.deviceClassMappings[3].deviceClassNames: Too many: 9: must have at most 8 items
        "#]],
    );
    let many: String = (0..17).map(|n| format!("  - {{name: r{n}, deviceClassNames: [c{n}]}}\n")).collect();
    check_file(
        &format!("resources:\n  deviceClassMappings:\n{many}"),
        &expect![[r#"
        line 2: resources.deviceClassMappings: Too many: 17: must have at most 16 items
    "#]],
    );
    let long = format!("{0}/{1}", "d".repeat(200), "n".repeat(60));
    let text = format!("resources: {{deviceClassMappings: [{{name: {long}, deviceClassNames: [c]}}]}}\n");
    expect![[r#"
        line 1: resources.deviceClassMappings[0].name: Invalid value: "<261 bytes>": must not exceed 253 characters
    "#]]
    .assert_eq(&outcome("", &text).replace(&long, "<261 bytes>"));
}

#[test]
fn device_class_counters() {
    let counter = |resource: &str, counter: &str, driver: &str, cel: &str| {
        format!(
            "  - name: {resource}\n    deviceClassNames: [mig.example.com]\n    sources:\n    - counter: {{name: {counter}, \
             driver: {driver}, deviceSelector: {{cel: {{expression: {cel}}}}}}}\n"
        )
    };
    let file = |mappings: &[String]| format!("resources:\n  deviceClassMappings:\n{}", mappings.concat());
    let memory = counter("memory", "memory", "gpu.example.com", "device.driver");
    let compute = counter("compute", "compute", "gpu.example.com", "device.driver");
    check_file(
        &file(&[memory.clone(), compute]),
        &expect![[r#"
        fine
    "#]],
    );
    check_file(
        &file(&[memory.clone(), counter("again", "memory", "gpu.example.com", "x")]),
        &expect![[r#"
        line 8: resources.deviceClassMappings[1].deviceClassNames[0]: Invalid value: "mig.example.com": device class already has a counter source for counter "memory"
    "#]],
    );
    check_file(
        &file(&[memory.clone(), "  - {name: whole, deviceClassNames: [mig.example.com]}\n".into()]),
        &expect![[r#"
        line 7: resources.deviceClassMappings[1].deviceClassNames[0]: Invalid value: "mig.example.com": device class already mapped to resource memory
    "#]],
    );
    check_with(
        "KueueDRAIntegrationPartitionableDevices=false",
        &file(&[memory]),
        &expect![[r#"
        line 6: resources.deviceClassMappings[0].sources[0].counter: Invalid value: true: counter sources require KueueDRAIntegrationPartitionableDevices to be enabled
    "#]],
    );
    check_file(
        &file(&[counter("r", "Not_A_Label", "UPPER.com", "'!'")]),
        &expect![[r#"
        line 6: resources.deviceClassMappings[0].sources[0].counter.name: Invalid value: "Not_A_Label": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')
        line 6: resources.deviceClassMappings[0].sources[0].counter.driver: Invalid value: "UPPER.com": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')
        line 6: resources.deviceClassMappings[0].sources[0].counter.deviceSelector.cel.expression: Invalid value: "!": CEL compilation failed: ERROR: <input>:1:1: Syntax error
    "#]],
    );
    check_file(
        &file(&[counter("r", "''", "''", "''")]),
        &expect![[r#"
        line 6: resources.deviceClassMappings[0].sources[0].counter.name: Required value
        line 6: resources.deviceClassMappings[0].sources[0].counter.driver: Required value
        line 6: resources.deviceClassMappings[0].sources[0].counter.deviceSelector.cel.expression: Required value
    "#]],
    );
    check_file(
        &file(&[counter("r", "m", &format!("{}.com", "d".repeat(63)), "x")]),
        &expect![[r#"
        line 6: resources.deviceClassMappings[0].sources[0].counter.driver: Invalid value: "ddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd.com": must not exceed 63 characters
    "#]],
    );
}

#[test]
fn device_class_capacities() {
    let file = |sources: &str| {
        format!(
            "resources:\n  deviceClassMappings:\n  - name: vgpu\n    deviceClassNames: [vgpu.example.com]\n    sources:\n{sources}"
        )
    };
    let source = |sort: &str, name: &str| {
        format!("    - {sort}: {{name: {name}, driver: d.example.com, deviceSelector: {{cel: {{expression: x}}}}}}\n")
    };
    const ON: &str = "KueueDRAIntegrationConsumableCapacity=true";
    check_file(
        &file(&source("capacity", "memory")),
        &expect![[r#"
        line 6: resources.deviceClassMappings[0].sources[0].capacity: Invalid value: true: capacity sources require KueueDRAIntegrationConsumableCapacity to be enabled
    "#]],
    );
    check_with(
        ON,
        &file(&source("capacity", "GPU.example.com/Memory_Bytes")),
        &expect![[r#"
        fine
    "#]],
    );
    let wrong: String =
        ["''", "9lives", "/memory", "gpu.example.com/", "-a/b-c"].map(|name| source("capacity", name)).concat();
    check_with(
        ON,
        &file(&wrong),
        &expect![[r#"
        line 6: resources.deviceClassMappings[0].sources[0].capacity.name: Invalid value: "": a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')
        line 7: resources.deviceClassMappings[0].sources[1].capacity.name: Invalid value: "9lives": a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')
        line 8: resources.deviceClassMappings[0].sources[2].capacity.name: Invalid value: "": the domain must not be empty
        line 9: resources.deviceClassMappings[0].sources[3].capacity.name: Invalid value: "": the name must not be empty
        line 10: resources.deviceClassMappings[0].sources[4].capacity.name: Invalid value: "-a": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')
        line 10: resources.deviceClassMappings[0].sources[4].capacity.name: Invalid value: "b-c": a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')
    "#]],
    );
    let (domain, identifier) = ("d".repeat(64), "i".repeat(33));
    check_with(
        ON,
        &file(&source("capacity", &format!("{domain}/{identifier}"))),
        &expect![[r#"
        line 6: resources.deviceClassMappings[0].sources[0].capacity.name: Too long: may not be more than 63 bytes
        line 6: resources.deviceClassMappings[0].sources[0].capacity.name: Too long: may not be more than 32 bytes
    "#]],
    );
    check_with(
        ON,
        &file(&(source("capacity", "a") + &source("counter", "b"))),
        &expect![[r#"
        line 5: resources.deviceClassMappings[0].sources: Invalid value: 2: cannot mix counter and capacity sources in the same mapping
    "#]],
    );
    check_with(
        ON,
        &file("    - {}\n    - {counter: {}, capacity: {}}\n"),
        &expect![[r#"
        line 6: resources.deviceClassMappings[0].sources[0]: Required value: exactly one source type must be set per entry
        line 7: resources.deviceClassMappings[0].sources[1]: Invalid value: "counter+capacity": exactly one source type must be set per entry
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
fn custom_labels() {
    check_file(
        "metrics:
  customLabels:
  - name: 1team
  - name: team
    sourceLabelKey: not a key
  - name: team
    sourceAnnotationKey: also/not/a/key
  - name: both
    sourceLabelKey: a
    sourceAnnotationKey: b
",
        &expect![[r#"
            line 3: metrics.customLabels[0].name: Invalid value: "1team": must match ^[a-zA-Z][a-zA-Z0-9_]*$
            line 5: metrics.customLabels[1].sourceLabelKey: Invalid value: "not a key": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')
            line 6: metrics.customLabels[2].name: Duplicate value: "team"
            line 7: metrics.customLabels[2].sourceAnnotationKey: Invalid value: "also/not/a/key": a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')
            line 8: metrics.customLabels[3]: Invalid value: {"name":"both","sourceAnnotationKey":"b","sourceLabelKey":"a"}: sourceLabelKey and sourceAnnotationKey are mutually exclusive
        "#]],
    );
}

#[test]
fn custom_labels_track_few_values() {
    let values = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>().join("', '");
    check_file(
        "metrics: {customLabels: [{name: a, sourceKind: Workload}]}\n",
        &expect![[r#"
        line 1: metrics.customLabels[0].trackedValues: Invalid value: []: must not be empty when sourceKind is 'Workload'
    "#]],
    );
    let label = |kind: &str, count: usize| {
        let values = values(count);
        format!("metrics: {{customLabels: [{{name: a, sourceKind: {kind}, trackedValues: ['{values}']}}]}}\n")
    };
    check_file(
        &label("Workload", 13),
        &expect![[r#"
        line 1: metrics.customLabels[0].trackedValues: Invalid value: ["0","1","2","3","4","5","6","7","8","9","10","11","12"]: must not be greater than 12 when sourceKind is 'Workload'
    "#]],
    );
    check_file(
        &label("Workload", 12),
        &expect![[r#"
        fine
    "#]],
    );
    check_file(
        &label("Cohort", 17),
        &expect![[r#"
        line 1: metrics.customLabels[0].trackedValues: Too many: 17: must have at most 16 items
    "#]],
    );
    check_file(
        &label("Cohort", 16),
        &expect![[r#"
        fine
    "#]],
    );
    check_file(
        "metrics: {customLabels: [{name: a, trackedValues: [p, q, p]}]}\n",
        &expect![[r#"
            line 1: metrics.customLabels[0].trackedValues: Invalid value: ["p","q","p"]: must not contain duplicates
        "#]],
    );
}

#[test]
fn custom_labels_are_few() {
    let labels = |kind: &str, count: usize| {
        let values = if kind == "Workload" { ", trackedValues: [v]" } else { "" };
        (0..count)
            .map(|n| format!("  - {{name: {}{n}, sourceKind: {kind}{values}}}\n", kind.to_lowercase()))
            .collect::<String>()
    };
    let file = |labels: &[String]| format!("metrics:\n  customLabels:\n{}", labels.concat());
    check_file(
        &file(&[labels("Workload", 2), labels("Cohort", 6), labels("LocalQueue", 6)]),
        &expect![[r#"
        fine
    "#]],
    );
    check_file(
        &file(&[labels("Workload", 3)]),
        &expect![[r#"
        line 2: metrics.customLabels: Invalid value: [{"name":"workload0","sourceKind":"Workload","trackedValues":["v"]},{"name":"workload1","sourceKind":"Workload","trackedValues":["v"]},{"name":"workload2","sourceKind":"Workload","trackedValues":["v"]}]: too many custom labels for source kind Workload: found 3, expected <= 2
    "#]],
    );
    let many = [
        labels("Cohort", 6),
        labels("ClusterQueue", 6),
        labels("LocalQueue", 6),
        labels("Workload", 2),
        labels("Node", 1),
    ];
    check_file(
        &file(&many),
        &expect![[r#"
        line 2: metrics.customLabels: Too many: 21: must have at most 20 items
        line 2: metrics.customLabels: Invalid value: [{"name":"cohort0","sourceKind":"Cohort"},{"name":"cohort1","sourceKind":"Cohort"},{"name":"cohort2","sourceKind":"Cohort"},{"name":"cohort3","sourceKind":"Cohort"},{"name":"cohort4","sourceKind":"Cohort"},{"name":"cohort5","sourceKind":"Cohort"},{"name":"clusterqueue0","sourceKind":"ClusterQueue"},{"name":"clusterqueue1","sourceKind":"ClusterQueue"},{"name":"clusterqueue2","sourceKind":"ClusterQueue"},{"name":"clusterqueue3","sourceKind":"ClusterQueue"},{"name":"clusterqueue4","sourceKind":"ClusterQueue"},{"name":"clusterqueue5","sourceKind":"ClusterQueue"},{"name":"localqueue0","sourceKind":"LocalQueue"},{"name":"localqueue1","sourceKind":"LocalQueue"},{"name":"localqueue2","sourceKind":"LocalQueue"},{"name":"localqueue3","sourceKind":"LocalQueue"},{"name":"localqueue4","sourceKind":"LocalQueue"},{"name":"localqueue5","sourceKind":"LocalQueue"},{"name":"workload0","sourceKind":"Workload","trackedValues":["v"]},{"name":"workload1","sourceKind":"Workload","trackedValues":["v"]},{"name":"node0","sourceKind":"Node"}]: unknown source kind: Node
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
