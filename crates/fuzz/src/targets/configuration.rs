//! The configuration file, damaged as text: what is accepted prints back to the same configuration.

use kueue_api::config::{check as judge, encode, load};

use super::{Samples, Target};

const NAMESPACE: &str = "kueue-system";

const SAMPLES: &[&str] = &[
    "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nnamespace: kueue-system\nmetrics:\n  bindAddress: :8443\n  \
     enableClusterQueueResources: true\nwaitForPodsReady:\n  timeout: 5m\n  requeuingStrategy: {timestamp: Eviction, backoffLimitCount: 3}\n\
     managedJobsNamespaceSelector:\n  matchExpressions:\n  - {key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system]}\n\
     integrations:\n  frameworks: [batch/job, pod]\nfairSharing:\n  preemptionStrategies: [LessThanInitialShare]\n\
     resources:\n  transformations:\n  - {input: nvidia.com/mig-1g.5gb, strategy: Replace, outputs: {example.com/gpu: 100m}}\n\
     featureGates: {MultiKueue: true}\n",
    "apiVersion: config.kueue.x-k8s.io/v1beta1\nkind: Configuration\nwaitForPodsReady: {enable: true}\nfairSharing: {enable: true}\n",
    "{\"apiVersion\": \"config.kueue.x-k8s.io/v1beta2\", \"kind\": \"Configuration\", \"clientConnection\": {\"qps\": 50, \"burst\": 100}}",
    "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nx: &a [1, 2]\ny: *a\nmultiKueue: {gcInterval: null, workerLostTimeout: 10m}\n",
];

pub(super) fn target() -> Target {
    Target { name: "configuration", samples: Samples::Texts(SAMPLES), check, explain: None }
}

fn check(input: &str) -> Result<(), String> {
    let _ = judge(input, "", NAMESPACE, &|_| Ok(()));
    let Ok(configuration) = load(input, NAMESPACE) else { return Ok(()) };
    let printed = encode(&configuration);
    let again = load(&printed, NAMESPACE)
        .map_err(|problems| format!("{input:?} prints as {printed:?}, which is refused: {problems}"))?;
    // A file of the old version is printed in the new one, whose defaults fill in what the old one does not have.
    let is_same = again == configuration || input.contains("v1beta1");
    if is_same && encode(&again) == encode(&load(&encode(&again), NAMESPACE).unwrap_or_default()) {
        Ok(())
    } else {
        Err(format!("{input:?} prints as something else: {printed:?}"))
    }
}
