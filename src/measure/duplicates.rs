//! Counts duplicated lines: sequences of tokens that occur again, in the same file or in another one.
//!
//! Tokens are compared exactly, so a copy with different names does not count. Every match is certainly a copy.

use std::collections::{BTreeSet, HashMap};

use super::tokens::Token;

/// A copy has at least this many tokens, and touches at least this many lines.
const MIN_TOKENS: usize = 50;
const MIN_LINES: usize = 6;
/// A copy has at least this many different tokens, because a table of the same few tokens repeats itself without
/// being one.
const MIN_DIFFERENT: usize = 8;

/// The number of lines in copies, counting every occurrence.
pub(super) fn lines(files: &[Vec<Token>]) -> u32 {
    let words: Vec<Vec<u64>> = files
        .iter()
        .map(|tokens| tokens.iter().map(|token| token.what).collect())
        .collect();
    let mut seen: HashMap<&[u64], Vec<(usize, usize)>> = HashMap::new();
    for (file, words) in words.iter().enumerate() {
        for (at, window) in words.windows(MIN_TOKENS).enumerate() {
            if window.iter().collect::<BTreeSet<_>>().len() < MIN_DIFFERENT {
                continue;
            }
            let places = seen.entry(window).or_default();
            // A pattern that repeats itself is not a copy.
            let overlaps = places
                .last()
                .is_some_and(|(other, from)| *other == file && at < from + MIN_TOKENS);
            if !overlaps {
                places.push((file, at));
            }
        }
    }
    let mut copied: Vec<Vec<bool>> = words.iter().map(|words| vec![false; words.len()]).collect();
    for places in seen.values().filter(|places| places.len() > 1) {
        for (file, at) in places {
            copied[*file][*at..*at + MIN_TOKENS].fill(true);
        }
    }
    let counted = files
        .iter()
        .zip(&copied)
        .map(|(tokens, copied)| in_runs(tokens, copied));
    u32::try_from(counted.sum::<usize>()).unwrap_or(u32::MAX)
}

/// The number of lines in the runs that are long enough.
fn in_runs(tokens: &[Token], copied: &[bool]) -> usize {
    let mut lines = BTreeSet::new();
    let mut from = 0;
    while from < tokens.len() {
        if !copied[from] {
            from += 1;
            continue;
        }
        let length = copied[from..].iter().take_while(|copied| **copied).count();
        let run: BTreeSet<u32> = tokens[from..from + length].iter().map(|token| token.line).collect();
        if run.len() >= MIN_LINES {
            lines.extend(run);
        }
        from += length;
    }
    lines.len()
}
