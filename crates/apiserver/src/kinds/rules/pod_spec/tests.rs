//! One mistake each in a pod that is otherwise fine: what changes, and what the server says.
#![expect(clippy::needless_pass_by_value, reason = "cases read better without references")]

use super::super::check::{Field, lines};
use super::super::pod_template::default_spec;
use super::*;
use crate::json::{Value, json};

/// A pod with one container, as it is after defaults.
fn pod(change: impl Fn(&mut Value)) -> Value {
    let mut spec = json!({"containers": [{"name": "c", "image": "i"}], "volumes": [{"name": "v", "emptyDir": {}}]});
    change(&mut spec);
    default_spec(&mut spec);
    json!({"metadata": {"name": "p"}, "spec": spec})
}

fn say(change: impl Fn(&mut Value)) -> Vec<String> {
    let pod = pod(change);
    let mut errors = Errors::new();
    check_spec(&Field::root(&pod).child("spec"), Owner::Pod(&pod["metadata"]), &mut errors);
    lines(&errors)
}

/// Sets a field of the spec and compares what is said of it.
#[track_caller]
fn check(path: &str, value: Value, expected: &[&str]) {
    let said = say(|spec| *spec.pointer_mut(path).unwrap_or_else(|| panic!("{path}")) = value.clone());
    assert_eq!(said, expected, "{path} = {value}");
}

/// Adds fields to the container.
#[track_caller]
fn check_container(fields: Value, expected: &[&str]) {
    let said = say(|spec| {
        let container = spec["containers"][0].as_object_mut().unwrap();
        container.extend(fields.as_object().unwrap().clone());
    });
    assert_eq!(said, expected, "{fields}");
}

/// Adds fields to the spec.
#[track_caller]
fn check_more(fields: Value, expected: &[&str]) {
    let said = say(|spec| spec.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone()));
    assert_eq!(said, expected, "{fields}");
}

const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

#[test]
fn a_plain_pod_is_fine() {
    assert_eq!(say(|_| {}), [""; 0]);
}

#[test]
fn containers_have_names_and_images() {
    check("/containers", json!([]), &["spec.containers: Required value"]);
    check("/containers/0/name", "C".into(), &[&format!("spec.containers[0].name: Invalid value: \"C\": {LABEL}")]);
    check("/containers/0/image", "".into(), &["spec.containers[0].image: Required value"]);
    check(
        "/containers/0/image",
        " i".into(),
        &["spec.containers[0].image: Invalid value: \" i\": must not have leading or trailing whitespace"],
    );
    let twice = json!([{"name": "c", "image": "i"}, {"name": "c", "image": "i"}]);
    check("/containers", twice, &["spec.containers[1].name: Duplicate value: \"c\""]);
    check_more(
        json!({"initContainers": [{"name": "c", "image": "i"}]}),
        &["spec.initContainers[0].name: Duplicate value: \"c\""],
    );
    check_container(
        json!({"imagePullPolicy": "Sometimes"}),
        &[
            "spec.containers[0].imagePullPolicy: Unsupported value: \"Sometimes\": supported values: \"Always\", \"IfNotPresent\", \"Never\"",
        ],
    );
}

#[test]
fn ports_are_numbers_with_names() {
    let port = |port: Value| json!({"ports": [port]});
    check_container(port(json!({"containerPort": 80, "name": "http"})), &[]);
    check_container(port(json!({"name": "http"})), &["spec.containers[0].ports[0].containerPort: Required value"]);
    check_container(
        port(json!({"containerPort": 70_000})),
        &["spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive"],
    );
    check_container(
        port(json!({"containerPort": 80, "protocol": "X"})),
        &[
            "spec.containers[0].ports[0].protocol: Unsupported value: \"X\": supported values: \"SCTP\", \"TCP\", \"UDP\"",
        ],
    );
    check_container(
        json!({"ports": [{"containerPort": 80, "hostPort": 1}, {"containerPort": 81, "hostPort": 1}]}),
        &["spec.containers[0].ports[1].hostPort: Duplicate value: \"TCP//1\""],
    );
    let said = say(|spec| {
        spec["hostNetwork"] = true.into();
        spec["containers"][0]["ports"] = json!([{"containerPort": 80, "hostPort": 81}]);
    });
    assert_eq!(
        said,
        [
            "spec.containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when `hostNetwork` is true"
        ]
    );
}

