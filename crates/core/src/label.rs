//! Keys and values of labels and annotations: what is allowed, in the API server's words.

use std::collections::BTreeMap;

use crate::field::{Error, Errors, Path};
use crate::name::{SUBDOMAIN_BYTES_MAX, pattern_message, subdomain_pattern};

const NAME_PATTERN: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const VALUE_PATTERN: &str = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";

const NAME_BYTES_MAX: usize = 63;
/// All keys and values of the annotations of one object together.
const ANNOTATIONS_BYTES_MAX: usize = 256 * 1024;

/// The key of a label: a name with an optional domain before it, `example.com/my-name`.
pub fn qualified_name(key: &str) -> Vec<String> {
    let name_rule = || {
        let rule = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
        pattern_message(rule, NAME_PATTERN, &["MyName", "my.name", "123-abc"])
    };
    let mut messages = Vec::new();
    let parts: Vec<&str> = key.split('/').collect();
    let name = match parts[..] {
        [name] => name,
        [prefix, name] => {
            messages.extend(prefix_messages(prefix));
            name
        }
        _ => {
            let rule = name_rule();
            return vec![format!(
                "a valid label key {rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        messages.push("name part must be non-empty".to_owned());
    } else if name.len() > NAME_BYTES_MAX {
        messages.push(format!("name part must be no more than {NAME_BYTES_MAX} bytes"));
    }
    if !is_label_name(name) {
        messages.push(format!("name part {}", name_rule()));
    }
    messages
}

/// The value of a label; it may be empty.
pub fn value(value: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if value.len() > NAME_BYTES_MAX {
        messages.push(format!("must be no more than {NAME_BYTES_MAX} bytes"));
    }
    if !(value.is_empty() || is_label_name(value)) {
        messages.push(pattern_message(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
            VALUE_PATTERN,
            &["MyValue", "my_value", "12345"],
        ));
    }
    messages
}

/// Every wrong key and value, in the order of the keys.
pub fn validate_labels(labels: &BTreeMap<String, String>, at: &Path) -> Errors {
    let mut errors = Errors::new();
    for (key, text) in labels {
        errors.extend(validate_key(key, at));
        errors.extend(value(text).into_iter().map(|why| Error::invalid(at, text.as_str(), why)));
    }
    errors
}

/// The key of one label.
pub fn validate_key(key: &str, at: &Path) -> Errors {
    qualified_name(key).into_iter().map(|why| Error::invalid(at, key, why)).collect()
}

/// Annotations have keys as labels do, in any case, and any values up to a total size.
pub fn validate_annotations(annotations: &BTreeMap<String, String>, at: &Path) -> Errors {
    let mut errors = Errors::new();
    for key in annotations.keys() {
        let messages = qualified_name(&key.to_lowercase());
        errors.extend(messages.into_iter().map(|why| Error::invalid(at, key.as_str(), why)));
    }
    let size: usize = annotations.iter().map(|(key, value)| key.len() + value.len()).sum();
    if size > ANNOTATIONS_BYTES_MAX {
        errors.push(Error::too_long(at, ANNOTATIONS_BYTES_MAX));
    }
    errors
}

fn prefix_messages(prefix: &str) -> Vec<String> {
    if prefix.is_empty() {
        return vec!["prefix part must be non-empty".to_owned()];
    }
    let mut messages = Vec::new();
    if prefix.len() > SUBDOMAIN_BYTES_MAX {
        messages.push(format!("prefix part must be no more than {SUBDOMAIN_BYTES_MAX} bytes"));
    }
    messages.extend(subdomain_pattern(prefix).map(|why| format!("prefix part {why}")));
    messages
}

fn is_label_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.ends_with(|last: char| last.is_ascii_alphanumeric())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn map(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
        entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn text(errors: &[Error]) -> String {
        errors.iter().map(|error| format!("{error}\n")).collect()
    }

    #[test]
    fn good_keys_and_values_have_no_message() {
        for key in ["a", "A.b_c-D", "9", "example.com/a", "a/B", &"a".repeat(63)] {
            assert_eq!(qualified_name(key), [""; 0], "{key}");
        }
        for text in ["", "a", "A.b_c-D", "9", &"a".repeat(63)] {
            assert_eq!(value(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn bad_keys_and_values_are_refused() {
        for key in ["", "/", "a/", "/a", "a/b/c", "-a", "a.", "a b", "é", "A.com/a", &"a".repeat(64)] {
            assert_ne!(qualified_name(key), [""; 0], "{key}");
        }
        for text in ["-", "a-", ".a", "a b", "a/b", "é", &"a".repeat(64)] {
            assert_ne!(value(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn every_wrong_key_and_value_is_reported() {
        let labels = map(&[("-", "-"), ("/a", ""), ("a/b/c", ""), ("good", &"a".repeat(64)), ("X.io/", "ok")]);
        expect![[r#"
            labels: Invalid value: "-": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')
            labels: Invalid value: "-": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')
            labels: Invalid value: "/a": prefix part must be non-empty
            labels: Invalid value: "X.io/": prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')
            labels: Invalid value: "X.io/": name part must be non-empty
            labels: Invalid value: "X.io/": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')
            labels: Invalid value: "a/b/c": a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')
            labels: Invalid value: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": must be no more than 63 bytes
        "#]]
        .assert_eq(&text(&validate_labels(&labels, &Path::new("labels"))));
    }

    #[test]
    fn annotation_keys_ignore_case_and_only_the_total_size_is_limited() {
        let at = Path::new("annotations");
        assert_eq!(validate_annotations(&map(&[("Example.COM/a", "any thing\n")]), &at), []);
        let large = map(&[("b", &"x".repeat(ANNOTATIONS_BYTES_MAX)), ("a/", "")]);
        let errors = validate_annotations(&large, &at);
        assert_eq!(errors.len(), 3);
        assert_eq!(errors[2].to_string(), "annotations: Too long: may not be more than 262144 bytes");
        assert_eq!(validate_annotations(&map(&[("b", &"x".repeat(ANNOTATIONS_BYTES_MAX - 1))]), &at), []);
    }
}
