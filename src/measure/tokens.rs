//! A file as tokens of its language, without layout and comments.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use greenlight_syntax::{Below, Parsed};

/// Further tokens of a file are ignored.
const MAX_TOKENS: usize = 200_000;

/// One token: its hash, and its line, from 1.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token {
    pub(super) what: u64,
    pub(super) line: u32,
}

pub(super) fn of(file: &Parsed<'_>) -> Vec<Token> {
    let mut tokens = Vec::new();
    file.visit(file.tree.root_node(), |node| {
        if tokens.len() >= MAX_TOKENS || node.kind().contains("comment") {
            return Below::Skip;
        }
        if node.child_count() == 0 {
            let text = file.raw(node);
            if !text.trim().is_empty() {
                let mut hash = DefaultHasher::new();
                text.hash(&mut hash);
                tokens.push(Token {
                    what: hash.finish(),
                    line: u32::try_from(Parsed::line(node)).unwrap_or(u32::MAX),
                });
            }
        }
        Below::Enter
    });
    tokens
}

/// How many lines contain code.
pub(super) fn lines(tokens: &[Token]) -> u32 {
    let lines: BTreeSet<u32> = tokens.iter().map(|token| token.line).collect();
    u32::try_from(lines.len()).unwrap_or(u32::MAX)
}
