//! Volumes: one source each, well formed. Sources that no longer exist as plugins are only counted.

use kueue_core::field::{Error, Errors};
use kueue_core::name::{dns1123_label, dns1123_subdomain};

use super::super::check::{Field, descends_unreserved, has_no_backsteps};
use super::super::claim::check_claim_spec;
use super::Owner;
use super::containers::Volumes;
use super::env::{FILE_FIELDS, check_field, check_resource};

/// Sources in the order in which a server looks at them: the first one counts, the others are too many.
const SOURCES: [&str; 30] = [
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
];
const MODE: &str = "must be a number between 0 and 0777 (octal), both inclusive";
const TOKEN_SECONDS_MIN: i64 = 600;

/// The well-formed volumes by name.
pub fn check_volumes<'v>(list: &Field<'v>, owner: Owner<'_>, errors: &mut Errors) -> Volumes<'v> {
    let mut volumes = Volumes::new();
    let made = |volume: &Field<'v>| {
        let name = format!("{}-{}", owner.name(), volume.child("name").text());
        (volume.child("ephemeral").is_set() && !owner.name().is_empty()).then_some(name)
    };
    let made: Vec<String> = list.items().filter_map(|volume| made(&volume)).collect();
    for volume in list.items() {
        let name = volume.child("name");
        let before = errors.len();
        check_volume(&volume, owner, errors);
        name.needs_name(dns1123_label, errors);
        if volumes.contains_key(name.text()) {
            errors.push(name.duplicate());
        }
        if errors.len() == before {
            volumes.insert(name.text(), volume.value);
        }
        let claim = volume.child("persistentVolumeClaim.claimName");
        if made.iter().any(|made| made == claim.text()) {
            errors.push(claim.invalid("must not reference a PVC that gets created for an ephemeral volume"));
        }
    }
    volumes
}

fn check_volume(volume: &Field<'_>, owner: Owner<'_>, errors: &mut Errors) {
    let mut given = SOURCES.iter().map(|name| (*name, volume.child(name))).filter(|(_, source)| source.is_set());
    let Some((name, source)) = given.next() else {
        errors.push(volume.required("must specify a volume type"));
        return;
    };
    check_source(name, &source, volume, owner, errors);
    for (_, source) in given {
        errors.push(source.forbidden("may not specify more than 1 volume type"));
    }
}

fn check_source(name: &str, source: &Field<'_>, volume: &Field<'_>, owner: Owner<'_>, errors: &mut Errors) {
    match name {
        "emptyDir" => {
            let limit = source.child("sizeLimit");
            if limit.quantity().is_some_and(|quantity| quantity.sign() < 0) {
                errors.push(limit.forbidden("SizeLimit field must be a valid resource quantity"));
            }
        }
        "hostPath" => check_host_path(source, errors),
        "secret" | "configMap" => {
            source.child(if name == "secret" { "secretName" } else { "name" }).needs(errors);
            check_mode(&source.child("defaultMode"), errors);
            for item in source.child("items").items() {
                check_item(&item, errors);
            }
        }
        "nfs" => check_nfs(source, errors),
        "persistentVolumeClaim" => {
            source.child("claimName").needs(errors);
        }
        "downwardAPI" => {
            check_mode(&source.child("defaultMode"), errors);
            for item in source.child("items").items() {
                check_file(&item, source, errors);
            }
        }
        "projected" => check_projected(source, errors),
        "csi" => check_csi(source, errors),
        "ephemeral" => check_ephemeral(source, volume, owner, errors),
        "image" => {
            if owner.is_pod() {
                source.child("reference").needs(errors);
            }
            source.child("pullPolicy").needs_one_of(&["Always", "IfNotPresent", "Never"], errors);
        }
        _ => {}
    }
}