#[test]
fn a_variable_has_one_source() {
    let from = |source: Value| json!({"env": [{"name": "A", "valueFrom": source}]});
    let at = "spec.containers[0].env[0].valueFrom";
    check_container(json!({"env": [{"name": ""}]}), &["spec.containers[0].env[0].name: Required value"]);
    check_container(
        json!({"env": [{"name": "A=B"}]}),
        &[
            "spec.containers[0].env[0].name: Invalid value: \"A=B\": a valid environment variable name must consist only of printable ASCII characters other than '='",
        ],
    );
    check_container(from(json!({"fieldRef": {"fieldPath": "metadata.labels['a']"}})), &[]);
    check_container(
        from(json!({"fieldRef": {"fieldPath": "spec.x"}})),
        &[&format!(
            "{at}.fieldRef.fieldPath: Invalid value: \"spec.x\": error converting fieldPath: field label not supported: spec.x"
        )],
    );
    check_container(
        from(json!({"resourceFieldRef": {"resource": "limits.x"}})),
        &[&format!(
            "{at}.resourceFieldRef.resource: Unsupported value: \"limits.x\": supported values: \"limits.cpu\", \"limits.ephemeral-storage\", \"limits.memory\", \"requests.cpu\", \"requests.ephemeral-storage\", \"requests.memory\""
        )],
    );
    check_container(
        from(json!({"configMapKeyRef": {"name": "a", "key": ""}})),
        &[&format!("{at}.configMapKeyRef.key: Required value")],
    );
    check_container(
        json!({"env": [{"name": "A", "value": "x", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}}]}),
        &[&format!("{at}: Invalid value: \"\": may not be specified when `value` is not empty")],
    );
    check_container(
        json!({"envFrom": [{}]}),
        &["spec.containers[0].envFrom: Invalid value: \"\": must specify one of: `configMapRef` or `secretRef`"],
    );
}

#[test]
fn requests_fit_into_limits() {
    let with = |requests: Value, limits: Value| json!({"resources": {"requests": requests, "limits": limits}});
    let at = "spec.containers[0].resources";
    check_container(with(json!({"cpu": "1"}), json!({"cpu": "2"})), &[]);
    check_container(
        with(json!({"cpu": "2"}), json!({"cpu": "1"})),
        &[&format!("{at}.requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1")],
    );
    check_container(
        with(json!({"a.b/gpu": "1"}), json!({"a.b/gpu": "2"})),
        &[&format!("{at}.requests: Invalid value: \"1\": must be equal to a.b/gpu limit of 2")],
    );
    check_container(
        with(json!({"a.b/gpu": "1"}), json!({})),
        &[&format!("{at}.limits: Required value: Limit must be set for non overcommitable resources")],
    );
    check_container(
        with(json!({"cpu": "-1"}), json!({})),
        &[&format!("{at}.requests[cpu]: Invalid value: \"-1\": must be greater than or equal to 0")],
    );
    check_container(
        with(json!({"gpu": "1"}), json!({})),
        &[
            &format!("{at}.requests[gpu]: Invalid value: \"gpu\": must be a standard resource type or fully qualified"),
            &format!("{at}.requests[gpu]: Invalid value: \"gpu\": must be a standard resource for containers"),
        ],
    );
    check_container(
        with(json!({"a.b/gpu": "500m"}), json!({"a.b/gpu": "500m"})),
        &[
            &format!("{at}.limits[a.b/gpu]: Invalid value: \"500m\": must be an integer"),
            &format!("{at}.requests[a.b/gpu]: Invalid value: \"500m\": must be an integer"),
        ],
    );
    check_container(
        json!({"resources": {"claims": [{"name": "x"}]}}),
        &[
            "spec.containers[0].resources.claims[0]: Not found: \"x\": must be one of the names in pod.spec.resourceClaims which is empty",
        ],
    );
    check_container(
        with(json!({}), json!({"hugepages-2Mi": "2Mi"})),
        &["spec.containers[0].resources: Forbidden: HugePages require cpu or memory"],
    );
}

