//! Where a JSON text is broken, in the words of Go's scanner: clients show them to people.

/// How deep Go lets values lie inside each other.
const DEPTH_MAX: usize = 10_000;
const END: &str = "unexpected end of JSON input";

/// What is wrong with a text; nothing when Go would take it.
pub fn problem(bytes: &[u8]) -> Option<String> {
    let mut scanner = Scanner { bytes, place: 0 };
    scanner.document().err()
}

struct Scanner<'b> {
    bytes: &'b [u8],
    place: usize,
}

type Step = Result<(), String>;

/// A value that has been begun and not ended.
enum Open {
    List,
    Object,
}

impl Scanner<'_> {
    fn peek(&self) -> Result<u8, String> {
        self.bytes.get(self.place).copied().ok_or_else(|| END.to_owned())
    }

    fn next(&mut self) -> Result<u8, String> {
        let byte = self.peek()?;
        self.place += 1;
        Ok(byte)
    }

    fn skip_space(&mut self) {
        while matches!(self.bytes.get(self.place), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.place += 1;
        }
    }

    /// `place` is where the scanner was when it met the byte.
    fn unexpected<T>(byte: u8, place: &str) -> Result<T, String> {
        Err(format!("invalid character {} {place}", quoted(byte)))
    }

    fn document(&mut self) -> Step {
        // Not by recursion: a text of brackets must not reach the end of the stack.
        let mut open: Vec<Open> = Vec::new();
        loop {
            self.skip_space();
            match self.begin()? {
                Some(begun) => {
                    open.push(begun);
                    if open.len() > DEPTH_MAX {
                        return Self::unexpected(self.bytes[self.place - 1], "exceeded max depth");
                    }
                    self.skip_space();
                    match (open.last(), self.peek()?) {
                        (Some(Open::List), b']') | (Some(Open::Object), b'}') => {}
                        (Some(Open::Object), _) => {
                            self.key()?;
                            continue;
                        }
                        _ => continue,
                    }
                }
                None => self.skip_space(),
            }
            if self.end(&mut open)? {
                return Ok(());
            }
        }
    }

    /// What follows a value: ends of what is around it, then the next value or the end of the text.
    fn end(&mut self, open: &mut Vec<Open>) -> Result<bool, String> {
        loop {
            self.skip_space();
            let Some(inner) = open.last() else {
                return match self.bytes.get(self.place) {
                    None => Ok(true),
                    Some(byte) => Self::unexpected(*byte, "after top-level value"),
                };
            };
            match (inner, self.next()?) {
                (Open::List, b']') | (Open::Object, b'}') => {
                    open.pop();
                }
                (Open::List, b',') => return Ok(false),
                (Open::Object, b',') => {
                    self.skip_space();
                    self.key()?;
                    return Ok(false);
                }
                (Open::List, byte) => return Self::unexpected(byte, "after array element"),
                (Open::Object, byte) => return Self::unexpected(byte, "after object key:value pair"),
            }
        }
    }

    /// A key and its colon.
    fn key(&mut self) -> Step {
        match self.next()? {
            b'"' => self.string()?,
            byte => return Self::unexpected(byte, "looking for beginning of object key string"),
        }
        self.skip_space();
        match self.next()? {
            b':' => Ok(()),
            byte => Self::unexpected(byte, "after object key"),
        }
    }

    /// The beginning of a value, and all of it when there is nothing in it.
    fn begin(&mut self) -> Result<Option<Open>, String> {
        match self.next()? {
            b'{' => return Ok(Some(Open::Object)),
            b'[' => return Ok(Some(Open::List)),
            b'"' => self.string()?,
            b't' => self.literal("true")?,
            b'f' => self.literal("false")?,
            b'n' => self.literal("null")?,
            byte @ (b'-' | b'0'..=b'9') => self.number(byte)?,
            byte => return Self::unexpected(byte, "looking for beginning of value"),
        }
        Ok(None)
    }

    fn literal(&mut self, word: &str) -> Step {
        for expected in word.bytes().skip(1) {
            let byte = self.next()?;
            if byte != expected {
                return Self::unexpected(byte, &format!("in literal {word} (expecting {})", quoted(expected)));
            }
        }
        Ok(())
    }

    fn string(&mut self) -> Step {
        loop {
            match self.next()? {
                b'"' => return Ok(()),
                b'\\' => match self.next()? {
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                    b'u' => {
                        for _ in 0..4 {
                            let byte = self.next()?;
                            if !byte.is_ascii_hexdigit() {
                                return Self::unexpected(byte, "in \\u hexadecimal character escape");
                            }
                        }
                    }
                    byte => return Self::unexpected(byte, "in string escape code"),
                },
                byte @ 0..0x20 => return Self::unexpected(byte, "in string literal"),
                _ => {}
            }
        }
    }

    fn digits(&mut self) {
        while self.bytes.get(self.place).is_some_and(u8::is_ascii_digit) {
            self.place += 1;
        }
    }

    fn number(&mut self, first: u8) -> Step {
        let mut lead = first;
        if first == b'-' {
            lead = self.next()?;
            if !lead.is_ascii_digit() {
                return Self::unexpected(lead, "in numeric literal");
            }
        }
        if lead != b'0' {
            self.digits();
        }
        if self.bytes.get(self.place) == Some(&b'.') {
            self.place += 1;
            let byte = self.next()?;
            if !byte.is_ascii_digit() {
                return Self::unexpected(byte, "after decimal point in numeric literal");
            }
            self.digits();
        }
        if matches!(self.bytes.get(self.place), Some(b'e' | b'E')) {
            self.place += 1;
            if matches!(self.peek()?, b'+' | b'-') {
                self.place += 1;
            }
            let byte = self.next()?;
            if !byte.is_ascii_digit() {
                return Self::unexpected(byte, "in exponent of numeric literal");
            }
            self.digits();
        }
        Ok(())
    }
}

