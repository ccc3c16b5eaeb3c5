//! Conditions, the part of a status that every controller of Kubernetes writes alike.

use crate::schema::{Schema, int64, list, object, one_of, string, time};

/// The longest message of a condition or of an admission check.
pub(super) const MESSAGE_LENGTH: u32 = 32_768;

/// A list of conditions, at most one of each type.
pub(super) fn conditions() -> Schema {
    list(condition(), 16).keyed_by(&["type"])
}

fn condition() -> Schema {
    object()
        .required(
            "type",
            string()
                .pattern(
                    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
                )
                .max_len(316),
            "What the condition is about, in CamelCase, such as Active or Admitted.",
        )
        .required(
            "status",
            one_of(&["True", "False", "Unknown"]),
            "Whether the condition holds: True, False or Unknown.",
        )
        .required(
            "reason",
            string().pattern("^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$").min_len(1).max_len(1024),
            "Why the condition has its status, as one CamelCase word that programs can rely on.",
        )
        .required("message", string().max_len(MESSAGE_LENGTH), "The same for people, with details. May be empty.")
        .required("lastTransitionTime", time(), "When the status last changed from one value to another.")
        .field(
            "observedGeneration",
            int64().min(0),
            "The metadata.generation of the object that the condition was computed from. \
             When it is lower than the present one, the condition is out of date.",
        )
}
