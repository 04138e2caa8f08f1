//! The tokens of a line of a justfile, and the values of its expressions:
//! <https://github.com/casey/just/blob/master/GRAMMAR.md>

use std::collections::BTreeMap;

use crate::shell::quoted;

/// Maximum number of tokens of a line, depth of an expression, and length of a value.
const MAX_TOKENS: usize = 500;
const MAX_DEPTH: usize = 20;
const MAX_VALUE: usize = 10_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token<'t> {
    Name(&'t str),
    Text(String),
    /// One character, or `&&` and `:=` by their first one.
    Sign(char),
    /// What is not understood, such as a command in backticks.
    Other,
}

/// The tokens of a line, without a comment at its end.
pub(super) fn tokens(line: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next().filter(|_| found.len() < MAX_TOKENS) {
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let (token, length) = match first {
            '#' => break,
            '"' | '\'' => text(rest, first),
            '`' => (Token::Other, rest.len()),
            c if c.is_ascii_alphabetic() || c == '_' => {
                let length = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
                (Token::Name(&rest[..length]), length)
            }
            '&' | ':' if rest[1..].starts_with(['&', '=']) => (Token::Sign(if first == ':' { '=' } else { '&' }), 2),
            c => (Token::Sign(c), c.len_utf8()),
        };
        found.push(token);
        rest = rest.get(length..).unwrap_or_default().trim_start();
    }
    found
}

/// A string at the start of a text, and its length.
fn text(rest: &str, quote: char) -> (Token<'_>, usize) {
    let triple = [quote; 3].iter().collect::<String>();
    let mark = if rest.starts_with(&triple) {
        triple
    } else {
        quote.to_string()
    };
    let inside = &rest[mark.len()..];
    let mut end = None;
    let mut is_escaped = false;
    for (at, c) in inside.char_indices() {
        if !is_escaped && inside[at..].starts_with(&mark) {
            end = Some(at);
            break;
        }
        is_escaped = quote == '"' && c == '\\' && !is_escaped;
    }
    let Some(end) = end else {
        return (Token::Other, rest.len());
    };
    let value = match quote {
        '"' => unescaped(&inside[..end]),
        _ => Some(inside[..end].to_owned()),
    };
    (value.map_or(Token::Other, Token::Text), end + 2 * mark.len())
}

fn unescaped(text: &str) -> Option<String> {
    let mut whole = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        whole.push(match c {
            '\\' => match chars.next()? {
                'n' => '\n',
                't' => '\t',
                c @ ('"' | '\\') => c,
                _ => return None,
            },
            c => c,
        });
    }
    Some(whole)
}

/// What names stand for: variables and parameters. `None` for one whose value would have to be computed.
pub(super) type Values<'t> = BTreeMap<&'t str, Option<String>>;

/// Reads values from tokens.
pub(super) struct Evaluator<'e, 't> {
    pub(super) tokens: &'e [Token<'t>],
    pub(super) values: &'e Values<'e>,
    /// The variables of the environment.
    pub(super) env: &'e BTreeMap<String, String>,
}

impl<'t> Evaluator<'_, 't> {
    /// The value of all tokens.
    pub(super) fn all(mut self) -> Option<String> {
        let value = self.sum(MAX_DEPTH)?;
        self.tokens.is_empty().then_some(value)
    }

    pub(super) fn next(&mut self) -> Option<Token<'t>> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(first.clone())
    }

    pub(super) fn takes(&mut self, sign: char) -> bool {
        let is_next = self.tokens.first() == Some(&Token::Sign(sign));
        self.tokens = &self.tokens[usize::from(is_next)..];
        is_next
    }

    /// Values with `+` or `/` between them.
    fn sum(&mut self, depth: usize) -> Option<String> {
        let mut whole = self.value(depth)?;
        loop {
            if self.takes('/') {
                whole.push('/');
            } else if !self.takes('+') {
                return Some(whole);
            }
            whole.push_str(&self.value(depth)?);
            if whole.len() > MAX_VALUE {
                return None;
            }
        }
    }

    /// One value: a string, a variable, a call of a function or something in parentheses.
    pub(super) fn value(&mut self, depth: usize) -> Option<String> {
        let depth = depth.checked_sub(1)?;
        match self.next()? {
            Token::Text(text) => Some(text),
            Token::Sign('(') => {
                let value = self.sum(depth)?;
                self.takes(')').then_some(value)
            }
            Token::Name(function) if self.takes('(') => {
                let mut arguments = Vec::new();
                while !self.takes(')') {
                    arguments.push(self.sum(depth)?);
                    self.takes(',');
                }
                self.call(function, &arguments)
            }
            Token::Name(name) => self.values.get(name)?.clone(),
            _ => None,
        }
    }

    /// <https://just.systems/man/en/functions.html>
    fn call(&self, function: &str, arguments: &[String]) -> Option<String> {
        match (function, arguments) {
            ("env_var_or_default" | "env", [name, default]) => Some(self.env.get(name).unwrap_or(default).clone()),
            ("env_var" | "env", [name]) => self.env.get(name).cloned(),
            ("os", []) => Some("linux".into()),
            ("os_family", []) => Some("unix".into()),
            ("quote", [text]) => Some(quoted(text).into_owned()),
            ("trim", [text]) => Some(text.trim().into()),
            _ => None,
        }
    }
}
