//! Rust source as a flat list of tokens with their lines, so that a rule never trips over a comment or a text.
//!
//! Tokens rather than a syntax tree, because paths inside macro calls count too. Doc comments arrive as `#[doc = "..."]`.

use std::ops::Range;
use std::str::FromStr;

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};

/// What kind of token it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A word, keywords included.
    Word,
    /// A sign; `::` is two.
    Sign,
    /// A number or a text, as it was written.
    Literal,
    /// One of `(`, `[`, `{`.
    Open,
    /// One of `)`, `]`, `}`.
    Close,
}

/// One token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// What kind.
    pub kind: Kind,
    /// How it is written.
    pub text: String,
    /// Its line, from 1.
    pub line: usize,
}

impl Token {
    /// Whether it is this word, sign or bracket; never a literal.
    pub fn is(&self, text: &str) -> bool {
        self.kind != Kind::Literal && self.text == text
    }

    /// Whether it is a number.
    pub fn is_number(&self) -> bool {
        self.kind == Kind::Literal && self.text.starts_with(|c: char| c.is_ascii_digit())
    }
}

/// Reads a source text.
pub fn read(path: &str, text: &str) -> Vec<Token> {
    let stream = TokenStream::from_str(text).unwrap_or_else(|error| panic!("{path} is not Rust: {error}"));
    let mut tokens = Vec::new();
    flatten(stream, &mut tokens);
    tokens
}

fn flatten(stream: TokenStream, into: &mut Vec<Token>) {
    let token = |kind, text: &str, span: Span| Token { kind, text: text.to_owned(), line: span.start().line };
    for tree in stream {
        match tree {
            TokenTree::Ident(word) => {
                let text = word.to_string();
                into.push(token(Kind::Word, text.strip_prefix("r#").unwrap_or(&text), word.span()));
            }
            TokenTree::Punct(sign) => into.push(token(Kind::Sign, &sign.as_char().to_string(), sign.span())),
            TokenTree::Literal(literal) => into.push(token(Kind::Literal, &literal.to_string(), literal.span())),
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::None => ("", ""),
                };
                into.push(token(Kind::Open, open, group.span_open()));
                flatten(group.stream(), into);
                into.push(token(Kind::Close, close, group.span_close()));
            }
        }
    }
}

/// Whether these words and signs stand at `at`, one token each.
pub fn stand_at(tokens: &[Token], at: usize, expected: &[&str]) -> bool {
    expected.iter().enumerate().all(|(step, text)| tokens.get(at + step).is_some_and(|token| token.is(text)))
}

/// The index of the bracket that closes the one at `open`.
pub fn closing(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.kind {
            Kind::Open => depth += 1,
            Kind::Close if depth == 1 => return at,
            Kind::Close => depth -= 1,
            _ => {}
        }
    }
    tokens.len()
}

/// The first of `signs` from `from` on that stands outside of all brackets that open after `from`.
pub fn find_outside(tokens: &[Token], from: usize, signs: &[&str]) -> Option<usize> {
    let mut at = from;
    while let Some(token) = tokens.get(at) {
        if signs.iter().any(|sign| token.is(sign)) {
            return Some(at);
        }
        match token.kind {
            Kind::Open => at = closing(tokens, at) + 1,
            Kind::Close => return None,
            _ => at += 1,
        }
    }
    None
}

/// The items that are compiled for tests only: `#[cfg(test)]` and `#[test]`.
pub fn test_ranges(tokens: &[Token]) -> Vec<Range<usize>> {
    let marks = |at| stand_at(tokens, at, &["[", "cfg", "(", "test", ")", "]"]) || stand_at(tokens, at, &["[", "test", "]"]);
    let range = |at| {
        let mut item = closing(tokens, at) + 1;
        while stand_at(tokens, item, &["#", "["]) {
            item = closing(tokens, item + 1) + 1;
        }
        let body = find_outside(tokens, item, &["{", ";"])?;
        Some(item..if tokens[body].is("{") { closing(tokens, body) } else { body })
    };
    (0..tokens.len()).filter(|&at| marks(at)).filter_map(range).collect()
}

#[test]
fn comments_and_texts_are_no_words() {
    let tokens = read("a.rs", "// dbg\n/* dbg */ /// dbg\nfn a() { \"dbg\"; r#\"dbg\"#; 'd'; b'd'; x::<'d>(); }\n");
    assert!(!tokens.iter().any(|token| token.is("dbg")), "{tokens:?}");
    assert_eq!(tokens.iter().find(|token| token.is("fn")).map(|token| token.line), Some(3));
}

#[test]
fn test_code_is_told_from_other_code() {
    let text = "fn a() {}\n#[cfg(test)]\n#[allow(dead_code)]\nmod tests { fn b() {} }\n#[cfg(test)] mod more;\n#[test] fn c() { d() }\nfn e() {}";
    let tokens = read("a.rs", text);
    let in_tests = |word: &str| {
        let at = tokens.iter().position(|token| token.is(word)).expect("the word is there");
        test_ranges(&tokens).iter().any(|range| range.contains(&at))
    };
    assert_eq!(["a", "b", "more", "d", "e"].map(in_tests), [false, true, true, true, false]);
}