#[test]
fn a_pod_asks_for_at_least_what_its_containers_do() {
    let said = say(|spec| {
        spec["resources"] = json!({"requests": {"cpu": "1"}, "limits": {"cpu": "1"}});
        spec["containers"][0]["resources"] = json!({"requests": {"cpu": "2"}, "limits": {"cpu": "2"}});
    });
    assert_eq!(
        said,
        [
            "spec.resources.requests[cpu]: Invalid value: \"1\": must be greater than or equal to aggregate container requests of 2",
            "spec.resources.containers[0][cpu].limits: Invalid value: \"2\": must be less than or equal to pod limits of 1",
        ]
    );
}

#[test]
fn volumes_have_one_source_and_mounts_a_volume() {
    check(
        "/volumes/0",
        json!({"name": "V", "emptyDir": {}}),
        &[&format!("spec.volumes[0].name: Invalid value: \"V\": {LABEL}")],
    );
    check(
        "/volumes/0",
        json!({"name": "v", "emptyDir": {}, "hostPath": {"path": "/"}}),
        &["spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type"],
    );
    check("/volumes/0", json!({"name": "v", "secret": {}}), &["spec.volumes[0].secret.secretName: Required value"]);
    check(
        "/volumes/0",
        json!({"name": "v", "configMap": {"name": "a", "defaultMode": 512}}),
        &[
            "spec.volumes[0].configMap.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive",
        ],
    );
    check(
        "/volumes/0",
        json!({"name": "v", "configMap": {"name": "a", "items": [{"key": "k", "path": "../x"}]}}),
        &["spec.volumes[0].configMap.items[0].path: Invalid value: \"../x\": must not contain '..'"],
    );
    let mount = |mount: Value| json!({"volumeMounts": [mount]});
    check_container(mount(json!({"name": "v", "mountPath": "/a"})), &[]);
    check_container(
        mount(json!({"name": "w", "mountPath": "/a"})),
        &["spec.containers[0].volumeMounts[0].name: Not found: \"w\""],
    );
    check_container(
        json!({"volumeMounts": [{"name": "v", "mountPath": "/a"}, {"name": "v", "mountPath": "/a"}]}),
        &["spec.containers[0].volumeMounts[1].mountPath: Invalid value: \"/a\": must be unique"],
    );
    check_container(
        mount(json!({"name": "v", "mountPath": "/a", "subPath": "/b"})),
        &["spec.containers[0].volumeMounts.subPath: Invalid value: \"/b\": must be a relative path"],
    );
    check_container(
        mount(json!({"name": "v", "mountPath": "/a", "mountPropagation": "Bidirectional"})),
        &[
            "spec.containers[0].volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers",
        ],
    );
}

