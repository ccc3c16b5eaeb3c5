//! How a definition wants objects converted: the settings of a webhook.

use kueue_core::field::{Error, Errors, Path};
use kueue_core::name;

use super::{list, text};
use crate::json::Value;

pub fn validate(conversion: &Value, at: &Path) -> Errors {
    if !conversion.is_object() {
        return Errors::new();
    }
    let (webhook, reviews) = (&conversion["webhook"], at.child("conversionReviewVersions"));
    let config = webhook.get("clientConfig").filter(|config| config.is_object());
    let place = at.child("webhookClientConfig");
    let versions = list(webhook, "conversionReviewVersions");
    let mut errors = Errors::new();
    match text(conversion, "strategy") {
        "None" => {
            if config.is_some() {
                errors.push(Error::forbidden(&place, "should not be set when strategy is not set to Webhook"));
            }
            if !versions.is_empty() {
                errors.push(Error::forbidden(&reviews, "should not be set when strategy is not set to Webhook"));
            }
        }
        "Webhook" => {
            match config {
                None => errors.push(Error::required(&place, "required when strategy is set to Webhook")),
                Some(config) => errors.extend(validate_client(config, &place)),
            }
            errors.extend(validate_reviews(versions, &reviews));
        }
        "" => errors.push(Error::required(&at.child("strategy"), "")),
        other => errors.push(Error::not_supported(&at.child("strategy"), other, &["None", "Webhook"])),
    }
    errors
}

fn validate_client(config: &Value, at: &Path) -> Errors {
    match (config["url"].as_str(), config.get("service").filter(|service| service.is_object())) {
        (Some(url), None) => validate_url(url, &at.child("url")),
        (None, Some(service)) => validate_service(service, &at.child("service")),
        _ => vec![Error::required(at, "exactly one of url or service is required")],
    }
}

/// The address of a webhook: HTTPS, a host, and nothing that says who asks.
fn validate_url(url: &str, at: &Path) -> Errors {
    let form = "; desired format: https://host[/path]";
    let mut errors = Errors::new();
    let mut say = |why: String| errors.push(Error::invalid(at, url, why));
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    if scheme != "https" {
        say(format!("'https' is the only allowed URL scheme{form}"));
    }
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = if scheme.is_empty() { "" } else { rest.split('/').next().unwrap_or_default() };
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    if host.is_empty() {
        say(format!("host must be specified{form}"));
    }
    if !user.is_empty() {
        say(format!("user information is not permitted in the URL{form}"));
    }
    if !fragment.is_empty() {
        say(format!("fragments are not permitted in the URL{form}"));
    }
    if !query.is_empty() {
        say(format!("query parameters are not permitted in the URL{form}"));
    }
    errors
}

fn validate_service(service: &Value, at: &Path) -> Errors {
    let mut errors = Errors::new();
    for key in ["name", "namespace"] {
        if text(service, key).is_empty() {
            let why = format!("service {key} is required");
            errors.push(Error::required(&at.child(key), why));
        }
    }
    if let Some(port) = service["port"].as_i64().filter(|port| !(1..=65535).contains(port)) {
        errors.push(Error::invalid(
            &at.child("port"),
            port,
            "port is not valid: must be between 1 and 65535, inclusive",
        ));
    }
    if let Some(path) = service["path"].as_str() {
        errors.extend(validate_path(path, &at.child("path")));
    }
    errors
}

fn validate_path(path: &str, at: &Path) -> Errors {
    if path == "/" || path.is_empty() {
        return Errors::new();
    }
    if path == "//" {
        return vec![Error::invalid(at, path, "segment[0] may not be empty")];
    }
    if !path.starts_with('/') {
        return vec![Error::invalid(at, path, "must start with a '/'")];
    }
    let body = path[1..].strip_suffix('/').unwrap_or(&path[1..]);
    let mut errors = Errors::new();
    for (index, segment) in body.split('/').enumerate() {
        if segment.is_empty() {
            errors.push(Error::invalid(at, path, format!("segment[{index}] may not be empty")));
            continue;
        }
        for why in name::dns1123_subdomain(segment) {
            errors.push(Error::invalid(at, path, format!("segment[{index}]: {why}")));
        }
    }
    errors
}

fn validate_reviews(versions: &[Value], at: &Path) -> Errors {
    if versions.is_empty() {
        return vec![Error::required(at, "")];
    }
    let mut errors = Errors::new();
    for (index, version) in versions.iter().enumerate() {
        let given = version.as_str().unwrap_or_default();
        if versions[..index].contains(version) {
            errors.push(Error::invalid(&at.index(index), given, "duplicate version"));
            continue;
        }
        for why in name::dns1035_label(given) {
            errors.push(Error::invalid(&at.index(index), given, why));
        }
    }
    if !versions.iter().any(|version| version == "v1" || version == "v1beta1") {
        errors.push(Error::invalid(at, Value::from(versions), "must include at least one of v1, v1beta1"));
    }
    errors
}