fn check_host_path(source: &Field<'_>, errors: &mut Errors) {
    if source.child("path").needs(errors) {
        has_no_backsteps(&source.child("path"), errors);
        let kinds =
            ["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];
        source.child("type").one_of(&kinds, errors);
    }
}

fn check_mode(mode: &Field<'_>, errors: &mut Errors) {
    if mode.is_set() && !(0..=0o777).contains(&mode.number()) {
        errors.push(mode.invalid(MODE));
    }
}

/// A key and the file it becomes.
fn check_item(item: &Field<'_>, errors: &mut Errors) {
    item.child("key").needs(errors);
    item.child("path").needs(errors);
    descends_unreserved(&item.child("path"), errors);
    check_mode(&item.child("mode"), errors);
}

/// A file that shows something of its pod. Its mistakes name the source, as a real server's do.
fn check_file(file: &Field<'_>, source: &Field<'_>, errors: &mut Errors) {
    let at = |name: &str| Field { value: file.child(name).value, path: source.path.child(name) };
    at("path").needs(errors);
    descends_unreserved(&at("path"), errors);
    match (at("fieldRef").is_set(), at("resourceFieldRef").is_set()) {
        (true, both) => {
            check_field(&at("fieldRef"), &FILE_FIELDS, errors);
            if both {
                let why = "fieldRef and resourceFieldRef can not be specified simultaneously";
                errors.push(Error::invalid(&source.path, "resource", why));
            }
        }
        (false, true) => check_resource(&at("resourceFieldRef"), true, errors),
        (false, false) => errors.push(source.required("one of fieldRef and resourceFieldRef is required")),
    }
    check_mode(&at("mode"), errors);
}

fn check_nfs(source: &Field<'_>, errors: &mut Errors) {
    source.child("server").needs(errors);
    let path = source.child("path");
    if path.needs(errors) && !path.text().starts_with('/') {
        errors.push(path.invalid("must be an absolute path"));
    }
}

fn check_projected<'v>(volume: &Field<'v>, errors: &mut Errors) {
    check_mode(&volume.child("defaultMode"), errors);
    let mut paths: Vec<&'v str> = Vec::new();
    let mut note = |path: &'v str, shown: &str, errors: &mut Errors| {
        if paths.contains(&path) {
            errors.push(Error::invalid(&volume.path, shown, "conflicting duplicate paths"));
        } else if !path.is_empty() {
            paths.push(path);
        }
    };
    for source in volume.child("sources").items() {
        let mut given = 0;
        for name in ["secret", "configMap"] {
            let reference = source.child(name);
            if !reference.is_set() {
                continue;
            }
            given += 1;
            reference.child("name").needs(errors);
            for item in reference.child("items").items() {
                check_item(&item, errors);
                note(item.child("path").text(), reference.child("name").text(), errors);
            }
        }
        let downward = source.child("downwardAPI");
        if downward.is_set() {
            given += 1;
            for item in downward.child("items").items() {
                check_file(&item, &downward, errors);
                note(item.child("path").text(), item.child("path").text(), errors);
            }
        }
        let token = source.child("serviceAccountToken");
        if token.is_set() {
            given += 1;
            check_token(&token, volume, errors);
        }
        given += usize::from(source.child("clusterTrustBundle").is_set());
        given += usize::from(source.child("podCertificate").is_set());
        if given > 1 {
            errors.push(source.forbidden("may not specify more than 1 volume type per source"));
        }
    }
}

fn check_token(token: &Field<'_>, volume: &Field<'_>, errors: &mut Errors) {
    let seconds = token.child("expirationSeconds");
    if seconds.number() < TOKEN_SECONDS_MIN {
        errors.push(seconds.invalid("may not specify a duration less than 10 minutes"));
    }
    if seconds.number() > 1 << 32 {
        errors.push(seconds.invalid("may not specify a duration larger than 2^32 seconds"));
    }
    let path = Field { value: token.child("path").value, path: volume.path.child("path") };
    if path.needs(errors) {
        descends_unreserved(&path, errors);
    }
}

fn check_csi(source: &Field<'_>, errors: &mut Errors) {
    check_driver(&source.child("driver"), errors);
    let secret = source.child("nodePublishSecretRef");
    if secret.is_set() && secret.child("name").needs(errors) {
        let name = secret.child("name").text();
        let at = source.path.child("name");
        errors.extend(dns1123_subdomain(name).into_iter().map(|why| Error::invalid(&at, name, why)));
    }
}

/// The name of a storage driver: a domain of any case, and short.
fn check_driver(driver: &Field<'_>, errors: &mut Errors) {
    if !driver.needs(errors) {
        return;
    }
    if driver.text().len() > 63 {
        errors.push(Error::too_long(&driver.path, 63));
    }
    let lower = driver.text().to_lowercase();
    errors.extend(dns1123_subdomain(&lower).into_iter().map(|why| Error::invalid(&driver.path, lower.as_str(), why)));
}

fn check_ephemeral(source: &Field<'_>, volume: &Field<'_>, owner: Owner<'_>, errors: &mut Errors) {
    let template = source.child("volumeClaimTemplate");
    if !template.is_set() {
        errors.push(template.required(""));
        return;
    }
    template.child("metadata.annotations").annotations(errors);
    template.child("metadata.labels").labels(errors);
    for (key, _) in template.child("metadata").entries() {
        if !["annotations", "labels", "creationTimestamp"].contains(&key) {
            errors.push(template.child("metadata").child(key).forbidden("cannot be set"));
        }
    }
    check_claim_spec(&template.child("spec"), errors);
    let name = volume.child("name");
    if !owner.name().is_empty() && !name.is_empty() {
        let claim = format!("{}-{}", owner.name(), name.text());
        for why in dns1123_subdomain(&claim) {
            errors.push(name.invalid(format!("PVC name {claim:?}: {why}")));
        }
    }
}
