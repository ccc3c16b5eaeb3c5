//! ServiceAccount: the account a pod runs as, its token as a volume, its pull secrets. Switched by a setting, because
//! recordings of a bare server are without it.

use std::sync::Arc;

use super::{Plugin, creates_pod, forbidden};
use crate::admission::Attributes;
use crate::json::{Value, json};
use crate::kinds::pod_resources::containers;
use crate::kinds::text_at;
use crate::random::Random;
use crate::rest::service::Server;
use crate::status::Result;
use crate::store::{Key, Object};

const MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
const VOLUME_PREFIX: &str = "kube-api-access-";
const MIRROR: &str = "kubernetes.io/config.mirror";
const ENFORCES: &str = "kubernetes.io/enforce-mountable-secrets";
/// What pods of old were given, and what still means "as long as the pod lives".
const TOKEN_SECONDS: u64 = 3607;

pub const PLUGIN: Plugin = Plugin {
    applies: creates_pod,
    mutate: Some(|server, attributes, object, _| match object {
        Some(pod) if server.assigns_accounts && !is_mirror(pod) => assign(server, attributes, pod),
        _ => Ok(()),
    }),
    validate: Some(|server, attributes, object, _| match object {
        Some(pod) if server.assigns_accounts => check(server, attributes, pod),
        _ => Ok(()),
    }),
    ..Plugin::NONE
};

fn is_mirror(pod: &Value) -> bool {
    pod["metadata"]["annotations"].get(MIRROR).is_some()
}

fn account_of(server: &Server, attributes: &Attributes<'_>, name: &str) -> Result<Arc<Object>> {
    let namespace = attributes.namespace;
    let missing = || {
        let why = format!("error looking up service account {namespace}/{name}: serviceaccount \"{name}\" not found");
        forbidden(attributes, &why)
    };
    server.store.get("serviceaccounts", &Key::new(namespace, name)).ok_or_else(missing)
}

fn assign(server: &Server, attributes: &Attributes<'_>, pod: &mut Value) -> Result<()> {
    let spec = &mut pod["spec"];
    if !spec.is_object() {
        return Ok(());
    }
    if text_at(spec, &["serviceAccountName"]).is_empty() {
        spec["serviceAccountName"] = "default".into();
        spec["serviceAccount"] = "default".into();
    }
    let account = account_of(server, attributes, text_at(spec, &["serviceAccountName"]))?;
    let account = &account.value;
    let mounts = spec["automountServiceAccountToken"].as_bool();
    if mounts.or(account["automountServiceAccountToken"].as_bool()).unwrap_or(true) {
        mount_token(spec, &server.random);
    }
    let has_secrets = |of: &Value| of["imagePullSecrets"].as_array().is_some_and(|list| !list.is_empty());
    if !has_secrets(spec) && has_secrets(account) {
        spec["imagePullSecrets"] = account["imagePullSecrets"].clone();
    }
    Ok(())
}

/// Mounts the token into every container that has nothing at its place.
fn mount_token(spec: &mut Value, random: &Random) {
    let names = spec["volumes"].as_array().into_iter().flatten().map(|volume| text_at(volume, &["name"]));
    let own = names.filter(|name| name.starts_with(VOLUME_PREFIX)).map(str::to_owned).next();
    let has_volume = own.is_some();
    let name = own.unwrap_or_else(|| format!("{VOLUME_PREFIX}{}", random.name_suffix()));
    let mut is_needed = false;
    for which in ["initContainers", "containers"] {
        for container in spec.get_mut(which).and_then(Value::as_array_mut).into_iter().flatten() {
            let mounts = container["volumeMounts"].as_array().into_iter().flatten();
            if mounts.filter(|mount| mount["mountPath"] == MOUNT_PATH).count() == 0 {
                let mount = json!({"name": name, "readOnly": true, "mountPath": MOUNT_PATH});
                push(container, "volumeMounts", mount);
                is_needed = true;
            }
        }
    }
    if is_needed && !has_volume {
        push(
            spec,
            "volumes",
            json!({"name": name, "projected": {"defaultMode": 420, "sources": [
                {"serviceAccountToken": {"expirationSeconds": TOKEN_SECONDS, "path": "token"}},
                {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                {"downwardAPI": {"items": [
                    {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}},
                ]}},
            ]}}),
        );
    }
}

fn push(object: &mut Value, list: &str, item: Value) {
    match object[list].as_array_mut() {
        Some(list) => list.push(item),
        None => object[list] = json!([item]),
    }
}

