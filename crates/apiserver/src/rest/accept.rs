//! In which form a client wants its answer.

use super::query::Query;
use crate::protobuf;
use crate::status::{Result, Status};

/// Encoding of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    Json,
    /// With lines and indentation, for people.
    PrettyJson,
    Yaml,
    Protobuf,
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
    /// Only metadata, of each object of a list.
    PartialList,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accepted {
    pub encoding: Encoding,
    pub shape: Shape,
    /// Whether Tables and metadata are of the version that old clients know.
    pub is_beta: bool,
}

impl Accepted {
    pub const JSON: Self = Self { encoding: Encoding::Json, shape: Shape::Whole, is_beta: false };
}

/// What the place of an answer restricts.
#[derive(Debug, Clone, Copy)]
pub struct Offer {
    /// Objects of custom kinds have no form in protobuf; their metadata has.
    pub is_custom: bool,
    /// Events come one by one, which YAML cannot.
    pub is_stream: bool,
    /// One object, of which there are no events.
    pub is_single: bool,
}

const AVAILABLE: [&str; 3] = ["application/json", "application/yaml", protobuf::MEDIA_TYPE];
const STREAMS: [&str; 2] = ["application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch"];

/// One form that a client would take.
struct Clause<'h> {
    media_type: &'h str,
    parameters: Vec<(&'h str, &'h str)>,
}

impl<'h> Clause<'h> {
    fn parse(text: &'h str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let media_type = parts.next().unwrap_or_default();
        Self { media_type, parameters: parts.filter_map(|part| part.split_once('=')).collect() }
    }

    fn parameter(&self, name: &str) -> Option<&'h str> {
        self.parameters.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
    }

    fn quality(&self) -> f64 {
        self.parameter("q").and_then(|text| text.parse().ok()).unwrap_or(1.0)
    }

    fn encoding(&self) -> Option<Encoding> {
        match self.media_type {
            "application/json" | "*/*" => Some(Encoding::Json),
            "application/yaml" => Some(Encoding::Yaml),
            protobuf::MEDIA_TYPE => Some(Encoding::Protobuf),
            _ => None,
        }
    }

    /// What the clause asks for, if that can be had.
    fn served(&self, offer: Offer) -> Option<Accepted> {
        let encoding = self.encoding()?;
        if self.parameter("stream").is_some_and(|stream| stream != "watch" && !stream.is_empty()) {
            return None;
        }
        let target = (self.parameter("as"), self.parameter("g"), self.parameter("v"));
        if target == (None, None, None) {
            let has_form = encoding != Encoding::Protobuf || !offer.is_custom;
            return has_form.then_some(Accepted { encoding, ..Accepted::JSON });
        }
        let (Some(kind), Some("meta.k8s.io"), Some(version @ ("v1" | "v1beta1"))) = target else { return None };
        let shape = match kind {
            // Tables have no form in protobuf.
            "Table" if encoding != Encoding::Protobuf => Shape::Table,
            "PartialObjectMetadata" => Shape::Partial,
            "PartialObjectMetadataList" => Shape::PartialList,
            _ => return None,
        };
        Some(Accepted { encoding, shape, is_beta: version == "v1beta1" })
    }
}

/// The first clause of an `Accept` header that can be served.
pub fn negotiate(header: Option<&str>, offer: Offer) -> Result<Accepted> {
    let Some(header) = header.filter(|header| !header.trim().is_empty()) else { return Ok(Accepted::JSON) };
    let mut clauses: Vec<Clause<'_>> = header.split(',').map(|text| Clause::parse(text.trim())).collect();
    clauses.sort_by(|one, other| other.quality().total_cmp(&one.quality()));
    let accepted = clauses.iter().find_map(|clause| clause.served(offer));
    if let Some(accepted) = accepted.filter(|accepted| !offer.is_stream || accepted.encoding != Encoding::Yaml) {
        return Ok(accepted);
    }
    if clauses.iter().any(|clause| clause.encoding().is_some()) {
        let known = if offer.is_stream { STREAMS.join(", ") } else { AVAILABLE.join(", ") };
        let message = format!("only the following media types are accepted: {known}");
        return Err(Status::new(406, "NotAcceptable", message));
    }
    let streams = if offer.is_single { [].as_slice() } else { STREAMS.as_slice() };
    let known = [AVAILABLE.as_slice(), streams].concat().join(", ");
    let message = format!("406: Not Acceptable\n\nAvailable representations: {known}");
    Err(Status::new(406, "NotAcceptable", message).with_details(crate::json::json!({})))
}

