//! What the messages of each language's tools mean, and which edits settle them. One file for each language; this one
//! has what they share.

mod c;
mod declared;
mod go;
mod java;
mod javascript;
mod python;
mod python_types;

use super::place::HintPlace;
use super::{Hint, imports, names};

/// What a message says, without its position, and edits that may settle it.
type Said = (String, Vec<Hint>);

/// Edits that may settle a message about a line. `None` if nothing is known about it.
pub(super) fn hints(place: &HintPlace<'_>) -> Option<Said> {
    let name = place.path.as_str().rsplit('/').next()?;
    match name.rsplit('.').next()? {
        "py" => python::hints(place),
        "go" => go::hints(place),
        "java" => java::hints(place),
        "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" => javascript::hints(place),
        "c" | "h" | "cc" | "cpp" | "cxx" | "hpp" => c::hints(place),
        _ => None,
    }
}

/// Another name, or an import, for one that is unknown.
fn unknown(place: &HintPlace<'_>, name: &str, suggested: &[String]) -> Option<Said> {
    if place.words(name).is_empty() {
        return None;
    }
    let mut hints = imports::missing(place, name);
    hints.extend(renamed(place, name, suggested));
    Some((format!("unknown {name}"), hints))
}

/// Another name for a member or name that is unknown.
fn misspelled(place: &HintPlace<'_>, name: &str, suggested: &[String]) -> Option<Said> {
    if place.words(name).is_empty() {
        return None;
    }
    Some((format!("unknown {name}"), renamed(place, name, suggested)))
}

fn renamed(place: &HintPlace<'_>, name: &str, suggested: &[String]) -> Vec<Hint> {
    let near = names::near(place, name, suggested);
    near.iter()
        .filter_map(|(other, weight)| place.rename(name, other, *weight))
        .collect()
}

/// A token at the caret of the message, behind the code before it.
fn inserted(place: &HintPlace<'_>, token: &str, comment: &str) -> Vec<Hint> {
    let mut hints = vec![place.append(token, 0.9, comment)];
    if let Some(column) = place.caret() {
        let line = place.range();
        let before = place.text.get(line.start..line.start + column).unwrap_or_default();
        let at = line.start + before.trim_end().len();
        hints.insert(0, place.replace(at..at, token, 1.0));
        if before.len() < place.line_text().len() {
            hints.push(place.replace(line.start + column..line.start + column, token, 0.88));
        }
    }
    // A missing token may also belong to the end of the line before.
    if let Some(above) = place
        .line
        .checked_sub(1)
        .filter(|line| *line > 0)
        .and_then(|line| place.range_of(line))
    {
        let code = place.text.get(above.clone()).unwrap_or_default().trim_end();
        let at = above.start + code.len();
        hints.push(place.replace(at..at, token, 0.8));
    }
    hints
}

/// The lines of the block of functions around a line: from a line that matches a start, upwards.
fn line_above(place: &HintPlace<'_>, is_start: impl Fn(&str) -> bool) -> Option<(u32, String)> {
    const MOST: u32 = 400;
    let mut line = place.line;
    for _ in 0..MOST {
        let text = place.text.get(place.range_of(line)?)?;
        if is_start(text) {
            return Some((line, text.to_string()));
        }
        line = line.checked_sub(1)?;
    }
    None
}

#[cfg(test)]
mod tests;
