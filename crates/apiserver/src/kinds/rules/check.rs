//! A place in an object together with its path, and the small checks that every kind's rules are made of.
//!
//! A check adds to a list of errors and goes on, because a server tells all mistakes at once, in a fixed order.

use std::net::IpAddr;

use kueue_core::field::{Error, Errors, Path};
use kueue_core::label;
use kueue_core::name::pattern_message;
use kueue_core::quantity::Quantity;
use kueue_core::selector::LabelSelector;

use crate::json::{Map, Value};

/// What messages say of a number that must not be negative.
pub const NEGATIVE: &str = "must be greater than or equal to 0";
const NOT_POSITIVE: &str = "must be greater than zero";
const IP_WANTED: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";

static NOTHING: Value = Value::Null;

/// A value and where it stands. What is not there is null.
#[derive(Debug, Clone)]
pub struct Field<'v> {
    pub value: &'v Value,
    pub path: Path,
}

impl<'v> Field<'v> {
    /// The object itself.
    pub fn root(object: &'v Value) -> Self {
        Self { value: object, path: Path::default() }
    }

    /// The value at dotted names below this one.
    pub fn child(&self, names: &str) -> Self {
        let mut found = self.clone();
        for name in names.split('.') {
            found = Self { value: found.value.get(name).unwrap_or(&NOTHING), path: found.path.child(name) };
        }
        found
    }

    /// The entry of a map; its key is shown in brackets.
    pub fn child_key(&self, key: &str) -> Self {
        Self { value: self.value.get(key).unwrap_or(&NOTHING), path: self.path.key(key) }
    }

