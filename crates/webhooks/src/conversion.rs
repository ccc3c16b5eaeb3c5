//! Objects in another version.

use kueue_api::kueue::conversion::convert;
use kueue_core::gates::Gates;
use serde::Deserialize;
use serde_json::{Value, json};

/// What is asked for.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Request {
    uid: String,
    #[serde(rename = "desiredAPIVersion")]
    version: String,
    objects: Vec<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Review {
    api_version: String,
    request: Request,
}

/// The answer to a ConversionReview. One object that cannot be converted fails all of them, as the API server wants it.
///
/// # Errors
/// When this is no ConversionReview.
pub(crate) fn answer(body: &[u8], gates: Gates) -> Result<Value, String> {
    let Review { api_version, request } =
        serde_json::from_slice(body).map_err(|error| format!("cannot read the ConversionReview: {error}"))?;
    let Request { uid, version, objects } = request;
    let converted: Result<Vec<Value>, _> = objects.into_iter().map(|object| convert(object, &version, gates)).collect();
    let response = match converted {
        Ok(objects) => json!({"uid": uid, "result": {"status": "Success"}, "convertedObjects": objects}),
        Err(error) => json!({"uid": uid, "result": {"status": "Failure", "message": error.to_string()}}),
    };
    Ok(json!({"apiVersion": api_version, "kind": "ConversionReview", "response": response}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(objects: &Value, version: &str) -> Value {
        let request = json!({"uid": "u", "desiredAPIVersion": version, "objects": objects});
        let review = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request});
        answer(review.to_string().as_bytes(), Gates::default()).unwrap()["response"].clone()
    }

    #[test]
    fn objects_come_back_in_the_version_that_was_asked_for() {
        let old = json!({"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ClusterQueue", "metadata": {"name": "q"},
            "spec": {"cohort": "team"}});
        let converted = ask(&json!([old]), "kueue.x-k8s.io/v1beta2");
        assert_eq!(converted["result"]["status"], "Success");
        assert_eq!(converted["convertedObjects"][0]["apiVersion"], "kueue.x-k8s.io/v1beta2");
        assert_eq!(converted["convertedObjects"][0]["spec"]["cohortName"], "team");
    }

    #[test]
    fn what_cannot_be_converted_is_said() {
        let unknown = json!([{"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Unheard", "metadata": {"name": "q"}}]);
        let failed = ask(&unknown, "kueue.x-k8s.io/v1beta2");
        assert_eq!(failed["result"]["status"], "Failure");
        assert!(failed["result"]["message"].as_str().unwrap().contains("Unheard"), "{failed}");
        assert!(answer(b"{", Gates::default()).unwrap_err().starts_with("cannot read the ConversionReview: "));
    }
}
