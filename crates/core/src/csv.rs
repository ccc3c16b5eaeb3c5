//! Lists in annotations: `a, b,c`.

/// The elements, blanks around them removed. Nothing but blanks is no element; between two commas is an empty one.
pub fn parse(text: &str) -> Vec<&str> {
    if text.trim().is_empty() { Vec::new() } else { text.split(',').map(str::trim).collect() }
}

/// The text that [`parse`] reads back, as long as no element has a comma or outer blanks.
pub fn print(elements: &[impl AsRef<str>]) -> String {
    let elements: Vec<&str> = elements.iter().map(AsRef::as_ref).collect();
    elements.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_trimmed_and_keep_their_gaps() {
        let cases = [
            ("", &[][..]),
            (" \t", &[]),
            ("a", &["a"]),
            (" a , b c,d ", &["a", "b c", "d"]),
            ("a,,b", &["a", "", "b"]),
            (",", &["", ""]),
        ];
        for (text, elements) in cases {
            assert_eq!(parse(text), elements, "{text:?}");
        }
    }

    #[test]
    fn what_is_printed_reads_back() {
        for elements in [&[][..], &["a"], &["a", "b"], &["a", "", "b"]] {
            assert_eq!(parse(&print(elements)), elements);
        }
    }
}