    pub fn items(&self) -> impl Iterator<Item = Self> + use<'v> {
        let path = self.path.clone();
        let items = self.value.as_array().map(Vec::as_slice).unwrap_or_default();
        items.iter().enumerate().map(move |(index, value)| Self { value, path: path.index(index) })
    }

    pub fn entries(&self) -> impl Iterator<Item = (&'v str, Self)> + use<'v> {
        let path = self.path.clone();
        let entries = self.value.as_object().into_iter().flatten();
        entries.map(move |(key, value)| (key.as_str(), Self { value, path: path.key(key) }))
    }

    pub fn is_set(&self) -> bool {
        !self.value.is_null()
    }

    /// Whether there is neither text nor list nor map with something in it.
    pub fn is_empty(&self) -> bool {
        match self.value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(entries) => entries.is_empty(),
            _ => false,
        }
    }

    pub fn len(&self) -> usize {
        self.value.as_array().map_or_else(|| self.value.as_object().map_or(0, Map::len), Vec::len)
    }

    pub fn text(&self) -> &'v str {
        self.value.as_str().unwrap_or_default()
    }

    pub fn number(&self) -> i64 {
        self.value.as_i64().unwrap_or_default()
    }

    pub fn quantity(&self) -> Option<Quantity> {
        self.value.as_str()?.parse().ok()
    }

    pub fn selector(&self) -> LabelSelector {
        crate::json::read(self.value).unwrap_or_default()
    }

    pub fn invalid(&self, why: impl Into<String>) -> Error {
        Error::invalid(&self.path, self.value.clone(), why)
    }

    /// The mistake of something too large or too odd to be shown.
    pub fn invalid_unshown(&self, why: impl Into<String>) -> Error {
        Error { value: None, ..Error::invalid(&self.path, "", why) }
    }

    pub fn required(&self, why: &str) -> Error {
        Error::required(&self.path, why)
    }

    pub fn forbidden(&self, why: impl Into<String>) -> Error {
        Error::forbidden(&self.path, why)
    }

    pub fn duplicate(&self) -> Error {
        Error::duplicate(&self.path, self.value.clone())
    }

    pub fn not_found(&self) -> Error {
        Error::not_found(&self.path, self.value.clone())
    }

    /// Whether there is something; tells when there is not.
    pub fn needs(&self, errors: &mut Errors) -> bool {
        if self.is_empty() {
            errors.push(self.required(""));
        }
        !self.is_empty()
    }

    /// Tells every reason that `rule` has against the text.
    pub fn obeys(&self, rule: impl Fn(&str) -> Vec<String>, errors: &mut Errors) {
        errors.extend(rule(self.text()).into_iter().map(|why| self.invalid(why)));
    }

    /// Likewise, when there is text.
    pub fn obeys_if_set(&self, rule: impl Fn(&str) -> Vec<String>, errors: &mut Errors) {
        if !self.text().is_empty() {
            self.obeys(rule, errors);
        }
    }

    /// Text that is there and obeys.
    pub fn needs_name(&self, rule: impl Fn(&str) -> Vec<String>, errors: &mut Errors) {
        if self.needs(errors) {
            self.obeys(rule, errors);
        }
    }

    /// One of a few words; nothing at all is told as missing.
    pub fn needs_one_of(&self, words: &[&str], errors: &mut Errors) {
        if self.needs(errors) {
            self.one_of(words, errors);
        }
    }

    /// One of a few words, when it is given; the words are told in this order.
    pub fn one_of(&self, words: &[&str], errors: &mut Errors) {
        if self.is_set() && !words.contains(&self.text()) {
            errors.push(Error::not_supported(&self.path, self.value.clone(), words));
        }
    }

    pub fn not_negative(&self, errors: &mut Errors) {
        if self.number() < 0 {
            errors.push(self.invalid(NEGATIVE));
        }
    }

    /// More than nothing; absence counts as nothing.
    pub fn positive(&self, errors: &mut Errors) {
        if self.number() <= 0 {
            errors.push(Error::invalid(&self.path, self.number(), NOT_POSITIVE));
        }
    }

    pub fn in_range(&self, min: i64, max: i64, errors: &mut Errors) {
        if self.is_set() && !(min..=max).contains(&self.number()) {
            errors.push(self.invalid(format!("must be between {min} and {max}, inclusive")));
        }
    }

    pub fn at_most(&self, max: usize, errors: &mut Errors) {
        if self.len() > max {
            errors.push(Error::too_many(&self.path, self.len(), max));
        }
    }

    /// The number of a port, or its name.
    pub fn port(&self, errors: &mut Errors) {
        match self.value {
            Value::String(_) => self.obeys(port_name, errors),
            _ => Field { value: &self.number().into(), path: self.path.clone() }.in_range(1, 65_535, errors),
        }
    }

    pub fn ip(&self, errors: &mut Errors) -> Option<IpAddr> {
        let found = ip(self.text());
        match (found, self.text().parse::<IpAddr>()) {
            (None, _) => errors.push(self.invalid(IP_WANTED)),
            (Some(_), Err(_)) => errors.push(self.invalid("must not have leading 0s")),
            (Some(IpAddr::V6(address)), _) if address.to_ipv4_mapped().is_some() => {
                errors.push(self.invalid("must not be an IPv4-mapped IPv6 address"));
            }
            _ => {}
        }
        found
    }

    pub fn labels(&self, errors: &mut Errors) {
        errors.extend(label::validate_labels(&crate::meta::strings(self.value), &self.path));
    }

    pub fn annotations(&self, errors: &mut Errors) {
        errors.extend(label::validate_annotations(&crate::meta::strings(self.value), &self.path));
    }

    /// A label selector, when there is one.
    pub fn label_selector(&self, errors: &mut Errors) {
        if self.is_set() {
            errors.extend(self.selector().validate(&self.path));
        }
    }

    /// An amount that is not negative.
    pub fn amount(&self, errors: &mut Errors) {
        if self.quantity().is_some_and(|quantity| quantity.sign() < 0) {
            errors.push(self.invalid(NEGATIVE));
        }
    }

    /// A number, or a share in percent.
    pub fn number_or_percent(&self, errors: &mut Errors) {
        match self.value {
            Value::String(text) if percent(text).is_none() => {
                let rule = "a valid percent string must be a numeric string followed by an ending '%'";
                errors.push(self.invalid(pattern_message(rule, "[0-9]+%", &["1%", "93%"])));
            }
            Value::String(_) => {}
            _ => self.not_negative(errors),
        }
    }

    pub fn at_most_all(&self, errors: &mut Errors) {
        if percent(self.text()).is_some_and(|share| share > 100) {
            errors.push(self.invalid("must not be greater than 100%"));
        }
    }

    /// The number, or that of the percents.
    pub fn share(&self) -> i64 {
        percent(self.text()).unwrap_or_else(|| self.number())
    }
}

fn percent(text: &str) -> Option<i64> {
    let digits = text.strip_suffix('%')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(i64::MAX))
}

/// An address; leading zeros are understood, though not allowed in new ones.
pub fn ip(text: &str) -> Option<IpAddr> {
    let plain = |part: &str| {
        let digits = part.trim_start_matches('0');
        if digits.is_empty() && !part.is_empty() { "0".to_owned() } else { digits.to_owned() }
    };
    let relaxed = || text.split('.').map(plain).collect::<Vec<String>>().join(".");
    text.parse().ok().or_else(|| (!text.contains(':')).then(|| relaxed().parse().ok()).flatten())
}

