//! The few forms of JSONPath that printer columns use: `.a.b`, `['a.b']`, `[0]`, `[*]`, `[?(@.type=="Ready")]`.

use crate::json::Value;

/// A parsed path; one that cannot be read finds nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonPath(Option<Vec<Step>>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Field(String),
    Index(usize),
    All,
    /// Elements whose field at the path has the text.
    Where(Vec<String>, String),
}

impl JsonPath {
    pub fn parse(text: &str) -> Self {
        Self(steps(text))
    }

    /// The first value that is found.
    pub fn first<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        let mut found = vec![value];
        for step in self.0.as_ref()? {
            found = found.into_iter().flat_map(|value| follow(step, value)).collect();
        }
        found.into_iter().next()
    }
}

fn follow<'v>(step: &Step, value: &'v Value) -> Vec<&'v Value> {
    let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
    match step {
        Step::Field(name) => value.get(name).into_iter().collect(),
        Step::Index(index) => items.get(*index).into_iter().collect(),
        Step::All => items.iter().collect(),
        Step::Where(path, text) => {
            let has = |item: &&Value| {
                let found = path.iter().try_fold(*item, |value, name| value.get(name));
                found.is_some_and(|found| is_text(found, text))
            };
            items.iter().filter(has).collect()
        }
    }
}

fn is_text(value: &Value, text: &str) -> bool {
    match value {
        Value::String(found) => found == text,
        other => other.to_string().as_str() == text,
    }
}

fn steps(text: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    let mut rest = text.trim().trim_start_matches('$');
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[']).unwrap_or(after.len());
            if end > 0 {
                steps.push(Step::Field(after[..end].replace("\\", "")));
            }
            rest = &after[end..];
        } else if let Some(after) = rest.strip_prefix("[?(") {
            let (filter, after) = after.split_once(")]")?;
            let (path, text) = filter.split_once("==")?;
            let path = path.trim().strip_prefix("@.")?.split('.').map(str::to_owned).collect();
            steps.push(Step::Where(path, text.trim().trim_matches(['"', '\'']).to_owned()));
            rest = after;
        } else {
            let (inside, after) = rest.strip_prefix('[')?.split_once(']')?;
            steps.push(match inside {
                "*" => Step::All,
                quoted if quoted.starts_with('\'') || quoted.starts_with('"') => {
                    Step::Field(quoted.trim_matches(['"', '\'']).to_owned())
                }
                index => Step::Index(index.parse().ok()?),
            });
            rest = after;
        }
    }
    Some(steps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;

    #[test]
    fn a_path_finds_the_first_value() {
        let value = json!({"a": {"b.c": 1}, "l": [{"type": "X", "v": 1}, {"type": "Y", "v": 2}]});
        let find = |path: &str| JsonPath::parse(path).first(&value).cloned();
        assert_eq!(find(".a['b.c']"), Some(json!(1)));
        assert_eq!(find(".l[?(@.type==\"Y\")].v"), Some(json!(2)));
        assert_eq!(find(".l[*].v"), Some(json!(1)));
        assert_eq!(find(".l[1].v"), Some(json!(2)));
        assert_eq!(find(".none.x"), None);
        assert_eq!(find("l[?(broken"), None);
    }
}
