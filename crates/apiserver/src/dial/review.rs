//! Reviews: an object is posted, an object of the same kind comes back. Whatever else comes back is told in the words of
//! a real server's client.

use std::time::Duration;

use super::{Answer, Client, Dialer};
use crate::json::Value;
use crate::rest::body::{self, Encoding};
use crate::schema::go::kind_of;
use crate::store::Store;

/// How Go writes the type that every object is first read into.
const TYPE_META: &str = "struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; \
    Kind string \"json:\\\"kind,omitempty\\\"\" }";

/// How much of a text is repeated in an error.
const TEXT_BYTES_MAX: usize = 2048;

impl Dialer {
    /// Posts a review and reads the answer, which must be an object of one of these types: `("v1", "K")`.
    pub async fn review(
        &self,
        store: &Store,
        client: &Client,
        review: &Value,
        timeout: Duration,
        types: &[(&str, &str)],
    ) -> Result<Value, String> {
        let answer = self.post(store, client, review.to_string().into_bytes(), timeout).await?;
        if !(200..=206).contains(&answer.code) {
            return Err(refusal(&answer));
        }
        decode(&answer, types)
    }
}

/// What a code other than success means.
fn refusal(answer: &Answer) -> String {
    if let Ok(status) = serde_json::from_slice::<Value>(&answer.body)
        && status["kind"] == "Status"
        && status["status"] == "Failure"
    {
        return status["message"].as_str().unwrap_or_default().to_owned();
    }
    let is_text = answer.content_type.starts_with("text/");
    let said = match is_text {
        true => {
            let kept = &answer.body[..answer.body.len().min(TEXT_BYTES_MAX)];
            String::from_utf8_lossy(kept).trim().to_owned()
        }
        false => "unknown".to_owned(),
    };
    match answer.code {
        400 => "the server rejected our request for an unknown reason".to_owned(),
        401 => "the server has asked for the client to provide credentials".to_owned(),
        404 => "the server could not find the requested resource".to_owned(),
        405 => "the server does not allow this method on the requested resource".to_owned(),
        406 if said.is_empty() || said == "unknown" => {
            "the server was unable to respond with a content type that the client supports".to_owned()
        }
        403 | 406 | 415 => said,
        409 => "the server reported a conflict".to_owned(),
        422 => "the server rejected our request due to an error in our request".to_owned(),
        429 => "the server has received too many requests and has asked us to try again later".to_owned(),
        503 => "the server is currently unable to handle the request".to_owned(),
        504 => "the server was unable to return a response in the time allotted, but may still be processing the \
                request"
            .to_owned(),
        code if code >= 500 => {
            format!("an error on the server ({said:?}) has prevented the request from succeeding")
        }
        code => format!("the server responded with the status code {code} but did not return more information"),
    }
}

fn decode(answer: &Answer, types: &[(&str, &str)]) -> Result<Value, String> {
    if answer.body.is_empty() {
        return Err(format!(
            "0-length response with status code: {} and content type: {}",
            answer.code, answer.content_type
        ));
    }
    let unreadable = |why: String| format!("couldn't get version/kind; json parse error: {why}");
    // What does not begin like JSON is read as YAML, and almost every text is a string in YAML.
    let is_json = answer.body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    let encoding = if is_json { Encoding::Json } else { Encoding::Yaml };
    let value = body::parse(&answer.body, encoding).map_err(unreadable)?.value;
    if !value.is_object() && !value.is_null() {
        let found = kind_of(&value);
        return Err(unreadable(format!("json: cannot unmarshal {found} into Go value of type {TYPE_META}")));
    }
    let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
    let (kind, version) = (text("kind"), text("apiVersion"));
    let shown = || String::from_utf8_lossy(&answer.body[..answer.body.len().min(TEXT_BYTES_MAX)]).into_owned();
    if kind.is_empty() {
        return Err(format!("Object 'Kind' is missing in '{}'", shown()));
    }
    if version.is_empty() {
        return Err(format!("Object 'apiVersion' is missing in '{}'", shown()));
    }
    if !types.contains(&(version, kind)) {
        return Err(format!("no kind \"{kind}\" is registered for version \"{version}\" in scheme"));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(code: u16, content_type: &str, body: &str) -> Answer {
        Answer { code, content_type: content_type.into(), body: body.to_owned().into() }
    }

    #[test]
    fn a_code_is_told_in_words() {
        let cases = [
            (
                500,
                "application/json",
                "boom",
                "an error on the server (\"unknown\") has prevented the request from succeeding",
            ),
            (
                500,
                "text/plain",
                "boom\n",
                "an error on the server (\"boom\") has prevented the request from succeeding",
            ),
            (404, "text/plain", "x", "the server could not find the requested resource"),
            (403, "text/plain", "you may not", "you may not"),
            (
                418,
                "text/plain",
                "x",
                "the server responded with the status code 418 but did not return more information",
            ),
            (
                500,
                "application/json",
                r#"{"kind": "Status", "status": "Failure", "message": "own words"}"#,
                "own words",
            ),
        ];
        for (code, kind, body, wanted) in cases {
            assert_eq!(refusal(&answer(code, kind, body)), wanted, "{code} {body}");
        }
    }

    #[test]
    fn an_answer_that_is_no_review_is_told() {
        let types = [("admission.k8s.io/v1", "AdmissionReview")];
        let cases = [
            ("", "0-length response with status code: 200 and content type: application/json"),
            ("{}", "Object 'Kind' is missing in '{}'"),
            (r#"{"kind": "K"}"#, "Object 'apiVersion' is missing in '{\"kind\": \"K\"}'"),
            (r#"{"kind": "K", "apiVersion": "v1"}"#, "no kind \"K\" is registered for version \"v1\" in scheme"),
            (
                "{x",
                "couldn't get version/kind; json parse error: invalid character 'x' looking for beginning of object key string",
            ),
        ];
        for (body, wanted) in cases {
            assert_eq!(decode(&answer(200, "application/json", body), &types).unwrap_err(), wanted);
        }
        let text = decode(&answer(200, "text/html", "<html>"), &types).unwrap_err();
        assert!(text.starts_with("couldn't get version/kind; json parse error: json: cannot unmarshal string into"));
    }
}