/// An address range: the address and the length of its prefix.
pub fn cidr(text: &str) -> Option<(IpAddr, u8)> {
    let (address, bits) = text.split_once('/')?;
    let address = ip(address)?;
    let bits: u8 = bits.parse().ok()?;
    (bits <= if address.is_ipv4() { 32 } else { 128 }).then_some((address, bits))
}

pub fn port_name(name: &str) -> Vec<String> {
    let is_letter = |byte: u8| byte.is_ascii_lowercase();
    let rules = [
        (name.len() > 15, "must be no more than 15 characters"),
        (
            name.is_empty() || !name.bytes().all(|byte| is_letter(byte) || byte.is_ascii_digit() || byte == b'-'),
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
        ),
        (!name.bytes().any(is_letter), "must contain at least one letter (a-z)"),
        (name.contains("--"), "must not contain consecutive hyphens"),
        (name.starts_with('-') || name.ends_with('-'), "must not begin or end with a hyphen"),
    ];
    rules.into_iter().filter(|(is_broken, _)| *is_broken).map(|(_, why)| why.to_owned()).collect()
}

/// The name of an environment variable: anything printable but `=`.
pub fn variable_name(name: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if name.is_empty() {
        messages.push("environment variable name must be non-empty".to_owned());
    }
    if !name.chars().all(|char| (char.is_ascii_graphic() || char == ' ') && char != '=') {
        let why = "a valid environment variable name must consist only of printable ASCII characters other than '='";
        messages.push(why.to_owned());
    }
    messages
}

/// A path inside a volume: relative, and never upwards.
pub fn descends(path: &Field<'_>, errors: &mut Errors) {
    if path.text().starts_with('/') {
        errors.push(path.invalid("must be a relative path"));
    }
    has_no_backsteps(path, errors);
}

/// Likewise, and without a name that kubelet keeps for itself.
pub fn descends_unreserved(path: &Field<'_>, errors: &mut Errors) {
    descends(path, errors);
    if path.text().starts_with("..") && !path.text().starts_with("../") {
        errors.push(path.invalid("must not start with '..'"));
    }
}

pub fn has_no_backsteps(path: &Field<'_>, errors: &mut Errors) {
    if path.text().split('/').any(|step| step == "..") {
        errors.push(path.invalid("must not contain '..'"));
    }
}

/// Every error as a line, for tables of cases.
#[cfg(test)]
pub fn lines(errors: &[Error]) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;

    #[test]
    fn a_missing_field_has_a_path_too() {
        let object = json!({"spec": {"a": [{"b": "x"}]}});
        let root = Field::root(&object);
        assert_eq!(root.child("spec.none").path.to_string(), "spec.none");
        let paths: Vec<String> =
            root.child("spec.a").items().map(|item| item.child("b").invalid("no").to_string()).collect();
        assert_eq!(paths, ["spec.a[0].b: Invalid value: \"x\": no"]);
    }

    #[test]
    fn ports_have_short_plain_names() {
        assert!(port_name("http-2").is_empty());
        assert_eq!(port_name("80"), ["must contain at least one letter (a-z)"]);
        assert_eq!(port_name("a--b-").len(), 2);
        assert_eq!(port_name("UPPER").len(), 2);
        assert_eq!(port_name("sixteen-letters-x").len(), 1);
    }

    #[test]
    fn addresses_with_leading_zeros_are_understood() {
        for (text, is_one) in [("10.0.0.1", true), ("10.00.0.01", true), ("::1", true), ("10.0.0", false), ("x", false)]
        {
            assert_eq!(ip(text).is_some(), is_one, "{text}");
        }
        assert_eq!(cidr("10.0.0.0/24").map(|(_, bits)| bits), Some(24));
        assert!(cidr("10.0.0.0/33").is_none() && cidr("10.0.0.0").is_none());
    }

    #[test]
    fn a_share_is_a_number_or_a_percentage() {
        for (value, lines) in [(json!(3), 0), (json!("25%"), 0), (json!(-1), 1), (json!("x"), 1), (json!("200%"), 1)] {
            let mut errors = Errors::new();
            Field::root(&value).number_or_percent(&mut errors);
            Field::root(&value).at_most_all(&mut errors);
            assert_eq!(errors.len(), lines, "{value}");
        }
    }
}
