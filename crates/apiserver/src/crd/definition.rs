//! What is wrong with a CustomResourceDefinition, in the words of a real server.
//!
//! A real server keeps what all versions have in common once, at the top, and names mistakes by where it keeps them:
//! with one schema for all versions it is `spec.validation.openAPIV3Schema`, else `spec.versions[0].schema…`.

use kueue_core::field::{Error, Errors, Path};
use kueue_core::name;

use super::cel;
use crate::json::{Value, json};

mod conversion;
mod defaults;
mod keywords;
mod names;
mod openapi;
mod paths;
mod regexp;
mod structural;

pub use keywords::drop_unknown;
pub use names::{NamesIn, accept_names};
pub use paths::FieldPath;

const APPROVED: &str = "api-approved.kubernetes.io";
const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
const SELECTABLE_MAX: usize = 8;
const WARNING_BYTES_MAX: usize = 256;

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value[name].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Whether a definition has been in use.
fn is_established(definition: &Value) -> bool {
    list(&definition["status"], "conditions").iter().any(|one| one["type"] == "Established" && one["status"] == "True")
}

/// Every mistake of a definition; `old` is what stood there before an update.
pub fn validate(new: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    if old.is_none() {
        let wanted = format!("{}.{}", text(&new["spec"]["names"], "plural"), text(&new["spec"], "group"));
        let given = text(&new["metadata"], "name");
        if given != wanted {
            let at = Path::new("metadata").child("name");
            errors.push(Error::invalid(&at, given, "must be spec.names.plural+\".\"+spec.group"));
        }
    }
    errors.extend(validate_spec(&new["spec"], old.map(|old| &old["spec"])));
    if let Some(old) = old {
        errors.extend(validate_change(&new["spec"], &old["spec"], is_established(old)));
    }
    errors.extend(validate_status(new));
    errors.extend(validate_stored_versions(new));
    errors.extend(validate_approval(new, old));
    let kept_before = old.is_some_and(|old| old["spec"]["preserveUnknownFields"] == true);
    if !kept_before && new["spec"]["preserveUnknownFields"] == true {
        let why =
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        errors.push(Error::invalid(&Path::new("spec").child("preserveUnknownFields"), true, why));
    }
    errors
}

/// Every mistake of a definition's status.
pub fn validate_status(definition: &Value) -> Errors {
    names::validate(&definition["status"]["acceptedNames"], &Path::new("status").child("acceptedNames"))
}

fn validate_change(new: &Value, old: &Value, is_established: bool) -> Errors {
    let mut errors = Errors::new();
    let at = Path::new("spec");
    let mut keep = |parts: &[&str]| {
        let find = |spec: &Value| parts.iter().fold(spec, |value, part| &value[*part]).clone();
        if find(new) != find(old) {
            let path = parts.iter().fold(at.clone(), |path, part| path.child(part));
            errors.push(Error::invalid(&path, find(new), "field is immutable"));
        }
    };
    if is_established {
        keep(&["scope"]);
        keep(&["names", "kind"]);
    }
    keep(&["group"]);
    keep(&["names", "plural"]);
    errors
}

fn validate_spec(spec: &Value, old: Option<&Value>) -> Errors {
    let at = Path::new("spec");
    let mut errors = Errors::new();
    let group = text(spec, "group");
    let wrong = name::dns1123_subdomain(group);
    if group.is_empty() {
        errors.push(Error::required(&at.child("group"), ""));
    } else if !wrong.is_empty() {
        errors.push(Error::invalid(&at.child("group"), group, wrong.join(",")));
    } else if !group.contains('.') {
        errors.push(Error::invalid(&at.child("group"), group, "should be a domain with at least one dot"));
    }
    match text(spec, "scope") {
        "Cluster" | "Namespaced" => {}
        "" => errors.push(Error::required(&at.child("scope"), "")),
        other => errors.push(Error::not_supported(&at.child("scope"), other, &["Cluster", "Namespaced"])),
    }
    let versions = list(spec, "versions");
    for (index, version) in versions.iter().enumerate() {
        if !version["schema"]["openAPIV3Schema"].is_object() {
            let place = at.child("versions").index(index).child("schema").child("openAPIV3Schema");
            errors.push(Error::required(&place, ""));
        }
    }
    errors.extend(validate_versions(versions, old, &at));
    for required in ["plural", "singular", "kind", "listKind"] {
        if text(&spec["names"], required).is_empty() {
            errors.push(Error::required(&at.child("names").child(required), ""));
        }
    }
    errors.extend(names::validate(&spec["names"], &at.child("names")));
    errors.extend(Shared::of(versions).validate(spec, &at));
    errors.extend(conversion::validate(&spec["conversion"], &at.child("conversion")));
    errors
}

