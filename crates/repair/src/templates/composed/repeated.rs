//! The same slip in several places of one function: both are edited at once.

use std::collections::BTreeMap;
use std::ops::Range;

use super::super::site::Edit;
use crate::syntax::Source;
use crate::template::Template;

/// Maximum number of places, and maximum length of what is replaced at each.
const MAX_PLACES: usize = 4;
const MAX_TOKEN: usize = 24;
/// Maximum number of bytes from the first place to the last.
const MAX_SPAN: usize = 600;
/// Maximum number of such edits of one definition.
const MAX_REPEATED: usize = 400;

/// For each replacement that `edits` offer at several places with the same text, one edit that makes it at all of
/// them; and for each pair of opposite replacements, such as true for false and false for true, one that makes both.
pub(crate) fn repeated(source: &Source, edits: &[Edit]) -> Vec<Edit> {
    let mut same: BTreeMap<(&str, &str), Vec<&Edit>> = BTreeMap::new();
    for edit in edits {
        let original = source.text.get(edit.range.clone()).unwrap_or_default();
        let is_token =
            !original.trim().is_empty() && original.len() <= MAX_TOKEN && edit.replacement.len() <= MAX_TOKEN;
        if is_token {
            let places = same.entry((original, edit.replacement.as_str())).or_default();
            if places.len() <= MAX_PLACES && places.iter().all(|other| other.range != edit.range) {
                places.push(edit);
            }
        }
    }
    let mut made = Vec::new();
    for ((original, replacement), places) in &same {
        made.extend(at_once(source, places));
        if (3..=MAX_PLACES).contains(&places.len()) {
            made.extend(pairs(source, places));
        }
        if let Some(others) = same.get(&(*replacement, *original)).filter(|_| original < replacement) {
            let both: Vec<&Edit> = places.iter().chain(others).copied().collect();
            made.extend(at_once(source, &both));
        }
    }
    made.sort_by(|a, b| b.weight().total_cmp(&a.weight()));
    made.truncate(MAX_REPEATED);
    made
}

/// The same slip in two of several places.
fn pairs(source: &Source, places: &[&Edit]) -> Vec<Edit> {
    let pairs = places
        .iter()
        .enumerate()
        .flat_map(|(at, one)| places[at + 1..].iter().map(|other| vec![*one, *other]));
    let both = pairs.filter_map(|pair| at_once(source, &pair));
    both.map(|edit| Edit {
        similarity: 0.8 * edit.similarity,
        ..edit
    })
    .collect()
}

/// One edit that makes several. `None` if they are too few or too many, overlap or are far apart.
fn at_once(source: &Source, edits: &[&Edit]) -> Option<Edit> {
    if !(2..=MAX_PLACES).contains(&edits.len()) {
        return None;
    }
    let mut edits = edits.to_vec();
    edits.sort_by_key(|edit| edit.range.start);
    let (first, last) = (edits.first()?, edits.last()?);
    let range: Range<usize> = first.range.start..last.range.end;
    if range.len() > MAX_SPAN || edits.windows(2).any(|pair| pair[0].range.end > pair[1].range.start) {
        return None;
    }
    let mut replacement = String::new();
    let mut at = range.start;
    for edit in &edits {
        replacement.push_str(source.text.get(at..edit.range.start)?);
        replacement.push_str(&edit.replacement);
        at = edit.range.end;
    }
    let least = edits.iter().map(|edit| edit.weight()).fold(1.0, f32::min);
    Some(Edit {
        range,
        replacement,
        template: Template::Repeated,
        similarity: least.sqrt(),
    })
}
