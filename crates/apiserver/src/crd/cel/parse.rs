//! Reads an expression once more, for the checker: with the places of its parts, and macros as they are written.
//!
//! Syntax is judged by the interpreter's parser; what this one cannot read is not checked.

#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Where the operator, the opening bracket or the word stands, in characters.
    pub place: usize,
    pub kind: Kind,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    Ident(String),
    Null,
    Bool,
    Int,
    UInt,
    Double,
    Text,
    Bytes,
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
    Select {
        operand: Box<Node>,
        field: String,
        is_optional: bool,
    },
    Index {
        operand: Box<Node>,
        index: Box<Node>,
        is_optional: bool,
    },
    Call {
        target: Option<Box<Node>>,
        name: String,
        args: Vec<Node>,
    },
    /// Operators by their names, such as `_+_`.
    Operator(&'static str, Vec<Node>),
    Conditional(Box<[Node; 3]>),
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Word(String),
    Int,
    UInt,
    Double,
    Text,
    Bytes,
    Sign(&'static str),
}

const SIGNS: [&str; 26] = [
    "&&", "||", "==", "!=", "<=", ">=", ".?", "[?", "(", ")", "[", "]", "{", "}", ".", ",", ":", "?", "+", "-", "*",
    "/", "%", "!", "<", ">",
];

/// The expression, or nothing when this reader does not know its form.
pub fn parse(text: &str) -> Option<Node> {
    let mut reader = Reader { tokens: tokens(text)?, at: 0 };
    let node = reader.conditional()?;
    (reader.at == reader.tokens.len()).then_some(node)
}

fn tokens(text: &str) -> Option<Vec<(usize, Token)>> {
    let chars: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let start = at;
        let char = chars[at];
        if char.is_whitespace() {
            at += 1;
            continue;
        }
        if char == '/' && chars.get(at + 1) == Some(&'/') {
            at += chars[at..].iter().take_while(|char| **char != '\n').count();
            continue;
        }
        let token = if let Some((token, end)) = quoted(&chars, at) {
            at = end;
            token
        } else if char.is_ascii_digit() || char == '.' && chars.get(at + 1).is_some_and(char::is_ascii_digit) {
            let (token, end) = number(&chars, at);
            at = end;
            token
        } else if char.is_alphabetic() || char == '_' {
            at += chars[at..].iter().take_while(|char| char.is_alphanumeric() || **char == '_').count();
            Token::Word(chars[start..at].iter().collect())
        } else {
            let rest: String = chars[at..].iter().take(2).collect();
            let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign))?;
            at += sign.len();
            Token::Sign(sign)
        };
        tokens.push((start, token));
    }
    Some(tokens)
}

/// A text or bytes that start here, and where they end.
fn quoted(chars: &[char], start: usize) -> Option<(Token, usize)> {
    let prefix = chars[start..].iter().take_while(|char| "rRbB".contains(**char)).count();
    let at = start + prefix;
    let quote = *chars.get(at).filter(|char| ['"', '\''].contains(char))?;
    let is_raw = chars[start..at].iter().any(|char| "rR".contains(*char));
    let is_bytes = chars[start..at].iter().any(|char| "bB".contains(*char));
    let width = if chars[at..].starts_with(&[quote, quote, quote]) { 3 } else { 1 };
    let mut end = at + width;
    while !chars[end.min(chars.len())..].starts_with(&[quote; 3][..width]) {
        let char = *chars.get(end)?;
        end += if char == '\\' && !is_raw { 2 } else { 1 };
    }
    Some((if is_bytes { Token::Bytes } else { Token::Text }, end + width))
}

fn number(chars: &[char], start: usize) -> (Token, usize) {
    let is_hex = chars[start] == '0' && chars.get(start + 1).is_some_and(|char| "xX".contains(*char));
    let mut at = start;
    let mut is_double = false;
    while let Some(char) = chars.get(at) {
        let is_exponent = !is_hex && "eE".contains(*char);
        let is_sign = "+-".contains(*char) && at > start && !is_hex && "eE".contains(chars[at - 1]);
        let is_dot = *char == '.' && !is_double && chars.get(at + 1).is_some_and(char::is_ascii_digit);
        if !(char.is_ascii_hexdigit() && (is_hex || char.is_ascii_digit())
            || is_exponent
            || is_sign
            || is_dot
            || is_hex && "xX".contains(*char))
        {
            break;
        }
        is_double |= is_exponent || is_dot;
        at += 1;
    }
    match chars.get(at) {
        Some('u' | 'U') => (Token::UInt, at + 1),
        _ if is_double => (Token::Double, at),
        _ => (Token::Int, at),
    }
}

struct Reader {
    tokens: Vec<(usize, Token)>,
    at: usize,
}

impl Reader {
    fn next_is(&self, sign: &str) -> bool {
        matches!(self.tokens.get(self.at), Some((_, Token::Sign(found))) if *found == sign)
    }

