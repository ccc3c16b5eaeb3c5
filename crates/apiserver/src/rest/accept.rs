//! In which form a client wants its answer.

use crate::status::{Result, Status};

/// Encoding of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    Json,
    Yaml,
}

/// What objects are shown as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// As they are.
    Whole,
    /// Rows and columns, as `kubectl get` prints them.
    Table,
    /// Only metadata.
    Partial,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accepted {
    pub encoding: Encoding,
    pub shape: Shape,
}

const AVAILABLE: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

/// The first clause of an `Accept` header that can be served. Protobuf cannot: clients that name it name JSON as well.
pub fn negotiate(header: Option<&str>) -> Result<Accepted> {
    let plain = Accepted { encoding: Encoding::Json, shape: Shape::Whole };
    let Some(header) = header.filter(|header| !header.trim().is_empty()) else { return Ok(plain) };
    let mut knows_media_type = false;
    for clause in header.split(',') {
        let mut parts = clause.split(';').map(str::trim);
        let encoding = match parts.next().unwrap_or_default() {
            "application/json" | "*/*" | "application/*" => Encoding::Json,
            "application/yaml" => Encoding::Yaml,
            _ => continue,
        };
        knows_media_type = true;
        let parameter = |name: &str| {
            let mut found = clause.split(';').map(str::trim).filter_map(|part| part.split_once('='));
            found.find(|(key, _)| *key == name).map(|(_, value)| value)
        };
        let shape = match (parameter("as"), parameter("g"), parameter("v")) {
            (None, ..) => Shape::Whole,
            (Some("Table"), Some("meta.k8s.io"), Some("v1")) => Shape::Table,
            (Some("PartialObjectMetadata" | "PartialObjectMetadataList"), Some("meta.k8s.io"), Some("v1")) => {
                Shape::Partial
            }
            _ => continue,
        };
        return Ok(Accepted { encoding, shape });
    }
    if knows_media_type {
        let message = format!("only the following media types are accepted: {AVAILABLE}");
        return Err(Status::new(406, "NotAcceptable", message));
    }
    let message = format!(
        "406: Not Acceptable\n\nAvailable representations: {AVAILABLE}, application/json;stream=watch, \
         application/vnd.kubernetes.protobuf;stream=watch"
    );
    Err(Status::new(406, "NotAcceptable", message).with_details(serde_json::json!({})))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_form_that_can_be_served_is_taken() {
        let shape =
            |header: &str| negotiate(Some(header)).map(|accepted| accepted.shape).map_err(|status| status.code());
        assert_eq!(shape("application/json;as=Table;v=v1;g=meta.k8s.io,application/json"), Ok(Shape::Table));
        assert_eq!(shape("application/vnd.kubernetes.protobuf, application/json"), Ok(Shape::Whole));
        assert_eq!(shape("text/html,application/json;q=0.5"), Ok(Shape::Whole));
        assert_eq!(shape("text/plain"), Err(406));
        assert_eq!(shape("application/json;as=Table;v=v9;g=meta.k8s.io"), Err(406));
        assert_eq!(negotiate(Some("application/yaml")).unwrap().encoding, Encoding::Yaml);
        assert_eq!(negotiate(None).unwrap().encoding, Encoding::Json);
    }
}
