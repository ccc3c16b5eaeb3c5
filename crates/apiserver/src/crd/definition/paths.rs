//! Paths into a schema, as `fieldPath` of a rule and `selectableFields` write them: `.spec.a['b.c']`.

use crate::json::Value;

/// A path that leads somewhere.
#[derive(Debug)]
pub struct FieldPath {
    /// The first field.
    pub root: String,
    /// As errors name the field: `spec.a[key]`.
    pub path: String,
    pub schema: Value,
}

impl FieldPath {
    /// Follows a path through a schema. `allows_brackets` for `['name']`.
    pub fn parse(given: &str, schema: &Value, allows_brackets: bool) -> Result<Self, String> {
        let mut found = Self { root: String::new(), path: String::new(), schema: schema.clone() };
        let mut tokens = tokens(given).into_iter();
        while let Some(token) = tokens.next() {
            match token.as_str() {
                "[" if !allows_brackets => return Err("array notation is not allowed".into()),
                "[" => {
                    let name = tokens.next().ok_or(END)?;
                    let quoted = name.strip_prefix('\'').and_then(|name| name.strip_suffix('\''));
                    let quoted = quoted.filter(|_| name.len() >= 2);
                    let name =
                        unescaped(quoted.ok_or_else(|| format!("expected single quoted string but got {name}"))?)?;
                    found.step(&name)?;
                    let end = tokens.next().ok_or(END)?;
                    if end != "]" {
                        return Err(format!("expected ] but got {end}"));
                    }
                }
                "." => found.step(&tokens.next().ok_or(END)?)?,
                other => return Err(format!("expected [ or . but got: {other}")),
            }
        }
        Ok(found)
    }

    fn step(&mut self, name: &str) -> Result<(), String> {
        let nowhere = || "does not refer to a valid field".to_owned();
        let below = if let Some(properties) = self.schema["properties"].as_object() {
            self.path = if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) };
            properties.get(name).ok_or_else(nowhere)?.clone()
        } else if !self.schema["additionalProperties"].is_null() {
            self.path = format!("{}[{name}]", self.path);
            self.schema["additionalProperties"].clone()
        } else {
            return Err(nowhere());
        };
        if self.root.is_empty() {
            name.clone_into(&mut self.root);
        }
        self.schema = below;
        Ok(())
    }
}

const END: &str = "unexpected end of JSON path";

/// Dots and brackets by themselves, quoted text as one, and what stands between them.
fn tokens(path: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut token = String::new();
    for char in path.chars() {
        if token.starts_with('\'') {
            let is_end = char == '\'' && !token.ends_with('\\');
            token.push(char);
            if is_end {
                tokens.push(std::mem::take(&mut token));
            }
            continue;
        }
        match char {
            '.' | '[' | ']' => {
                if !token.is_empty() {
                    tokens.push(std::mem::take(&mut token));
                }
                tokens.push(char.to_string());
            }
            _ => token.push(char),
        }
    }
    if !token.is_empty() {
        tokens.push(token);
    }
    tokens
}

fn unescaped(text: &str) -> Result<String, String> {
    let mut plain = String::new();
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        if char != '\\' {
            plain.push(char);
            continue;
        }
        let escaped = chars.next().unwrap_or('\\');
        plain.push(match escaped {
            'a' => '\u{7}',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            '\'' | '\\' => escaped,
            other => return Err(format!("invalid string literal: invalid escape char \\{other}")),
        });
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;

    #[test]
    fn a_path_leads_somewhere_or_is_told_why_not() {
        let schema = json!({"properties": {"spec": {"type": "object", "properties": {"a.b": {"type": "string"},
            "m": {"type": "object", "additionalProperties": {"type": "integer"}}}}}});
        let follow = |path: &str| FieldPath::parse(path, &schema, true).map(|found| found.path);
        assert_eq!(follow(".spec['a.b']"), Ok("spec.a.b".to_owned()));
        assert_eq!(follow(".spec.m.x"), Ok("spec.m[x]".to_owned()));
        for (path, why) in [
            (".spec.none", "does not refer to a valid field"),
            ("spec", "expected [ or . but got: spec"),
            (".spec[", "unexpected end of JSON path"),
            (".spec[x]", "expected single quoted string but got x"),
            (".spec['m'", "unexpected end of JSON path"),
            (".spec['m\\q']", "invalid string literal: invalid escape char \\q"),
        ] {
            assert_eq!(follow(path), Err(why.to_owned()), "{path}");
        }
    }
}