#[test]
fn probes_have_one_handler() {
    let probe = |probe: Value| json!({"livenessProbe": probe});
    let at = "spec.containers[0].livenessProbe";
    check_container(probe(json!({"httpGet": {"port": 80}})), &[]);
    check_container(probe(json!({})), &[&format!("{at}: Required value: must specify a handler type")]);
    check_container(
        probe(json!({"exec": {"command": ["a"]}, "tcpSocket": {"port": 1}})),
        &[&format!("{at}.tcpSocket: Forbidden: may not specify more than 1 handler type")],
    );
    check_container(
        probe(json!({"tcpSocket": {"port": 0}})),
        &[&format!("{at}.tcpSocket.port: Invalid value: 0: must be between 1 and 65535, inclusive")],
    );
    check_container(
        probe(json!({"exec": {"command": ["a"]}, "successThreshold": 2, "periodSeconds": -1})),
        &[
            &format!("{at}.periodSeconds: Invalid value: -1: must be greater than or equal to 0"),
            &format!("{at}.successThreshold: Invalid value: 2: must be 1"),
        ],
    );
    check_container(
        json!({"lifecycle": {"preStop": {"sleep": {"seconds": 31}}}}),
        &[
            "spec.containers[0].lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than terminationGracePeriodSeconds (30)",
        ],
    );
    check_more(
        json!({"initContainers": [{"name": "i", "image": "i", "livenessProbe": {"exec": {"command": ["a"]}}}]}),
        &[
            "spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers without restartPolicy=Always",
        ],
    );
}

#[test]
fn restart_policies_are_words() {
    check_more(
        json!({"restartPolicy": "Sometimes"}),
        &[
            "spec.restartPolicy: Unsupported value: \"Sometimes\": supported values: \"Always\", \"OnFailure\", \"Never\"",
        ],
    );
    let init = |policy: &str| json!({"initContainers": [{"name": "i", "image": "i", "restartPolicy": policy}]});
    check_more(init("Always"), &[]);
    check_more(
        init("X"),
        &[
            "spec.initContainers[0].restartPolicy: Unsupported value: \"X\": supported values: \"Always\", \"Never\", \"OnFailure\"",
        ],
    );
}

#[test]
fn tolerations_match_something() {
    let toleration = |toleration: Value| json!({"tolerations": [toleration]});
    check_more(toleration(json!({"operator": "Exists"})), &[]);
    check_more(
        toleration(json!({"value": "x"})),
        &[
            "spec.tolerations[0].operator: Invalid value: \"\": operator must be Exists when `key` is empty, which means \"match all values and all keys\"",
        ],
    );
    check_more(
        toleration(json!({"key": "a", "operator": "Exists", "value": "x"})),
        &["spec.tolerations[0].operator: Invalid value: \"x\": value must be empty when `operator` is 'Exists'"],
    );
    check_more(
        toleration(json!({"key": "a", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 1})),
        &[
            "spec.tolerations[0].effect: Invalid value: \"NoSchedule\": effect must be 'NoExecute' when `tolerationSeconds` is set",
        ],
    );
    check_more(
        toleration(json!({"key": "a", "operator": "Exists", "effect": "X"})),
        &[
            "spec.tolerations[0].effect: Unsupported value: \"X\": supported values: \"NoSchedule\", \"PreferNoSchedule\", \"NoExecute\"",
        ],
    );
}

#[test]
fn affinities_are_complete() {
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    check_more(
        json!({"affinity": {"nodeAffinity": {required: {"nodeSelectorTerms": []}}}}),
        &[
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required value: must have at least one node selector term",
        ],
    );
    check_more(
        json!({"affinity": {"nodeAffinity": {preferred: [{"weight": 101, "preference": {}}]}}}),
        &[
            "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 101: must be in the range 1-100",
        ],
    );
    let term = json!({"matchExpressions": [{"key": "a", "operator": "In", "values": []}]});
    check_more(
        json!({"affinity": {"nodeAffinity": {required: {"nodeSelectorTerms": [term]}}}}),
        &[
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
        ],
    );
    let said = say(|spec| spec["affinity"] = json!({"podAffinity": {required: [{"labelSelector": {}}]}}));
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(said[0].ends_with("[0].topologyKey: Required value: can not be empty"));
}