fn check(server: &Server, attributes: &Attributes<'_>, pod: &Value) -> Result<()> {
    let spec = &pod["spec"];
    let name = text_at(spec, &["serviceAccountName"]);
    if is_mirror(pod) {
        return if name.is_empty() {
            Ok(())
        } else {
            Err(forbidden(attributes, "a mirror pod may not reference service accounts"))
        };
    }
    if name.is_empty() {
        let why = format!("no service account specified for pod {}/{}", attributes.namespace, attributes.name);
        return Err(forbidden(attributes, &why));
    }
    let account = account_of(server, attributes, name)?;
    let enforces = account.value["metadata"]["annotations"][ENFORCES].as_str();
    if matches!(enforces, Some("1" | "t" | "T" | "true" | "TRUE" | "True")) {
        check_secrets(spec, &account.value).map_err(|why| forbidden(attributes, &why))?;
    }
    Ok(())
}

/// An account may say that its pods use no secrets but its own.
fn check_secrets(spec: &Value, account: &Value) -> std::result::Result<(), String> {
    let named = |list: &Value, name: &str| list.as_array().into_iter().flatten().any(|one| one["name"] == name);
    let owner = text_at(account, &["metadata", "name"]);
    let ending = format!("is not allowed because service account {owner} does not reference that");
    let refuse = |what: String, name: &str| {
        let is_own = named(&account["secrets"], name);
        if is_own { Ok(()) } else { Err(format!("{what} {ending} secret")) }
    };
    for volume in containers(spec, "volumes").filter(|volume| volume["secret"].is_object()) {
        let name = text_at(volume, &["secret", "secretName"]);
        refuse(format!("volume with secret.secretName=\"{name}\""), name)?;
    }
    for (which, what) in [("initContainers", "init container"), ("containers", "container")] {
        for container in containers(spec, which) {
            let own = text_at(container, &["name"]);
            for variable in containers(container, "env") {
                let name = text_at(variable, &["valueFrom", "secretKeyRef", "name"]);
                if variable["valueFrom"]["secretKeyRef"].is_object() {
                    let variable = text_at(variable, &["name"]);
                    let what = format!("{what} {own} with envVar {variable} referencing secret.secretName=\"{name}\"");
                    refuse(what, name)?;
                }
            }
            for source in containers(container, "envFrom").filter(|source| source["secretRef"].is_object()) {
                let name = text_at(source, &["secretRef", "name"]);
                refuse(format!("{what} {own} with envFrom referencing secret.secretName=\"{name}\""), name)?;
            }
        }
    }
    for (index, secret) in containers(spec, "imagePullSecrets").enumerate() {
        let name = text_at(secret, &["name"]);
        if !named(&account["imagePullSecrets"], name) {
            return Err(format!("imagePullSecrets[{index}].name=\"{name}\" {ending} imagePullSecret"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_container_gets_the_token_unless_something_is_there() {
        let random = Random::from_seed([1; 32]);
        let mut spec = json!({
            "containers": [{"name": "a"}, {"name": "b", "volumeMounts": [{"name": "x", "mountPath": MOUNT_PATH}]}],
        });
        mount_token(&mut spec, &random);
        let name = text_at(&spec["volumes"][0], &["name"]).to_owned();
        assert!(name.starts_with(VOLUME_PREFIX), "{name}");
        let mount = json!({"name": name, "readOnly": true, "mountPath": MOUNT_PATH});
        assert_eq!(spec["containers"][0]["volumeMounts"], json!([mount]));
        assert_eq!(spec["containers"][1]["volumeMounts"][0]["name"], "x");
        let before = spec.clone();
        mount_token(&mut spec, &random);
        assert_eq!(spec, before, "once is enough");
    }

    #[test]
    fn an_account_may_restrict_secrets() {
        let account = json!({"metadata": {"name": "a"}, "secrets": [{"name": "own"}]});
        let ending = "is not allowed because service account a does not reference that secret";
        let volume = |name: &str| json!({"volumes": [{"name": "v", "secret": {"secretName": name}}]});
        assert_eq!(check_secrets(&volume("own"), &account), Ok(()));
        assert_eq!(
            check_secrets(&volume("other"), &account),
            Err(format!("volume with secret.secretName=\"other\" {ending}"))
        );
        let variable = json!({"name": "E", "valueFrom": {"secretKeyRef": {"name": "s"}}});
        assert_eq!(
            check_secrets(&json!({"containers": [{"name": "c", "env": [variable]}]}), &account),
            Err(format!("container c with envVar E referencing secret.secretName=\"s\" {ending}"))
        );
        assert_eq!(
            check_secrets(&json!({"imagePullSecrets": [{"name": "p"}]}), &account),
            Err("imagePullSecrets[0].name=\"p\" is not allowed because service account a does not reference that \
                 imagePullSecret"
                .to_owned())
        );
    }
}
