use super::*;
use crate::auth::attributes::Place;
use crate::json::json;

/// Writes an object into a store, whether or not it is there.
fn put(store: &Store, collection: &str, place: &str, value: Value) {
    let (namespace, name) = place.split_once('/').unwrap_or(("", place));
    let key = Key::new(namespace, name);
    let mut value = value;
    value["metadata"]["name"] = name.into();
    match store.get(collection, &key) {
        Some(read) => drop(store.update(collection, key, &read, value).unwrap()),
        None => drop(store.create(collection, key, value).unwrap()),
    }
}

fn role(rules: &Value) -> Value {
    json!({"rules": rules})
}

fn binding(role: &str, subject: &Value) -> Value {
    let (kind, name) = role.split_once(' ').unwrap();
    json!({"roleRef": {"kind": kind, "name": name}, "subjects": [subject]})
}

/// `verb group/resource[/sub] namespace name` or `verb /path`.
fn wanted(text: &str) -> Attributes {
    let parts: Vec<&str> = text.split(' ').collect();
    let at = |index: usize| parts.get(index).copied().unwrap_or_default().to_owned();
    if parts[1].starts_with('/') {
        return Attributes { verb: at(0), what: Wanted::Path(at(1)) };
    }
    let resource: Vec<&str> = parts[1].split('/').collect();
    let part = |index: usize| resource.get(index).copied().unwrap_or_default().to_owned();
    let place = Place {
        group: part(0).replace("core", ""),
        resource: part(1),
        subresource: part(2),
        namespace: at(2),
        name: at(3),
    };
    Attributes::resource(&at(0), place)
}

fn user(name: &str, groups: &[&str]) -> User {
    User { name: name.into(), groups: groups.iter().map(|group| (*group).to_owned()).collect(), ..User::default() }
}

#[test]
fn a_rule_allows_what_its_lists_name() {
    let pods = json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]});
    let named = json!({"apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"], "verbs": ["*"]});
    let scale = json!({"apiGroups": ["apps"], "resources": ["*/scale"], "verbs": ["*"]});
    let every = json!({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]});
    let paths = json!({"nonResourceURLs": ["/metrics", "/x/*"], "verbs": ["get"]});
    let cases = [
        (&pods, "get core/pods n a", true),
        (&pods, "watch core/pods n", false),
        (&pods, "get core/pods/status n a", false),
        (&pods, "get apps/pods n a", false),
        (&named, "delete core/pods n a", true),
        (&named, "delete core/pods n b", false),
        (&named, "list core/pods n", false),
        (&scale, "get apps/deployments/scale n d", true),
        (&scale, "get apps/deployments n d", false),
        (&scale, "get apps/deployments/status n d", false),
        (&every, "bind a.example.com/things/status n d", true),
        (&every, "get /metrics", false),
        (&paths, "get /metrics", true),
        (&paths, "get /metrics/a", false),
        (&paths, "get /x/y/z", true),
        (&paths, "get /x", false),
        (&paths, "put /metrics", false),
    ];
    for (rule, text, expected) in cases {
        let rules = Rule::list(&json!([rule]));
        assert_eq!(rules[0].allows(&wanted(text)), expected, "{rule} {text}");
    }
}

#[test]
fn a_decision_names_the_binding_that_allowed_it() {
    let store = Store::default();
    let rbac = Rbac::new(&store);
    put(&store, CLUSTER_ROLES, "view", role(&json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}])));
    put(&store, CLUSTER_BINDINGS, "all", binding("ClusterRole view", &json!({"kind": "Group", "name": "g"})));
    put(&store, BINDINGS, "n/some", binding("ClusterRole view", &json!({"kind": "User", "name": "u"})));
    let account = json!({"kind": "ServiceAccount", "name": "a"});
    put(&store, BINDINGS, "n/bots", binding("ClusterRole view", &account));
    let said = |user: &User, text: &str| rbac.decide(&store, user, &wanted(text)).reason;
    let get = "get core/pods n p";
    assert_eq!(
        said(&user("x", &["g"]), get),
        "RBAC: allowed by ClusterRoleBinding \"all\" of ClusterRole \"view\" to Group \"g\""
    );
    assert_eq!(
        said(&user("u", &[]), get),
        "RBAC: allowed by RoleBinding \"some/n\" of ClusterRole \"view\" to User \"u\""
    );
    assert_eq!(
        said(&user("system:serviceaccount:n:a", &[]), get),
        "RBAC: allowed by RoleBinding \"bots/n\" of ClusterRole \"view\" to ServiceAccount \"a/n\""
    );
    for refused in ["get core/pods m p", "delete core/pods n p", "get core/nodes"] {
        let decision = rbac.decide(&store, &user("u", &[]), &wanted(refused));
        assert_eq!(decision, Decision { is_allowed: false, reason: String::new() }, "{refused}");
    }
}

#[test]
fn changes_take_effect_at_once() {
    let store = Store::default();
    let rbac = Rbac::new(&store);
    let may = || rbac.decide(&store, &user("u", &[]), &wanted("get core/pods n p"));
    put(&store, BINDINGS, "n/b", binding("Role r", &json!({"kind": "User", "name": "u"})));
    assert_eq!(may().reason, "RBAC: role.rbac.authorization.k8s.io \"r\" not found");
    put(&store, ROLES, "n/r", role(&json!([])));
    assert_eq!(may(), Decision { is_allowed: false, reason: String::new() });
    put(&store, ROLES, "n/r", role(&json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}])));
    assert!(may().is_allowed);
    put(&store, BINDINGS, "n/b", binding("Role r", &json!({"kind": "User", "name": "v"})));
    assert!(!may().is_allowed);
}

#[test]
fn what_was_forgotten_is_read_again() {
    let store = Store::with_history(4);
    let rbac = Rbac::new(&store);
    let may = |name: &str| rbac.decide(&store, &user(name, &[]), &wanted("get core/pods n p")).is_allowed;
    put(&store, ROLES, "n/r", role(&json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}])));
    put(&store, BINDINGS, "n/b0", binding("Role r", &json!({"kind": "User", "name": "u0"})));
    assert!(may("u0"));
    let read = store.get(BINDINGS, &Key::new("n", "b0")).unwrap();
    store.delete(BINDINGS, Key::new("n", "b0"), &read, json!({})).unwrap();
    for index in 1..20 {
        let subject = json!({"kind": "User", "name": format!("u{index}")});
        put(&store, BINDINGS, &format!("n/b{index}"), binding("Role r", &subject));
    }
    assert!(!may("u0"));
    assert!(may("u1") && may("u19"));
}
