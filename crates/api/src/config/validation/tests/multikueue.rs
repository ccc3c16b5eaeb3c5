//! MultiKueue: clusters, external frameworks, cluster profiles.

use expect_test::expect;

use super::check_file;

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