/// A byte as Go quotes a character.
fn quoted(byte: u8) -> String {
    match byte {
        b'\'' => r"'\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        b'\n' => r"'\n'".to_owned(),
        b'\r' => r"'\r'".to_owned(),
        b'\t' => r"'\t'".to_owned(),
        0..0x20 | 0x7f => format!(r"'\x{byte:02x}'"),
        0x80..0xa0 | 0xad => format!(r"'\u00{byte:02x}'"),
        _ => format!("'{}'", char::from(byte)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_told_in_gos_words() {
        let cases = [
            ("", END),
            ("{\"a\":", END),
            ("x", "invalid character 'x' looking for beginning of value"),
            ("{a:1}", "invalid character 'a' looking for beginning of object key string"),
            ("{\"a\" 1}", "invalid character '1' after object key"),
            ("{\"a\":1 \"b\"}", "invalid character '\"' after object key:value pair"),
            ("{\"a\":1,}", "invalid character '}' looking for beginning of object key string"),
            ("[1 2]", "invalid character '2' after array element"),
            ("[1,]", "invalid character ']' looking for beginning of value"),
            ("{} {}", "invalid character '{' after top-level value"),
            ("trux", "invalid character 'x' in literal true (expecting 'e')"),
            ("\"a\nb\"", "invalid character '\\n' in string literal"),
            ("\"\\q\"", "invalid character 'q' in string escape code"),
            ("\"\\u12g4\"", "invalid character 'g' in \\u hexadecimal character escape"),
            ("-x", "invalid character 'x' in numeric literal"),
            ("1.x", "invalid character 'x' after decimal point in numeric literal"),
            ("1ex", "invalid character 'x' in exponent of numeric literal"),
            ("01", "invalid character '1' after top-level value"),
            ("\u{1f}", "invalid character '\\x1f' looking for beginning of value"),
        ];
        for (text, expected) in cases {
            assert_eq!(problem(text.as_bytes()).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(problem(&b"[".repeat(100_000)).as_deref(), Some("invalid character '[' exceeded max depth"));
    }

    #[test]
    fn what_go_takes_has_no_problem() {
        for text in ["{}", " [] ", "{\"a\": [1, -0.5e+3, true, null, \"\\u00e4\"], \"b\": {}}", "0", "[[],[[]]]"] {
            assert_eq!(problem(text.as_bytes()), None, "{text}");
        }
    }
}
