//! Two edits of one function at once: the first made progress, the second is tried on top of it.

use std::ops::Range;
use std::sync::Arc;

use super::candidates::Candidate;
use super::syntax::Source;
use super::template::Template;
use super::templates::{self, Edit, KnownNames, Stage};

/// Maximum number of second edits for one first edit, and of insertions and moves among them, which would seldom be
/// among the likeliest.
const MAX_SECOND: usize = 200;
const MAX_INSERTIONS: usize = 50;
/// The score of a pair, as a share of its edits' scores: people seldom make two mistakes at once.
const BOTH: f32 = 0.6;
/// Maximum number of bytes of a pair's replacement.
const MAX_REPLACED: usize = 4_000;

/// An edit, and a second one of the file that it leads to. Their text is only made when the pair is tried.
struct Pair {
    first: Arc<Candidate>,
    original: Arc<str>,
    source: Arc<Source>,
    second: Edit,
    score: f32,
}

/// Pairs that begin with one of these edits, each with the original text of its file, the most promising first.
pub(super) fn of(first: Vec<(Candidate, String)>) -> impl ExactSizeIterator<Item = Option<Candidate>> + Send {
    let pairs = first
        .into_iter()
        .flat_map(|(first, original)| beginning_with(first, &original));
    let mut pairs: Vec<Pair> = pairs.collect();
    pairs.sort_by(|a, b| b.score.total_cmp(&a.score));
    pairs.into_iter().map(|pair| both(&pair))
}

fn beginning_with(first: Candidate, original: &str) -> Vec<Pair> {
    let Some(source) = Source::parse(first.path.as_str(), first.text.clone()) else {
        return Vec::new();
    };
    let known = KnownNames::of(&source, [].into());
    let edited = first.range.start..first.range.start + first.replacement.len();
    let Some(function) = function_around(&source, edited.start, edited.end) else {
        return Vec::new();
    };
    let is_inside = |bytes: &Range<usize>| bytes.start >= function.start && bytes.end <= function.end;
    let is_wanted = |edit: &Edit| edit.range.end <= edited.start || edited.end <= edit.range.start;
    let likeliest = |stages: &[Stage], most: usize, is_kind: &dyn Fn(Template) -> bool| {
        let all = stages.iter();
        let all = all.flat_map(|stage| templates::edits((&source, &known), *stage, &function, &is_inside));
        let mut all: Vec<Edit> = all.filter(|edit| is_wanted(edit) && is_kind(edit.template)).collect();
        all.sort_by(|a, b| b.weight().total_cmp(&a.weight()));
        all.truncate(most);
        all
    };
    let mut second = likeliest(
        &[Stage::Strong, Stage::Wider, Stage::Composed],
        MAX_SECOND - MAX_INSERTIONS,
        &|_| true,
    );
    let is_insertion = |template| !matches!(template, Template::Donor | Template::Surplus);
    second.extend(likeliest(&[Stage::Tail], MAX_INSERTIONS, &is_insertion));
    let (first, original, source) = (Arc::new(first), Arc::from(original), Arc::new(source));
    let pair = |second: Edit| Pair {
        score: BOTH * first.score * second.weight(),
        first: Arc::clone(&first),
        original: Arc::clone(&original),
        source: Arc::clone(&source),
        second,
    };
    second.into_iter().map(pair).collect()
}

/// The innermost function around these bytes.
fn function_around(source: &Source, start: usize, end: usize) -> Option<Range<usize>> {
    let mut node = source.root().descendant_for_byte_range(start, end);
    while let Some(around) = node {
        if source.language.functions.contains(&around.kind()) {
            return Some(around.byte_range());
        }
        node = around.parent();
    }
    None
}

/// Both edits as one edit of the original text. `None` if it does not parse, or is too long.
fn both(pair: &Pair) -> Option<Candidate> {
    let (first, second) = (&pair.first, &pair.second);
    let text = pair.source.replaced(&second.range, &second.replacement)?;
    let edited_end = first.range.start + first.replacement.len();
    let start = first.range.start.min(second.range.start);
    // Counted from the end, what lies behind both edits is in the same place in all texts.
    let behind = first.text.len() - edited_end.max(second.range.end);
    let range = start..pair.original.len().checked_sub(behind)?;
    let replacement = text.get(start..text.len().checked_sub(behind)?)?.to_string();
    // Whole lines, to be quoted.
    let line = pair.original.get(..range.start)?.rfind('\n').map_or(0, |at| at + 1);
    let rest = pair.original.get(range.end..)?.split('\n').next()?;
    let before = pair.original.get(line..range.end + rest.len())?.trim().to_string();
    let indented = pair.original.get(line..range.start)?;
    if replacement.len() > MAX_REPLACED {
        return None;
    }
    Some(Candidate {
        after: format!("{indented}{replacement}{rest}").trim().to_string(),
        before,
        range,
        replacement,
        template: Template::Repeated,
        weight: BOTH * first.weight * second.weight(),
        score: pair.score,
        text,
        ..Candidate::clone(first)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "def f(a, b):\n    if a > 2:\n        return a - b\n    return b - 1\n";

    fn pairs(first: Candidate, original: &str) -> Vec<Candidate> {
        of(vec![(first, original.into())]).flatten().collect()
    }

    fn candidate(from: &str, to: &str) -> Candidate {
        let start = TWO.find(from).unwrap();
        Candidate {
            path: "f.py".parse().unwrap(),
            text: TWO.replacen(from, to, 1),
            range: start..start + from.len(),
            replacement: to.into(),
            template: Template::Comparison,
            weight: 0.8,
            score: 0.4,
            line: 2,
            within: "f".into(),
            before: from.into(),
            after: to.into(),
            others: Vec::new(),
        }
    }

    #[test]
    fn the_second_edit_may_be_before_or_behind_the_first() {
        for (first, second) in [
            (("> 2", ">= 2"), ("a - b", "a + b")),
            (("b - 1", "b"), ("a > 2", "a < 2")),
        ] {
            let pairs = pairs(candidate(first.0, first.1), TWO);
            let wanted = TWO.replacen(first.0, first.1, 1).replacen(second.0, second.1, 1);
            let pair = pairs.iter().find(|pair| pair.text == wanted);
            let pair = pair.unwrap_or_else(|| panic!("{wanted}\nis not among {pairs:#?}"));
            let mut made = TWO.to_string();
            made.replace_range(pair.range.clone(), &pair.replacement);
            assert_eq!(made, wanted);
            assert!(pair.weight < 0.8 * BOTH && pair.score < 0.4 * BOTH);
        }
    }

    #[test]
    fn no_pair_edits_the_same_place_twice_or_leaves_the_function() {
        let other = format!("{TWO}\ndef g(a):\n    return a > 1\n");
        let first = Candidate {
            text: other.replacen("> 2", ">= 2", 1),
            ..candidate("> 2", ">= 2")
        };
        let pairs = pairs(first, &other);
        assert!(!pairs.is_empty() && pairs.len() <= MAX_SECOND);
        for pair in pairs {
            assert!(
                pair.text.contains("return a > 1") && pair.text.contains("def g(a)"),
                "{}",
                pair.text
            );
            assert!(pair.range.end <= TWO.len());
        }
    }

    #[test]
    fn an_edit_outside_of_functions_has_no_second() {
        let first = Candidate {
            text: "x = 2\n".into(),
            range: 4..5,
            ..candidate("> 2", "2")
        };
        assert!(pairs(first, "x = 1\n").is_empty());
    }
}