/// What all versions have in common, which is kept once.
#[derive(Debug, Default)]
struct Shared<'v> {
    schema: Option<&'v Value>,
    subresources: Option<&'v Value>,
    columns: Option<&'v [Value]>,
    selectable: Option<&'v [Value]>,
}

impl<'v> Shared<'v> {
    fn of(versions: &'v [Value]) -> Self {
        let Some(first) = versions.first() else { return Self::default() };
        let is_shared = |name: &str| versions.iter().all(|version| version.get(name) == first.get(name));
        let one = |name: &str| first.get(name).filter(|value| is_shared(name) && !value.is_null());
        let many = |name: &str| one(name).and_then(Value::as_array).map(Vec::as_slice);
        Self {
            schema: one("schema"),
            subresources: one("subresources"),
            columns: many("additionalPrinterColumns"),
            selectable: many("selectableFields"),
        }
    }

    fn validate(&self, spec: &Value, at: &Path) -> Errors {
        let mut errors = Errors::new();
        let any_status = list(spec, "versions").iter().any(|version| version["subresources"]["status"].is_object());
        if let Some(schema) = self.schema {
            errors.extend(validate_schema(schema, any_status, &at.child("validation")));
        }
        errors.extend(validate_subresources(self.subresources, &at.child("subresources")));
        errors.extend(validate_columns(self.columns, &at.child("additionalPrinterColumns")));
        if let (Some(fields), Some(schema)) = (self.selectable, self.schema) {
            errors.extend(validate_selectable(fields, schema, &at.child("selectableFields")));
        }
        errors
    }
}

fn validate_versions(versions: &[Value], old: Option<&Value>, at: &Path) -> Errors {
    let mut errors = Errors::new();
    let shared = Shared::of(versions);
    let before = old.map(|old| list(old, "versions")).unwrap_or_default();
    for (index, version) in versions.iter().enumerate() {
        let at = at.child("versions").index(index);
        let wrong = name::dns1035_label(text(version, "name"));
        if !wrong.is_empty() {
            errors.push(Error::invalid(&at.child("name"), text(version, "name"), wrong.join(",")));
        }
        errors.extend(validate_deprecation(version, &at));
        if shared.schema.is_none() && version["schema"].is_object() {
            let has_status = version["subresources"]["status"].is_object();
            errors.extend(validate_schema(&version["schema"], has_status, &at.child("schema")));
        }
        if shared.subresources.is_none() {
            errors.extend(validate_subresources(version.get("subresources"), &at.child("subresources")));
        }
        if shared.columns.is_none() {
            let columns = list(version, "additionalPrinterColumns");
            errors.extend(validate_columns(Some(columns), &at.child("additionalPrinterColumns")));
        }
        let was = before.iter().find(|other| other["name"] == version["name"]);
        let is_kept = was.is_some_and(|was| was["selectableFields"] == version["selectableFields"]);
        if shared.selectable.is_none() || shared.schema.is_none() {
            let fields = list(version, "selectableFields");
            let mut found = validate_selectable(fields, &version["schema"], &at.child("selectableFields"));
            found.retain(|error| !(is_kept && error.kind == kueue_core::field::ErrorKind::TooMany));
            errors.extend(found);
        }
    }
    let mut names: Vec<&str> = versions.iter().map(|version| text(version, "name")).collect();
    names.sort_unstable();
    if names.windows(2).any(|pair| pair[0] == pair[1]) {
        errors.push(Error::invalid(&at.child("versions"), json!(versions), "must contain unique version names"));
    }
    if versions.iter().filter(|version| version["storage"] == true).count() != 1 {
        let why = "must have exactly one version marked as storage version";
        errors.push(Error::invalid(&at.child("versions"), json!(versions), why));
    }
    errors
}