/// Whether a person reads the answer: told by the query, or seen from the program that asks.
pub fn wants_pretty(query: &Query, user_agent: &str) -> bool {
    match query.get("pretty") {
        "" => ["curl", "Wget", "Mozilla/5.0"].iter().any(|program| user_agent.starts_with(program)),
        text => ["1", "t", "T", "true", "TRUE", "True"].contains(&text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECTS: Offer = Offer { is_custom: false, is_stream: false, is_single: false };
    const CUSTOM: Offer = Offer { is_custom: true, is_stream: false, is_single: false };
    const EVENTS: Offer = Offer { is_custom: false, is_stream: true, is_single: false };

    fn shown(header: &str, offer: Offer) -> String {
        match negotiate(Some(header), offer) {
            Ok(Accepted { encoding, shape, is_beta }) => {
                format!("{encoding:?} {shape:?}{}", if is_beta { " beta" } else { "" })
            }
            Err(status) => status.message().lines().next().unwrap_or_default().to_owned(),
        }
    }

    #[test]
    fn the_first_form_that_can_be_served_is_taken() {
        let refused = "only the following media types are accepted: application/json, application/yaml, \
                       application/vnd.kubernetes.protobuf";
        let proto = "application/vnd.kubernetes.protobuf";
        let metadata = "as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
        let cases = [
            ("application/json;as=Table;v=v1;g=meta.k8s.io,application/json".to_owned(), OBJECTS, "Json Table"),
            ("application/json;as=Table;v=v1beta1;g=meta.k8s.io".to_owned(), OBJECTS, "Json Table beta"),
            (format!("{proto}, application/json"), OBJECTS, "Protobuf Whole"),
            (format!("{proto}, application/json"), CUSTOM, "Json Whole"),
            (proto.to_owned(), CUSTOM, refused),
            (format!("{proto};{metadata}"), CUSTOM, "Protobuf Partial"),
            (format!("{proto};as=Table;v=v1;g=meta.k8s.io"), OBJECTS, refused),
            ("text/html,application/json;q=0.5".to_owned(), OBJECTS, "Json Whole"),
            ("application/json;q=0.5,application/yaml".to_owned(), OBJECTS, "Yaml Whole"),
            ("text/plain".to_owned(), OBJECTS, "406: Not Acceptable"),
            ("application/json;as=Table;v=v9;g=meta.k8s.io".to_owned(), OBJECTS, refused),
            ("application/json;stream=watch".to_owned(), EVENTS, "Json Whole"),
            (
                "application/yaml".to_owned(),
                EVENTS,
                "only the following media types are accepted: application/json;stream=watch, \
                 application/vnd.kubernetes.protobuf;stream=watch",
            ),
        ];
        for (header, offer, expected) in cases {
            assert_eq!(shown(&header, offer), expected, "{header} {offer:?}");
        }
        assert_eq!(negotiate(None, OBJECTS), Ok(Accepted::JSON));
    }

    #[test]
    fn people_get_lines() {
        for (query, agent, is_pretty) in
            [("", "curl/8", true), ("pretty=false", "curl/8", false), ("pretty=1", "kubectl", true), ("", "x", false)]
        {
            assert_eq!(wants_pretty(&Query::parse(query), agent), is_pretty, "{query} {agent}");
        }
    }
}
