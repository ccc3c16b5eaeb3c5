//! `kueue config check` as a user runs it.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use expect_test::{Expect, expect};

/// Runs the command with `input` on standard input and shows exit code, standard output and standard error.
fn run(arguments: &[&str], input: impl AsRef<[u8]>) -> (i32, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_kueue"))
        .args(arguments)
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was just built");
    let mut stdin = child.stdin.take().expect("standard input is piped");
    stdin.write_all(input.as_ref()).expect("the command reads all of its input");
    drop(stdin);
    let output = child.wait_with_output().expect("the command was started");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("all output is text");
    (output.status.code().expect("the command exits by itself"), text(output.stdout), text(output.stderr))
}

fn check(arguments: &[&str], input: impl AsRef<[u8]>, expected: &Expect) {
    let (code, out, errors) = run(arguments, input);
    expected.assert_eq(&format!("exit {code}\n{out}--\n{errors}"));
}

#[test]
fn a_good_file_prints_what_it_means() {
    let input = "namespace: team-a\nclientConnection: {qps: 0.5}\nwaitForPodsReady: {timeout: 90s}\n";
    check(
        &["config", "check", "-"],
        input,
        &expect![[r#"
        exit 0
        apiVersion: config.kueue.x-k8s.io/v1beta2
        clientConnection:
          burst: 500
          qps: 0.5
        health:
          healthProbeBindAddress: ":8081"
        integrations:
          frameworks:
          - batch/job
        internalCertManagement:
          enable: true
          webhookSecretName: kueue-webhook-server-cert
          webhookServiceName: kueue-webhook-service
        kind: Configuration
        leaderElection:
          leaderElect: true
          leaseDuration: 15s
          renewDeadline: 10s
          resourceLock: leases
          resourceName: c1f6bfd2.kueue.x-k8s.io
          resourceNamespace: ""
          retryPeriod: 2s
        manageJobsWithoutQueueName: false
        managedJobsNamespaceSelector:
          matchExpressions:
          - key: kubernetes.io/metadata.name
            operator: NotIn
            values:
            - kube-system
            - team-a
        metrics:
          bindAddress: ":8443"
          localQueueMetrics:
            enable: true
        multiKueue:
          dispatcherName: kueue.x-k8s.io/multikueue-dispatcher-all-at-once
          gcInterval: 1m0s
          origin: multikueue
          workerLostTimeout: 15m0s
        namespace: team-a
        visibilityServer:
          bindPort: 8082
        waitForPodsReady:
          blockAdmission: false
          recoveryTimeout: 1m30s
          requeuingStrategy:
            backoffBaseSeconds: 60
            backoffMaxSeconds: 3600
            timestamp: Eviction
          timeout: 1m30s
        webhook:
          certDir: /tmp/k8s-webhook-server/serving-certs
          port: 9443
        --
    "#]],
    );
}

#[test]
fn a_file_is_named_as_the_user_names_it() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(folder.join("good.yaml"), "namespace: team-a\n").unwrap();
    std::fs::write(folder.join("broken.yaml"), "namespace: team-a\nname: x\n").unwrap();
    assert_eq!(run(&["config", "check", "good.yaml"], ""), run(&["config", "check", "-"], "namespace: team-a\n"));
    check(
        &["config", "check", "./broken.yaml"],
        "",
        &expect![[r#"
        exit 1
        --
        ./broken.yaml:2: name: Unknown field
        ./broken.yaml: 1 problem
    "#]],
    );
}

#[test]
fn the_configuration_we_ship_is_fine() {
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../manifests/src/manager/controller_manager_config.yaml");
    let (code, out, errors) = run(&["config", "check", shipped], "");
    assert_eq!((code, errors.as_str()), (0, ""));
    for setting in ["Workload.kueue.x-k8s.io: 10", "- leaderworkerset.x-k8s.io/leaderworkerset", "qps: 300"] {
        assert!(out.contains(setting), "{setting} in {out}");
    }
}

#[test]
fn what_is_printed_can_be_read_again() {
    let input = "fairSharing: {preemptionStrategies: [LessThanInitialShare]}\nfeatureGates: {}\n\
                 controller: {groupKindConcurrency: {Job.batch: 5}, cacheSyncTimeout: 3}\n\
                 resources:\n  transformations: [{input: cpu, outputs: {'on': 1500m, '0x1': 3e3}}]\n";
    let (code, once, notes) = run(&["config", "check", "-"], input);
    assert_eq!(code, 0);
    assert_eq!(run(&["config", "check", "-"], &once), (0, once, notes));
}

#[test]
fn a_file_of_the_old_version_is_told_what_will_change() {
    let input = "apiVersion: config.kueue.x-k8s.io/v1beta1\nkind: Configuration\nqueueVisibility: {clusterQueues: {maxCount: 5}}\n\
                 integrations: {podOptions: {podSelector: {}}}\n";
    let (code, out, notes) = run(&["config", "check", "-"], input);
    assert_eq!(code, 0);
    assert!(out.contains("v1beta2") && !out.contains("waitForPodsReady"), "{out}");
    expect![[r#"
        <stdin>: note: queueVisibility has no effect: ask the visibility server instead
        <stdin>: note: integrations.podOptions has no effect: use managedJobsNamespaceSelector instead
        <stdin>: note: waitForPodsReady is off here, but on by default in v1beta2; there only the feature gate DisableWaitForPodsReady turns it off
    "#]].assert_eq(&notes);
    let (_, _, notes) =
        run(&["config", "check", "-"], "apiVersion: config.kueue.x-k8s.io/v1beta1\nwaitForPodsReady: {enable: true}\n");
    assert_eq!(notes, "");
}

#[test]
fn a_broken_file_tells_everything_at_once() {
    let input = "\
namespace: team-a
metrics:
  bindAdress: ':8443'
  customLabels:
  - name: 1st
waitForPodsReady:
  timeout: -5m
  blockAdmission: sometimes
namespace: team-b
";
    check(
        &["config", "check", "-"],
        input,
        &expect![[r#"
            exit 1
            --
            <stdin>:3: metrics.bindAdress: Unknown field: did you mean "bindAddress"?
            <stdin>:5: metrics.customLabels[0].name: Invalid value: "1st": must match ^[a-zA-Z][a-zA-Z0-9_]*$
            <stdin>:6: waitForPodsReady.recoveryTimeout: Invalid value: "-5m0s": must be greater than or equal to 0
            <stdin>:7: waitForPodsReady.timeout: Invalid value: "-5m0s": must be greater than or equal to 0
            <stdin>:8: waitForPodsReady.blockAdmission: Invalid value: "sometimes": must be true or false
            <stdin>:9: namespace: Duplicate field: already set in line 1
            <stdin>: 6 problems
        "#]],
    );
}

#[test]
fn json_is_read_as_well() {
    check(
        &["config", "check", "-"],
        "{\n  \"kind\": \"Configuration\",\n  \"namespaces\": 1\n}\n",
        &expect![[r#"
            exit 1
            --
            <stdin>:3: namespaces: Unknown field: did you mean "namespace"?
            <stdin>: 1 problem
        "#]],
    );
    let (code, out, _) = run(&["config", "check", "-"], "{\"namespace\": \"team-a\"}");
    assert_eq!(code, 0);
    assert!(out.contains("\nnamespace: team-a\n"), "{out}");
}

#[test]
fn files_that_cannot_be_read_are_named() {
    check(
        &["config", "check", "no/such/file.yaml"],
        "",
        &expect![[r#"
        exit 1
        --
        open no/such/file.yaml: no such file or directory
    "#]],
    );
    check(
        &["config", "check", "."],
        "",
        &expect![[r#"
        exit 1
        --
        read .: is a directory
    "#]],
    );
    check(
        &["config", "check", "-"],
        b"namespace: \xff\n",
        &expect![[r#"
        exit 1
        --
        read -: not UTF-8
    "#]],
    );
    check(
        &["config", "check", "-"],
        "#".repeat((1 << 20) + 1),
        &expect![[r#"
        exit 1
        --
        <stdin>: the text is larger than 1048576 bytes
        <stdin>: 1 problem
    "#]],
    );
}

#[test]
fn the_flag_and_the_file_exclude_each_other() {
    check(
        &["config", "check", "--feature-gates=PartialAdmission=false", "-"],
        "featureGates: {PartialAdmission: true}\n",
        &expect![[r#"
            exit 1
            --
            <stdin>:1: featureGates: Invalid value: {"PartialAdmission":true}: feature gates for CLI and configuration cannot both specified
            <stdin>: 1 problem
        "#]],
    );
    check(
        &["config", "check", "--feature-gates=Nonsense=true", "-"],
        "",
        &expect![[r#"
            exit 1
            --
            <stdin>: featureGates: Invalid value: "Nonsense=true": unrecognized feature gate: Nonsense
            <stdin>: 1 problem
        "#]],
    );
}

#[test]
fn expressions_that_were_not_compiled_are_admitted() {
    let input = "\
resources:
  deviceClassMappings:
  - name: gpu.memory
    deviceClassNames: [mig.example.com]
    sources:
    - counter: {name: memory, driver: gpu.example.com, deviceSelector: {cel: {expression: 'device.driver =='}}}
";
    let (code, _, errors) = run(&["config", "check", "-"], input);
    assert_eq!(code, 0);
    expect![[r#"
        <stdin>: note: CEL is not compiled by this command (1 found)
    "#]]
    .assert_eq(&errors);
}

#[test]
fn help_teaches_and_version_is_told() {
    let (code, help, _) = run(&["config", "check", "--help"], "");
    assert_eq!(code, 0);
    expect![[r#"
        Says what a configuration file means, or everything that is wrong with it.

        Prints the effective configuration as YAML: what the file says and the defaults for what it does not say, in version v1beta2 whichever version the file has. If anything is wrong, prints every problem with line, field, value and reason on standard error and exits with 1. No cluster is needed or asked.

        Usage: kueue config check [OPTIONS] <FILE>

        Arguments:
          <FILE>
                  The file, YAML or JSON; `-` reads standard input

        Options:
              --feature-gates <LIST>
                  Feature gates as the manager's flag of that name has them: a list of Name=true or Name=false, separated by commas. A file with featureGates excludes it

          -h, --help
                  Print help (see a summary with '-h')

        Examples:
          Check a file before it goes into the ConfigMap:
            kueue config check controller_manager_config.yaml

          Check what a cluster runs with:
            kubectl get configmap kueue-manager-config -n kueue-system \
              -o jsonpath='{.data.controller_manager_config\.yaml}' | kueue config check -

          See all defaults:
            kueue config check /dev/null

          Check together with the flag of the manager:
            kueue config check --feature-gates=PartialAdmission=false config.yaml
    "#]].assert_eq(&help);
    let (code, version, _) = run(&["--version"], "");
    assert_eq!((code, version), (0, format!("kueue {}\n", env!("CARGO_PKG_VERSION"))));
}