fn validate_deprecation(version: &Value, at: &Path) -> Errors {
    let at = at.child("deprecationWarning");
    let Some(warning) = version["deprecationWarning"].as_str() else { return Errors::new() };
    let mut wrong = Vec::new();
    if version["deprecated"] != true {
        wrong.push("can only be set for deprecated versions".to_owned());
    } else {
        if warning.len() > WARNING_BYTES_MAX {
            wrong.push("must be <= 256 characters long".to_owned());
        }
        if warning.is_empty() {
            wrong.push("must not be an empty string".to_owned());
        }
        if let Some((index, _)) = warning.char_indices().find(|(_, char)| char.is_control()) {
            let what = "must only contain printable UTF-8 characters; non-printable character found at index";
            wrong.push(format!("{what} {index}"));
        }
    }
    wrong.into_iter().map(|why| Error::invalid(&at, warning, why)).collect()
}

/// `schema` is what holds `openAPIV3Schema`.
fn validate_schema(schema: &Value, has_status: bool, at: &Path) -> Errors {
    let source = &schema["openAPIV3Schema"];
    if !source.is_object() {
        return Errors::new();
    }
    let place = at.child("openAPIV3Schema");
    let mut errors = Errors::new();
    if has_status {
        errors.extend(openapi::validate_root(source, at));
    }
    if source["nullable"] == true {
        errors.push(Error::forbidden(&at.child("openAPIV3Schema.nullable"), "nullable cannot be true at the root"));
    }
    let mut rules = None;
    let found = structural::validate(source, &place);
    if found.is_empty() {
        let found = defaults::validate(source, &place);
        if found.is_empty() {
            rules = Some(cel::Types::of(source));
        }
        errors.extend(found);
    } else {
        errors.extend(found);
    }
    errors.extend(openapi::validate(source, &place, rules.as_ref()));
    errors
}

fn validate_subresources(subresources: Option<&Value>, at: &Path) -> Errors {
    let mut errors = Errors::new();
    let Some(scale) = subresources.and_then(|all| all.get("scale")).filter(|scale| scale.is_object()) else {
        return errors;
    };
    let mut check = |name: &str, is_required: bool, under: &[&str], why: &str| {
        let (path, place) = (text(scale, name), at.child(&format!("scale.{name}")));
        if path.is_empty() {
            if is_required {
                errors.push(Error::required(&place, ""));
            }
        } else if !path.starts_with('.') {
            errors.push(Error::invalid(&place, path, "must be a simple json path starting with ."));
        } else if !under.iter().any(|prefix| path.starts_with(prefix)) {
            errors.push(Error::invalid(&place, path, why));
        }
    };
    check("specReplicasPath", true, &[".spec."], "should be a json path under .spec");
    check("statusReplicasPath", true, &[".status."], "should be a json path under .status");
    check("labelSelectorPath", false, &[".spec.", ".status."], "should be a json path under either .spec or .status");
    errors
}

fn validate_columns(columns: Option<&[Value]>, at: &Path) -> Errors {
    let mut errors = Errors::new();
    for (index, column) in columns.unwrap_or_default().iter().enumerate() {
        let at = at.index(index);
        if text(column, "name").is_empty() {
            errors.push(Error::required(&at.child("name"), ""));
        }
        let (type_name, format) = (text(column, "type"), text(column, "format"));
        let types = format!("must be one of {}", COLUMN_TYPES.join(","));
        if type_name.is_empty() {
            errors.push(Error::required(&at.child("type"), types));
        } else if !COLUMN_TYPES.contains(&type_name) {
            errors.push(Error::invalid(&at.child("type"), type_name, types));
        }
        if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
            let formats = format!("must be one of {}", COLUMN_FORMATS.join(","));
            errors.push(Error::invalid(&at.child("format"), format, formats));
        }
        let path = text(column, "jsonPath");
        if path.is_empty() {
            errors.push(Error::required(&at.child("JSONPath"), ""));
        } else if !path.starts_with('.') {
            let why = "must be a simple json path starting with .";
            errors.push(Error::invalid(&at.child("JSONPath"), path, why));
        }
    }
    errors
}

