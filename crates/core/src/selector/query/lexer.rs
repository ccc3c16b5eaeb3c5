//! Splits the text of a label selector into words and symbols.

/// `in` and `notin` are words: whether they are operators depends on where they stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'t> {
    Word(&'t str),
    Symbol(&'t str),
    End,
}

impl<'t> Token<'t> {
    pub(super) fn text(self) -> &'t str {
        match self {
            Self::Word(text) | Self::Symbol(text) => text,
            Self::End => "",
        }
    }
}

/// The tokens without the blanks between them.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start_matches(is_blank);
    while !rest.is_empty() {
        let symbol = symbol_length(rest);
        let length = if symbol > 0 { symbol } else { rest.find(ends_word).unwrap_or(rest.len()) };
        let (token, after) = rest.split_at(length);
        tokens.push(if symbol > 0 { Token::Symbol(token) } else { Token::Word(token) });
        rest = after.trim_start_matches(is_blank);
    }
    tokens
}

fn symbol_length(text: &str) -> usize {
    if text.starts_with("==") || text.starts_with("!=") { 2 } else { usize::from(text.starts_with(is_symbol)) }
}

fn is_symbol(char: char) -> bool {
    "=!(),><".contains(char)
}

fn is_blank(char: char) -> bool {
    " \t\r\n".contains(char)
}

fn ends_word(char: char) -> bool {
    is_symbol(char) || is_blank(char)
}
