//! What Go's regular expressions say of a pattern that is none.

use regex::Regex;

/// The complaint, or nothing where the pattern is fine or only this crate's engine cannot read it.
pub fn complaint(pattern: &str) -> Option<String> {
    let error = Regex::new(pattern).err()?.to_string();
    let rest_from = |mark: char| pattern.find(mark).map_or(pattern, |at| &pattern[at..]);
    let what = match error.as_str() {
        text if text.contains("unclosed group") => format!("missing closing ): `{pattern}`"),
        text if text.contains("unopened group") => format!("unexpected ): `{pattern}`"),
        text if text.contains("unclosed character class") => format!("missing closing ]: `{}`", rest_from('[')),
        text if text.contains("repetition operator missing expression") => {
            let operator = pattern.chars().find(|char| "*+?{".contains(*char)).unwrap_or('*');
            format!("missing argument to repetition operator: `{operator}`")
        }
        text if text.contains("look-around") => {
            let place = ["(?=", "(?!", "(?<=", "(?<!"].into_iter().find(|look| pattern.contains(look)).unwrap_or("(?");
            let shown = if place.starts_with("(?<") { "(?<" } else { place };
            format!("invalid or unsupported Perl syntax: `{shown}`")
        }
        text if text.contains("backreferences") || text.contains("unrecognized escape") => {
            let at = pattern.find('\\').unwrap_or_default();
            let shown: String = pattern[at..].chars().take(2).collect();
            format!("invalid escape sequence: `{shown}`")
        }
        text if text.contains("invalid character class range") => {
            format!("invalid character class range: `{}`", range(pattern))
        }
        _ => return None,
    };
    Some(format!("error parsing regexp: {what}"))
}

/// The first range of a class that goes backwards.
fn range(pattern: &str) -> String {
    let chars: Vec<char> = pattern.chars().collect();
    let backwards = chars.windows(3).find(|part| part[1] == '-' && part[0] > part[2]);
    backwards.map_or_else(|| pattern.to_owned(), |part| part.iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_that_is_none_is_told_in_gos_words() {
        for (pattern, wanted) in [
            ("(", "error parsing regexp: missing closing ): `(`"),
            ("a)", "error parsing regexp: unexpected ): `a)`"),
            ("x[a", "error parsing regexp: missing closing ]: `[a`"),
            ("*a", "error parsing regexp: missing argument to repetition operator: `*`"),
            ("(?!a)", "error parsing regexp: invalid or unsupported Perl syntax: `(?!`"),
            ("[z-a]", "error parsing regexp: invalid character class range: `z-a`"),
            ("\\1", "error parsing regexp: invalid escape sequence: `\\1`"),
        ] {
            assert_eq!(complaint(pattern).as_deref(), Some(wanted));
        }
        assert_eq!(complaint("^[a-z]+$"), None);
    }
}
