//! Conversion between the versions of a kind, on JSON, so that what we do not know passes through untouched.
//!
//! Every version converts to v1beta2 and from there to any other. Lost are only fields without a counterpart:
//!
//! | kind | to v1beta2 | to v1beta1 |
//! |---|---|---|
//! | Workload | a priority class without a known source | preemption gates, layers of slices, a class reference of unknown group or kind |
//! | ClusterQueue | `status.pendingWorkloadsStatus`, faded usage, the strategy if `admissionChecks` is given | `concurrentAdmissionPolicy` |
//! | Cohort | faded usage | |
//! | LocalQueue | `status.flavors` | |
//! | AdmissionCheck | `retryDelayMinutes` | |
//! | MultiKueueConfig | | `quotaManagement` |
//! | MultiKueueCluster | a kubeconfig without location | |

use kueue_core::field;
use kueue_core::gates::Gates;
use serde_json::{Map, Value, json};
use thiserror::Error;

use super::kinds::KINDS;
use super::{GROUP, v1alpha1, v1beta1, v1beta2};
use crate::meta::Object;

#[cfg(test)]
mod tests;
mod workload;

/// Why an object cannot be converted.
#[derive(Debug, Error)]
pub enum ConversionError {
    /// It is not a JSON object with `apiVersion` and `kind`.
    #[error("not a Kubernetes object: {0}")]
    NotAnObject(&'static str),
    /// There is no such version of the kind.
    #[error("there is no {kind} in {api_version}")]
    UnknownVersion { kind: String, api_version: String },
    /// A field that has to change cannot be read.
    #[error("{0}")]
    Field(#[from] field::Error),
    /// The typed form does not match.
    #[error("cannot decode: {0}")]
    Decode(#[from] serde_json::Error),
}

impl ConversionError {
    /// The same error, of something that is itself found at `path`.
    fn under(self, path: &field::Path) -> Self {
        match self {
            Self::Field(error) => Self::Field(error.under(path)),
            other => other,
        }
    }
}

type Fields = Map<String, Value>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    V1alpha1,
    V1beta1,
    V1beta2,
}

/// The same object in the version `to`, such as `kueue.x-k8s.io/v1beta2`.
///
/// Metadata and unknown fields stay as they are. Gates decide how topology assignments are written.
pub fn convert(object: Value, to: &str, gates: Gates) -> Result<Value, ConversionError> {
    let Value::Object(mut fields) = object else { return Err(ConversionError::NotAnObject("it is not a JSON object")) };
    let text = |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (from, kind) = (text("apiVersion"), text("kind"));
    if from.is_empty() || kind.is_empty() {
        return Err(ConversionError::NotAnObject("apiVersion or kind is missing"));
    }
    let (from, target) = (version(&kind, &from)?, version(&kind, to)?);
    if from != target {
        upgrade(&kind, from, &mut fields, gates)?;
        downgrade(&kind, target, &mut fields)?;
        fields.insert("apiVersion".to_owned(), to.into());
    }
    Ok(Value::Object(fields))
}

/// [`convert`] for types of this crate.
pub fn convert_object<T: Object>(object: &impl Object, gates: Gates) -> Result<T, ConversionError> {
    let converted = convert(serde_json::to_value(object)?, &T::api_version(), gates)?;
    Ok(serde_json::from_value(converted)?)
}

fn version(kind: &str, api_version: &str) -> Result<Version, ConversionError> {
    let version = api_version.split_once('/').filter(|(group, _)| *group == GROUP).map(|(_, version)| version);
    let served = version.filter(|version| KINDS.iter().any(|info| info.kind == kind && info.version == *version));
    match served {
        Some(v1beta2::VERSION) => Ok(Version::V1beta2),
        Some(v1beta1::VERSION) => Ok(Version::V1beta1),
        Some(v1alpha1::VERSION) => Ok(Version::V1alpha1),
        _ => Err(ConversionError::UnknownVersion { kind: kind.to_owned(), api_version: api_version.to_owned() }),
    }
}

fn upgrade(kind: &str, from: Version, object: &mut Fields, gates: Gates) -> Result<(), ConversionError> {
    match (kind, from) {
        ("Workload", Version::V1beta1) => workload::upgrade(object, gates)?,
        ("ClusterQueue", Version::V1beta1) => upgrade_cluster_queue(object),
        ("LocalQueue", Version::V1beta1) => {
            if let Some(status) = child(object, "status") {
                rename(status, "flavorUsage", "flavorsUsage");
                status.remove("flavors");
            }
        }
        ("Cohort", Version::V1beta1) => drop_faded_usage(object),
        ("Cohort", Version::V1alpha1) => {
            if let Some(spec) = child(object, "spec") {
                rename(spec, "parent", "parentName");
            }
        }
        ("AdmissionCheck", Version::V1beta1) => {
            if let Some(spec) = child(object, "spec") {
                spec.remove("retryDelayMinutes");
            }
        }
        ("MultiKueueCluster", Version::V1beta1) => upgrade_multi_kueue_cluster(object),
        _ => {}
    }
    Ok(())
}

fn downgrade(kind: &str, to: Version, object: &mut Fields) -> Result<(), ConversionError> {
    match (kind, to) {
        ("Workload", Version::V1beta1) => workload::downgrade(object)?,
        ("ClusterQueue", Version::V1beta1) => {
            if let Some(spec) = child(object, "spec") {
                rename(spec, "cohortName", "cohort");
                spec.remove("concurrentAdmissionPolicy");
            }
        }
        ("LocalQueue", Version::V1beta1) => {
            if let Some(status) = child(object, "status") {
                rename(status, "flavorsUsage", "flavorUsage");
            }
        }
        ("Cohort", Version::V1alpha1) => {
            if let Some(spec) = child(object, "spec") {
                rename(spec, "parentName", "parent");
            }
        }
        ("MultiKueueConfig", Version::V1beta1) => {
            if let Some(spec) = child(object, "spec") {
                spec.remove("quotaManagement");
            }
        }
        ("MultiKueueCluster", Version::V1beta1) => downgrade_multi_kueue_cluster(object),
        _ => {}
    }
    Ok(())
}

fn upgrade_cluster_queue(object: &mut Fields) {
    if let Some(spec) = child(object, "spec") {
        rename(spec, "cohort", "cohortName");
        if let Some(Value::Array(checks)) = spec.remove("admissionChecks").filter(|checks| *checks != json!([])) {
            let rules: Vec<Value> = checks.into_iter().map(|name| json!({"name": name})).collect();
            spec.insert("admissionChecksStrategy".to_owned(), json!({"admissionChecks": rules}));
        }
        if let Some(fungibility) = child(spec, "flavorFungibility") {
            for (key, old) in [("whenCanBorrow", "Borrow"), ("whenCanPreempt", "Preempt")] {
                if fungibility.get(key).is_some_and(|value| value == old) {
                    fungibility.insert(key.to_owned(), "MayStopSearch".into());
                }
            }
        }
    }
    if let Some(status) = child(object, "status") {
        status.remove("pendingWorkloadsStatus");
    }
    drop_faded_usage(object);
}

/// Only LocalQueues have it in v1beta2.
fn drop_faded_usage(object: &mut Fields) {
    let status = child(object, "status");
    if let Some(fair_sharing) = status.and_then(|status| child(status, "fairSharing")) {
        fair_sharing.remove("admissionFairSharingStatus");
    }
}

fn upgrade_multi_kueue_cluster(object: &mut Fields) {
    let Some(spec) = child(object, "spec") else { return };
    let has_location = |kube_config: &Value| kube_config["location"].as_str().is_some_and(|text| !text.is_empty());
    let mut source = Map::new();
    for (key, value) in [
        ("kubeConfig", spec.remove("kubeConfig").filter(has_location)),
        ("clusterProfileRef", spec.remove("clusterProfileRef").filter(is_given)),
    ] {
        source.extend(value.map(|value| (key.to_owned(), value)));
    }
    if !source.is_empty() {
        spec.insert("clusterSource".to_owned(), Value::Object(source));
    }
}

fn downgrade_multi_kueue_cluster(object: &mut Fields) {
    let spec = object.entry("spec").or_insert_with(|| json!({}));
    let Value::Object(spec) = spec else { return };
    let mut source = match spec.remove("clusterSource") {
        Some(Value::Object(source)) => source,
        _ => Map::new(),
    };
    // v1beta1 requires the kubeconfig: an empty one stands for none.
    let none = || json!({"location": "", "locationType": ""});
    spec.insert("kubeConfig".to_owned(), source.remove("kubeConfig").filter(is_given).unwrap_or_else(none));
    spec.extend(
        source.remove("clusterProfileRef").filter(is_given).map(|value| ("clusterProfileRef".to_owned(), value)),
    );
}

/// The fields of an object-valued field.
fn child<'a>(fields: &'a mut Fields, key: &str) -> Option<&'a mut Fields> {
    fields.get_mut(key)?.as_object_mut()
}

fn rename(fields: &mut Fields, from: &str, to: &str) {
    if let Some(value) = fields.remove(from).filter(is_given) {
        fields.insert(to.to_owned(), value);
    }
}

/// `null` is "not set".
fn is_given(value: &Value) -> bool {
    !value.is_null()
}