#[test]
fn spreading_needs_a_key_and_a_bound() {
    let spread = |list: Value| json!({"topologySpreadConstraints": list});
    let fine = json!({"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"});
    check_more(spread(json!([fine])), &[]);
    check_more(
        spread(json!([fine, fine])),
        &[
            "spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: \"{zone, DoNotSchedule}\"",
        ],
    );
    check_more(
        spread(json!([{"topologyKey": "", "whenUnsatisfiable": "X", "minDomains": 1}])),
        &[
            "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
            "spec.topologySpreadConstraints[0].topologyKey: Required value: can not be empty",
            "spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: \"X\": supported values: \"DoNotSchedule\", \"ScheduleAnyway\"",
            "spec.topologySpreadConstraints[0].minDomains: Invalid value: 1: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not X",
        ],
    );
}

#[test]
fn gates_have_qualified_names_once() {
    check_more(
        json!({"schedulingGates": [{"name": "a"}, {"name": "a"}]}),
        &["spec.schedulingGates[1]: Duplicate value: \"a\""],
    );
    assert_eq!(say(|spec| spec["schedulingGates"] = json!([{"name": "a b"}])).len(), 1);
}

#[test]
fn security_contexts_do_not_contradict_themselves() {
    check_more(
        json!({"securityContext": {"runAsUser": -1}}),
        &["spec.securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive"],
    );
    check_more(
        json!({"securityContext": {"seccompProfile": {"type": "Localhost"}}}),
        &[
            "spec.securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost",
        ],
    );
    let said = say(|spec| {
        spec["containers"][0]["securityContext"] = json!({"privileged": true, "allowPrivilegeEscalation": false});
    });
    assert!(said[0].ends_with("cannot set `allowPrivilegeEscalation` to false and `privileged` to true"), "{said:?}");
    check_more(json!({"hostUsers": false, "hostPID": true}), &["spec.HostPID: Forbidden: when `hostUsers` is false"]);
    check_more(
        json!({"os": {"name": "windows"}, "hostPID": true}),
        &["spec.hostPID: Forbidden: cannot be set for a windows pod"],
    );
}

#[test]
fn name_resolution_has_servers_and_domains() {
    check_more(
        json!({"dnsPolicy": "None"}),
        &["spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"],
    );
    check_more(
        json!({"dnsConfig": {"nameservers": ["x"], "searches": ["_a.b.", "."], "options": [{}]}}),
        &[
            "spec.dnsConfig.nameservers[0]: Invalid value: \"x\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
            "spec.dnsConfig.options[0]: Required value: must not be empty",
        ],
    );
}

#[test]
fn claims_have_one_origin() {
    let said = say(|spec| spec["resourceClaims"] = json!([{"name": "a"}]));
    assert!(said[0].ends_with("must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"), "{said:?}");
    check_more(
        json!({"resourceClaims": [
            {"name": "a", "resourceClaimName": "x"}, {"name": "a", "resourceClaimName": "x"}]}),
        &["spec.resourceClaims[1].name: Duplicate value: \"a\""],
    );
}

#[test]
fn numbers_have_bounds() {
    check_more(
        json!({"activeDeadlineSeconds": 0}),
        &["spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive"],
    );
    check_more(
        json!({"preemptionPolicy": "X"}),
        &["spec.preemptionPolicy: Unsupported value: \"X\": supported values: \"PreemptLowerPriority\", \"Never\""],
    );
}

#[test]
fn a_template_tells_its_labels_without_metadata() {
    let template = json!({"metadata": {"labels": {"a": "b c"}}, "spec": pod(|_| {})["spec"]});
    let mut errors = Errors::new();
    check_template(&Field { value: &template, path: kueue_core::field::Path::new("t") }, &mut errors);
    assert!(lines(&errors)[0].starts_with("t.labels: Invalid value: \"b c\""), "{errors:?}");
}

#[test]
fn the_cost_of_deletion_is_a_plain_number() {
    for (text, is_fine) in
        [("-5", true), ("0", true), ("+5", false), ("05", false), ("x", false), ("3000000000", false)]
    {
        assert_eq!(is_cost(text), is_fine, "{text}");
    }
}