fn validate_selectable(fields: &[Value], schema: &Value, at: &Path) -> Errors {
    let mut errors = Errors::new();
    let mut seen: Vec<String> = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        let at = at.index(index).child("jsonPath");
        let path = text(field, "jsonPath");
        if path.is_empty() {
            errors.push(Error::required(&at, ""));
            continue;
        }
        let found = match FieldPath::parse(path, &schema["openAPIV3Schema"], false) {
            Ok(found) => found,
            Err(why) => {
                errors.push(Error::invalid(&at, path, format!("is an invalid path: {why}")));
                continue;
            }
        };
        if found.root == "metadata" {
            errors.push(Error::invalid(&at, path, "must not point to fields in metadata"));
        }
        if !["string", "boolean", "integer"].contains(&text(&found.schema, "type")) {
            let why = "must point to a field of type string, boolean or integer. Enum string fields and strings with \
                       formats are allowed.";
            errors.push(Error::invalid(&at, path, why));
        }
        if seen.contains(&found.path) {
            errors.push(Error::duplicate(&at, path));
        } else {
            seen.push(found.path);
        }
    }
    if seen.len() > SELECTABLE_MAX {
        errors.push(Error::too_many(at, seen.len(), SELECTABLE_MAX));
    }
    errors
}

fn validate_stored_versions(definition: &Value) -> Errors {
    let at = Path::new("status").child("storedVersions");
    let stored = list(&definition["status"], "storedVersions");
    if stored.is_empty() {
        return vec![Error::invalid(&at, Value::Null, "must have at least one stored version")];
    }
    let mut errors = Errors::new();
    let versions = list(&definition["spec"], "versions");
    for version in versions.iter().filter(|version| version["storage"] == true && !stored.contains(&version["name"])) {
        let why = format!("must have the storage version {}", text(version, "name"));
        errors.push(Error::invalid(&at, json!(stored), why));
    }
    for (index, name) in stored.iter().enumerate() {
        if !versions.iter().any(|version| version["name"] == *name) {
            let shown = name.as_str().unwrap_or_default();
            let why = format!(
                "missing from spec.versions; {shown} was previously a storage version, and must remain in spec.versions \
                 until a storage migration ensures no data remains persisted in {shown} and removes {shown} from \
                 status.storedVersions"
            );
            errors.push(Error::invalid(&at.index(index), shown, why));
        }
    }
    errors
}

/// What the annotation says that the community's groups need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Approval {
    Missing,
    Bypassed,
    Approved,
    Wrong,
}

fn approval(definition: &Value) -> Approval {
    let url = definition["metadata"]["annotations"][APPROVED].as_str().unwrap_or_default();
    let has_host = url.split_once("://").is_some_and(|(scheme, rest)| {
        !scheme.is_empty()
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && !rest.starts_with(['/', '?'])
            && !rest.is_empty()
    });
    match url {
        "" => Approval::Missing,
        _ if url.starts_with("unapproved") => Approval::Bypassed,
        _ if has_host => Approval::Approved,
        _ => Approval::Wrong,
    }
}

fn validate_approval(new: &Value, old: Option<&Value>) -> Errors {
    let group = text(&new["spec"], "group");
    let is_protected =
        ["k8s.io", "kubernetes.io"].iter().any(|domain| group == *domain || group.ends_with(&format!(".{domain}")));
    let now = approval(new);
    if !is_protected || old.is_some_and(|old| approval(old) == now) {
        return Errors::new();
    }
    let at = Path::new("metadata").child("annotations").key(APPROVED);
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    match now {
        Approval::Missing => {
            vec![Error::required(&at, format!("protected groups must have approval annotation {APPROVED:?}, {see}"))]
        }
        Approval::Wrong => {
            let given = new["metadata"]["annotations"][APPROVED].clone();
            let why = format!(
                "protected groups must have approval annotation {APPROVED:?} with either a URL or a reason starting with \
                 \"unapproved\", {see}"
            );
            vec![Error::invalid(&at, given, why)]
        }
        Approval::Bypassed | Approval::Approved => Errors::new(),
    }
}

#[cfg(test)]
mod tests;