    fn take(&mut self, sign: &str) -> Option<usize> {
        let place = self.tokens.get(self.at)?.0;
        self.next_is(sign).then(|| {
            self.at += 1;
            place
        })
    }

    fn conditional(&mut self) -> Option<Node> {
        let condition = self.binary(0)?;
        let Some(place) = self.take("?") else { return Some(condition) };
        let yes = self.binary(0)?;
        self.take(":")?;
        let no = self.conditional()?;
        Some(Node { place, kind: Kind::Conditional(Box::new([condition, yes, no])) })
    }

    fn binary(&mut self, level: usize) -> Option<Node> {
        const LEVELS: [&[(&str, &str)]; 5] = [
            &[("||", "_||_")],
            &[("&&", "_&&_")],
            &[
                ("==", "_==_"),
                ("!=", "_!=_"),
                ("<=", "_<=_"),
                (">=", "_>=_"),
                ("<", "_<_"),
                (">", "_>_"),
                ("in", "@in"),
            ],
            &[("+", "_+_"), ("-", "_-_")],
            &[("*", "_*_"), ("/", "_/_"), ("%", "_%_")],
        ];
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        loop {
            let found = operators.iter().find(|(sign, _)| match self.tokens.get(self.at) {
                Some((_, Token::Sign(found))) => found == sign,
                Some((_, Token::Word(word))) => word == sign,
                _ => false,
            });
            let Some((_, name)) = found else { return Some(left) };
            let place = self.tokens[self.at].0;
            self.at += 1;
            let right = self.binary(level + 1)?;
            left = Node { place, kind: Kind::Operator(name, vec![left, right]) };
        }
    }

    fn unary(&mut self) -> Option<Node> {
        for (sign, name) in [("!", "!_"), ("-", "-_")] {
            if let Some(place) = self.take(sign) {
                let operand = self.unary()?;
                // A number with a sign is a number.
                return Some(match (&operand.kind, sign) {
                    (Kind::Int | Kind::Double, "-") => operand,
                    _ => Node { place, kind: Kind::Operator(name, vec![operand]) },
                });
            }
        }
        self.member()
    }

    fn member(&mut self) -> Option<Node> {
        let mut node = self.primary()?;
        loop {
            let is_optional = self.next_is(".?");
            if let Some(place) = self.take(".").or_else(|| self.take(".?")) {
                let (_, Token::Word(name)) = self.tokens.get(self.at)?.clone() else { return None };
                self.at += 1;
                if let Some(place) = self.take("(").filter(|_| !is_optional) {
                    let args = self.list(")")?;
                    node = Node { place, kind: Kind::Call { target: Some(Box::new(node)), name, args } };
                } else {
                    node = Node { place, kind: Kind::Select { operand: Box::new(node), field: name, is_optional } };
                }
                continue;
            }
            let is_optional = self.next_is("[?");
            let Some(place) = self.take("[").or_else(|| self.take("[?")) else { return Some(node) };
            let index = self.conditional()?;
            self.take("]")?;
            let kind = Kind::Index { operand: Box::new(node), index: Box::new(index), is_optional };
            node = Node { place, kind };
        }
    }

    fn list(&mut self, end: &str) -> Option<Vec<Node>> {
        let mut items = Vec::new();
        while self.take(end).is_none() {
            if !items.is_empty() {
                self.take(",")?;
                if self.take(end).is_some() {
                    break;
                }
            }
            self.take("?");
            items.push(self.conditional()?);
        }
        Some(items)
    }

    fn primary(&mut self) -> Option<Node> {
        let (place, token) = self.tokens.get(self.at)?.clone();
        self.at += 1;
        let kind = match token {
            Token::Int => Kind::Int,
            Token::UInt => Kind::UInt,
            Token::Double => Kind::Double,
            Token::Text => Kind::Text,
            Token::Bytes => Kind::Bytes,
            Token::Word(word) => match word.as_str() {
                "true" | "false" => Kind::Bool,
                "null" => Kind::Null,
                _ => match self.take("(") {
                    Some(place) => {
                        let args = self.list(")")?;
                        return Some(Node { place, kind: Kind::Call { target: None, name: word, args } });
                    }
                    None => Kind::Ident(word),
                },
            },
            Token::Sign("(") => {
                let inner = self.conditional()?;
                self.take(")")?;
                return Some(inner);
            }
            Token::Sign("[") => Kind::List(self.list("]")?),
            Token::Sign("{") => Kind::Map(self.entries()?),
            Token::Sign(_) => return None,
        };
        Some(Node { place, kind })
    }

    fn entries(&mut self) -> Option<Vec<(Node, Node)>> {
        let mut entries = Vec::new();
        while self.take("}").is_none() {
            if !entries.is_empty() {
                self.take(",")?;
                if self.take("}").is_some() {
                    break;
                }
            }
            self.take("?");
            let key = self.conditional()?;
            self.take(":")?;
            entries.push((key, self.conditional()?));
        }
        Some(entries)
    }
}
