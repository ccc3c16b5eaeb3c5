//! The query of a URL, and the options that it spells.

use kueue_core::field::{Error, Errors, Path};

use super::path::unescape;
use crate::json::json;
use crate::status::{About, Result, Status};

/// Names and values in the order given.
#[derive(Debug, Clone, Default)]
pub struct Query(Vec<(String, String)>);

/// What `list` and `watch` are asked for.
#[derive(Debug, Clone, Default)]
pub struct ListOptions {
    pub label_selector: String,
    pub field_selector: String,
    pub is_watch: bool,
    pub wants_bookmarks: bool,
    pub resource_version: String,
    pub match_rule: String,
    pub timeout_seconds: Option<i64>,
    pub limit: i64,
    pub continue_token: String,
    pub send_initial_events: Option<bool>,
}

/// How strictly unknown fields are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

impl Query {
    pub fn parse(text: &str) -> Self {
        let pair = |part: &str| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let plain = |text: &str| unescape(&text.replace('+', " "));
            (plain(name), plain(value))
        };
        Self(text.split('&').filter(|part| !part.is_empty()).map(pair).collect())
    }

    /// The first value of a name; empty when there is none.
    pub fn get(&self, name: &str) -> &str {
        self.find(name).unwrap_or_default()
    }

    pub fn find(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn all(&self, name: &str) -> Vec<&str> {
        self.0.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str()).collect()
    }

    /// A flag: anything but `false` and `0` is yes.
    pub fn flag(&self, name: &str) -> Option<bool> {
        self.find(name).map(|value| !matches!(value, "false" | "0"))
    }

    fn number(&self, name: &str) -> Result<Option<i64>> {
        let Some(text) = self.find(name).filter(|text| !text.is_empty()) else { return Ok(None) };
        let wrong = |_| Status::bad_request(format!("strconv.ParseInt: parsing \"{text}\": invalid syntax"));
        text.parse().map(Some).map_err(wrong)
    }

    pub fn list_options(&self) -> Result<ListOptions> {
        Ok(ListOptions {
            label_selector: self.get("labelSelector").to_owned(),
            field_selector: self.get("fieldSelector").to_owned(),
            is_watch: self.flag("watch").unwrap_or_default(),
            wants_bookmarks: self.flag("allowWatchBookmarks").unwrap_or_default(),
            resource_version: self.get("resourceVersion").to_owned(),
            match_rule: self.get("resourceVersionMatch").to_owned(),
            timeout_seconds: self.number("timeoutSeconds")?,
            limit: self.number("limit")?.unwrap_or_default().max(0),
            continue_token: self.get("continue").to_owned(),
            send_initial_events: self.flag("sendInitialEvents"),
        })
    }

    pub fn field_validation(&self) -> std::result::Result<FieldValidation, Error> {
        match self.get("fieldValidation") {
            "" | "Warn" => Ok(FieldValidation::Warn),
            "Ignore" => Ok(FieldValidation::Ignore),
            "Strict" => Ok(FieldValidation::Strict),
            other => {
                let known = ["", "Ignore", "Strict", "Warn"];
                Err(Error::not_supported(&Path::new("fieldValidation"), other, &known))
            }
        }
    }

    /// Whether nothing is to be stored. Of a list of values only `All` is known.
    pub fn dry_run(&self, kind: &str) -> Result<bool> {
        let values = self.all("dryRun");
        dry_run(&values, kind)
    }
}

/// What the values of `dryRun` mean, in a query or in `DeleteOptions`.
pub fn dry_run(values: &[&str], kind: &str) -> Result<bool> {
    if values.is_empty() {
        return Ok(false);
    }
    if values.iter().all(|value| *value == "All") {
        return Ok(true);
    }
    let shown = json!(values);
    let mut error = Error::not_supported(&Path::new("dryRun"), shown, &["All"]);
    error.value = Some(json!(values).into());
    Err(Status::invalid(options(kind), &[error]))
}

/// Errors of options are told as those of an object without a name.
pub fn options(kind: &str) -> About<'_> {
    About { group: "meta.k8s.io", kind, name: "" }
}

impl ListOptions {
    /// Options that contradict each other.
    pub fn validate(&self) -> Result<()> {
        let mut errors = Errors::new();
        let at = Path::new("resourceVersionMatch");
        let rule = self.match_rule.as_str();
        if self.is_watch {
            self.validate_watch(&at, &mut errors);
        } else if self.send_initial_events.is_some() {
            errors.push(Error::forbidden(&Path::new("sendInitialEvents"), "sendInitialEvents is forbidden for list"));
        } else if !rule.is_empty() {
            if self.resource_version.is_empty() {
                let why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
                errors.push(Error::forbidden(&at, why));
            }
            if !self.continue_token.is_empty() {
                errors.push(Error::forbidden(&at, "resourceVersionMatch is forbidden when continue is provided"));
            }
            if !["Exact", "NotOlderThan"].contains(&rule) {
                errors.push(Error::not_supported(&at, rule, &["Exact", "NotOlderThan", ""]));
            }
            if rule == "Exact" && self.resource_version == "0" {
                let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
                errors.push(Error::forbidden(&at, why));
            }
        }
        if errors.is_empty() { Ok(()) } else { Err(Status::invalid(options("ListOptions"), &errors)) }
    }

    fn validate_watch(&self, at: &Path, errors: &mut Errors) {
        let rule = self.match_rule.as_str();
        if self.send_initial_events.is_some() && rule != "NotOlderThan" {
            let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
            errors.push(Error::forbidden(at, why));
        }
        if self.send_initial_events.is_none() && !rule.is_empty() {
            let why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            errors.push(Error::forbidden(at, why));
        }
        if !rule.is_empty() && rule != "NotOlderThan" {
            errors.push(Error::not_supported(at, rule, &["NotOlderThan"]));
        }
        if !self.continue_token.is_empty() {
            errors.push(Error::forbidden(&Path::new("continue"), "continue is forbidden for watch"));
        }
    }

    /// The version asked for; nothing when it is unset.
    pub fn version(&self) -> std::result::Result<Option<u64>, String> {
        let text = self.resource_version.as_str();
        if text.is_empty() {
            return Ok(None);
        }
        let wrong = |_| {
            format!("resourceVersion: Invalid value: \"{text}\": strconv.ParseUint: parsing \"{text}\": invalid syntax")
        };
        text.parse().map(Some).map_err(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_unescaped() {
        let query = Query::parse("labelSelector=a%3Db+c&limit=5&watch&x=1&x=2");
        assert_eq!(query.get("labelSelector"), "a=b c");
        assert_eq!(query.list_options().unwrap().limit, 5);
        assert_eq!((query.flag("watch"), query.flag("no")), (Some(true), None));
        assert_eq!(query.all("x"), ["1", "2"]);
    }

    #[test]
    fn options_that_contradict_each_other_are_refused() {
        let message = |text: &str| {
            let options = Query::parse(text).list_options().unwrap();
            options.validate().unwrap_err().message().replace("ListOptions.meta.k8s.io \"\" is invalid: ", "")
        };
        assert_eq!(
            message("resourceVersionMatch=Exact"),
            "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"
        );
        assert_eq!(
            message("watch=1&sendInitialEvents=true"),
            "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        );
        assert_eq!(
            message("sendInitialEvents=true"),
            "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"
        );
    }
}
