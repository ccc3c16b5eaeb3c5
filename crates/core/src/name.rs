//! What Kubernetes accepts as a name, and what it says about one that it refuses.
//!
//! Every check returns all messages, in the API server's words; none means that the name is fine.

use crate::field::{Error, Errors, Path};

const LABEL_PATTERN: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN_PATTERN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const DNS1035_PATTERN: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const PATH_PATTERN: &str = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+";

const LABEL_BYTES_MAX: usize = 63;
pub(crate) const SUBDOMAIN_BYTES_MAX: usize = 253;

/// The name of most namespaced things that become part of a DNS name: `my-name`.
pub fn dns1123_label(name: &str) -> Vec<String> {
    let mut messages = too_long(name, LABEL_BYTES_MAX);
    if !is_dns1123_label(name) {
        messages.push(match is_dns1123_subdomain(name) {
            true => "must not contain dots".to_owned(),
            false => pattern_message(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
                LABEL_PATTERN,
                &["my-name", "123-abc"],
            ),
        });
    }
    messages
}

/// Labels joined by dots: `example.com`.
pub fn dns1123_subdomain(name: &str) -> Vec<String> {
    let mut messages = too_long(name, SUBDOMAIN_BYTES_MAX);
    messages.extend(subdomain_pattern(name));
    messages
}

/// A label that does not start with a digit, as Services need it.
pub fn dns1035_label(name: &str) -> Vec<String> {
    let mut messages = too_long(name, LABEL_BYTES_MAX);
    if !(is_dns1123_label(name) && name.starts_with(|first: char| first.is_ascii_lowercase())) {
        messages.push(pattern_message(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
            DNS1035_PATTERN,
            &["my-name", "abc-123"],
        ));
    }
    messages
}

/// A host and a path, such as `acme.io/foo`: who owns a controller or a gate, and which one it is.
pub fn validate_domain_prefixed_path(text: &str, at: &Path) -> Errors {
    if text.is_empty() {
        return vec![Error::required(at, "")];
    }
    let Some((host, path)) = text.split_once('/').filter(|(host, path)| !host.is_empty() && !path.is_empty()) else {
        return vec![Error::invalid(at, text, r#"must be a domain-prefixed path (such as "acme.io/foo")"#)];
    };
    let mut errors: Errors = dns1123_subdomain(host).into_iter().map(|why| Error::invalid(at, host, why)).collect();
    if !path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&byte)) {
        errors.push(Error::invalid(at, path, pattern_message("Invalid path", PATH_PATTERN, &[])));
    }
    errors
}

/// Only the form of a subdomain; callers word the length themselves.
pub(crate) fn subdomain_pattern(name: &str) -> Option<String> {
    (!is_dns1123_subdomain(name)).then(|| {
        pattern_message(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
            SUBDOMAIN_PATTERN,
            &["example.com"],
        )
    })
}

/// The API server names the pattern it used, with examples that match.
pub fn pattern_message(rule: &str, pattern: &str, examples: &[&str]) -> String {
    let examples: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    let lead = if examples.is_empty() { "" } else { "e.g. " };
    format!("{rule} ({lead}{}regex used for validation is '{pattern}')", examples.join(" or "))
}

fn too_long(name: &str, max: usize) -> Vec<String> {
    if name.len() > max { vec![format!("must be no more than {max} characters")] } else { Vec::new() }
}

fn is_dns1123_label(name: &str) -> bool {
    let is_alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    match (name.bytes().next(), name.bytes().next_back()) {
        (Some(first), Some(last)) => {
            is_alphanumeric(first)
                && is_alphanumeric(last)
                && name.bytes().all(|byte| is_alphanumeric(byte) || byte == b'-')
        }
        _ => false,
    }
}

fn is_dns1123_subdomain(name: &str) -> bool {
    name.split('.').all(is_dns1123_label)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    fn check(rule: fn(&str) -> Vec<String>, name: &str, expected: &Expect) {
        expected.assert_eq(&rule(name).join("\n"));
    }

    #[test]
    fn good_names_have_no_message() {
        for name in ["a", "0", "my-name", "123-abc", &"a".repeat(63)] {
            assert_eq!(dns1123_label(name), [""; 0], "{name}");
        }
        for name in ["a", "a.b", "0-1.x2.y", &"a".repeat(253)] {
            assert_eq!(dns1123_subdomain(name), [""; 0], "{name}");
        }
        for name in ["a", "a-0", &"a".repeat(63)] {
            assert_eq!(dns1035_label(name), [""; 0], "{name}");
        }
    }

    #[test]
    fn bad_names_are_refused() {
        for name in ["", "-", "a-", "-a", "A", "a_b", "a b", "é", "a\n", &"a".repeat(64)] {
            assert_ne!(dns1123_label(name), [""; 0], "{name}");
            assert_ne!(dns1035_label(name), [""; 0], "{name}");
        }
        for name in ["", ".", "a.", ".a", "a..b", "a.-b", "A.b", &"a".repeat(254)] {
            assert_ne!(dns1123_subdomain(name), [""; 0], "{name}");
        }
        assert_ne!(dns1035_label("1a"), [""; 0]);
    }

    #[test]
    fn messages_are_the_api_servers() {
        let label = expect![[
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
        ]];
        check(dns1123_label, "A", &label);
        check(dns1123_label, "a.b", &expect!["must not contain dots"]);
        let subdomain = expect![[
            r"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
        ]];
        check(dns1123_subdomain, "A", &subdomain);
        let long = expect!["must be no more than 253 characters"];
        check(dns1123_subdomain, &"a".repeat(254), &long);
        let dns1035 = expect![[
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
        ]];
        check(dns1035_label, "1a", &dns1035);
    }

    #[test]
    fn a_domain_prefixed_path_has_a_host_and_a_path() {
        let check = |text: &str| -> Vec<String> {
            validate_domain_prefixed_path(text, &Path::new("gate")).iter().map(ToString::to_string).collect()
        };
        assert_eq!(check("acme.io/foo/bar:1"), [""; 0]);
        assert_eq!(check(""), ["gate: Required value"]);
        for text in ["acme.io", "acme.io/", "/foo", "/"] {
            let message = r#"must be a domain-prefixed path (such as "acme.io/foo")"#;
            assert_eq!(check(text), [format!(r#"gate: Invalid value: "{text}": {message}"#)]);
        }
        let both = check("A/b c");
        assert_eq!(both.len(), 2, "{both:?}");
        assert_eq!(
            both[1],
            r#"gate: Invalid value: "b c": Invalid path (regex used for validation is '[A-Za-z0-9/\-._~%!$&'()*+,;=:]+')"#
        );
    }

    proptest! {
        /// Each rule allows more than the one before, whatever the text.
        #[test]
        fn the_rules_nest(text in "[-a-z0-9A-Z._/]{0,70}|\\PC{0,8}") {
            if dns1035_label(&text).is_empty() {
                prop_assert!(dns1123_label(&text).is_empty());
            }
            if dns1123_label(&text).is_empty() {
                prop_assert!(dns1123_subdomain(&text).is_empty() && label::value(&text).is_empty());
            }
            if !text.is_empty() && label::value(&text).is_empty() {
                prop_assert!(label::qualified_name(&text).is_empty());
            }
        }
    }
}
