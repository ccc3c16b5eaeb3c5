//! Selectors of devices: expressions about one `device`, which is compiled here and asked by whoever allocates.

use std::sync::{Arc, LazyLock};

use super::types::Type;
use super::{check, parse, rule};

/// What such an expression can name, beside functions.
static VARIABLES: LazyLock<[(&str, Type); 2]> = LazyLock::new(|| {
    let by_domain = |value: Type| {
        let by_name = Type::Map(Box::new(Type::STRING), Box::new(value));
        Type::Map(Box::new(Type::STRING), Box::new(by_name))
    };
    let fields = [
        ("driver", Type::STRING),
        ("allowMultipleAllocations", Type::BOOL),
        ("attributes", by_domain(Type::Dyn)),
        ("capacity", by_domain(Type::Named("kubernetes.Quantity"))),
    ];
    let fields = fields.into_iter().map(|(name, kind)| (name.to_owned(), kind)).collect();
    [("device", Type::Object(Arc::new(fields))), (check::BIND, Type::Dyn)]
});

/// What is wrong with a selector.
pub fn mistake(text: &str) -> Option<String> {
    let failed = |why: String| Some(format!("compilation failed: {why}"));
    if let Err(why) = rule::parse(text) {
        return failed(why);
    }
    let tree = parse::parse(text)?;
    match check::check(&tree, text, &*VARIABLES) {
        Err(why) => failed(why),
        Ok(Type::Dyn | Type::BOOL) => None,
        Ok(other) => Some(format!("must evaluate to bool or the unknown type, not {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_says_yes_or_no() {
        let right = [
            "true",
            "device.driver == 'gpu.example.com'",
            "device.attributes['gpu.example.com'].model == 'a100'",
            "device.attributes['gpu.example.com'].isFast",
            "device.capacity['gpu.example.com'].memory.isGreaterThan(quantity('10Gi'))",
            "device.attributes['x'].version.isGreaterThan(semver('1.2.3'))",
            "'model' in device.attributes['x'] && device.allowMultipleAllocations",
            "cel.bind(x, device.attributes['x'], x.a && x.b)",
        ];
        for text in right {
            assert_eq!(mistake(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_as_a_compiler_does() {
        let cases = [
            ("1", "must evaluate to bool or the unknown type, not int"),
            ("device.driver", "must evaluate to bool or the unknown type, not string"),
            (
                "device.capacity",
                "must evaluate to bool or the unknown type, not map(string, map(string, kubernetes.Quantity))",
            ),
            (
                "device.nope",
                "compilation failed: ERROR: <input>:1:7: undefined field 'nope'\n | device.nope\n | ......^",
            ),
            (
                "self.a",
                "compilation failed: ERROR: <input>:1:1: undeclared reference to 'self' (in container '')\n | self.a\n | ^",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(mistake(text).as_deref(), Some(expected), "{text}");
        }
        assert!(
            mistake("device.nope(")
                .is_some_and(|why| why.starts_with("compilation failed: ERROR: <input>:1:13: Syntax error"))
        );
    }
}
