//! `edit_file` and `write_file`: changes to the tree, in memory.

use schemars::JsonSchema;
use serde::Deserialize;

use super::look::numbered;
use super::repo_path;
use crate::agent::Shell;
use crate::agent::shell::NotWritten;
use crate::domain::id::RepoPath;
use crate::domain::weakening;
use crate::guard::syntax_errors;

/// How many lines are shown before and after an edit.
const AROUND: usize = 3;
/// The longest excerpt of a file in a result, in bytes.
const EXCERPT: usize = 3 << 10;
/// How many places are named if a text occurs several times.
const MAX_PLACES: usize = 10;

/// Arguments of `edit_file`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::agent) struct EditFile {
    path: String,
    /// The text to replace, exactly as in the file, without line numbers.
    old: String,
    /// The new text.
    new: String,
    /// Look only from this line on, when the text occurs several times.
    #[serde(default)]
    from: Option<usize>,
    /// Look only up to this line.
    #[serde(default)]
    to: Option<usize>,
}

/// Arguments of `write_file`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::agent) struct WriteFile {
    path: String,
    /// The whole new text of the file. An empty text removes a file that you created.
    text: String,
}

pub(super) fn edit_file(wanted: &EditFile, shell: &mut Shell<'_>, granted: bool) -> Result<String, NotWritten> {
    let path = repo_path(&wanted.path)?;
    let Some(text) = shell.checkout.read_text(path.as_str()) else {
        return Err(format!("there is no text file `{path}`; see list_files.").into());
    };
    let (new_text, at) = replaced(&text, wanted)?;
    let lines = wanted.new.lines().count().max(1);
    let first = new_text[..at].matches('\n').count() + 1;
    written(&path, new_text, (first, first + lines - 1), (shell, granted))
}

pub(super) fn write_file(wanted: &WriteFile, shell: &mut Shell<'_>, granted: bool) -> Result<String, NotWritten> {
    let path = repo_path(&wanted.path)?;
    if wanted.text.is_empty() && shell.take_back(&path) {
        return Ok(format!("`{path}` is removed again."));
    }
    written(&path, wanted.text.clone(), (1, 1), (shell, granted))
}

/// Writes the text and shows the lines that changed.
fn written(
    path: &RepoPath,
    text: String,
    (first, last): (usize, usize),
    (shell, granted): (&mut Shell<'_>, bool),
) -> Result<String, NotWritten> {
    let before = shell.checkout.read_text(path.as_str()).unwrap_or_default();
    shell.write(path, text.clone(), granted)?;
    let excerpt = numbered(
        &text,
        first.saturating_sub(AROUND),
        last.saturating_add(AROUND),
        EXCERPT,
    );
    let mut notes = vec![all_edits(shell)];
    notes.extend(broken(path, &before, &text));
    Ok(format!(
        "`{path}` is changed. It now reads:\n{excerpt}\n{}",
        notes.join(" ")
    ))
}

/// Notes about all edits together.
pub(super) fn all_edits(shell: &Shell<'_>) -> String {
    let patch = shell.proposal_patch();
    let (lines, limit) = (patch.changed_lines(), shell.bounds.patch_lines);
    let mut notes = vec![format!("All edits together: {lines} changed lines.")];
    if lines > limit {
        notes.push(format!(
            "That is more than the {limit} allowed; make the change smaller before you submit."
        ));
    }
    let weakenings = (shell.bounds.weakenings)(&patch);
    if !weakenings.is_empty() {
        notes.push(format!(
            "Careful: this weakens the tests and would not be accepted as a fix: {}.",
            weakening::listed(&weakenings)
        ));
    }
    notes.join(" ")
}

/// Reports the lines with syntax errors in a file that had none before.
pub(super) fn broken(path: &RepoPath, before: &str, after: &str) -> Option<String> {
    let is = syntax_errors(path.as_str(), after)?;
    let was = syntax_errors(path.as_str(), before).unwrap_or_default();
    if is.len() <= was.len() {
        return None;
    }
    let lines: Vec<_> = is.iter().take(MAX_PLACES).map(ToString::to_string).collect();
    let lines = match lines.len() {
        1 => format!("line {}", lines[0]),
        _ => format!("lines {}", lines.join(", ")),
    };
    Some(format!("Careful: the file has a syntax error at {lines}."))
}

/// The text after the replacement, and the byte where it starts; or a sentence that says why it is impossible.
fn replaced(text: &str, wanted: &EditFile) -> Result<(String, usize), String> {
    if wanted.old.is_empty() {
        return Err("`old` is empty; quote the text to replace, or use write_file for a new file.".into());
    }
    if wanted.old == wanted.new {
        return Err("`old` and `new` are the same; nothing would change.".into());
    }
    let (mut old, mut new) = (wanted.old.clone(), wanted.new.clone());
    if text.contains("\r\n") && !text.contains(&old) {
        // The file uses CRLF, which the model neither sees nor writes.
        (old, new) = (with_crlf(&old), with_crlf(&new));
    }
    let line_of = |at: usize| text[..at].matches('\n').count() + 1;
    let (from, to) = (wanted.from.unwrap_or(1), wanted.to.unwrap_or(usize::MAX));
    let places: Vec<usize> = text.match_indices(&old).map(|(at, _)| at).collect();
    let fitting = places.iter().copied().filter(|&at| {
        let last = line_of(at + old.trim_end_matches(['\r', '\n']).len());
        from <= line_of(at) && last <= to
    });
    let fitting: Vec<usize> = fitting.take(MAX_PLACES + 1).collect();
    let lines = |places: &[usize]| {
        let lines: Vec<_> = places
            .iter()
            .take(MAX_PLACES)
            .map(|&at| line_of(at).to_string())
            .collect();
        lines.join(", ")
    };
    match fitting[..] {
        [at] => Ok((format!("{}{new}{}", &text[..at], &text[at + old.len()..]), at)),
        [] if places.is_empty() => Err(not_found(text, &old)),
        [] => Err(format!(
            "that text is not within these lines; it is at line {}.",
            lines(&places)
        )),
        _ => Err(format!(
            "that text occurs several times, at lines {}; quote more of it, or give `from` and `to`.",
            lines(&fitting)
        )),
    }
}

fn with_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

/// Shows the part of the file that is most similar to the quoted text.
pub(super) fn not_found(text: &str, old: &str) -> String {
    let wanted: Vec<&str> = old.lines().map(str::trim).collect();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let alike = |start: usize| {
        let pairs = wanted.iter().zip(&lines[start..]);
        pairs.filter(|(a, b)| a == b && !a.is_empty()).count()
    };
    let best = (0..lines.len())
        .map(|start| (alike(start), start))
        .max_by_key(|&(score, start)| (score, std::cmp::Reverse(start)))
        .filter(|&(score, _)| score > 0)
        .or_else(|| closest_line(&wanted, &lines).map(|start| (0, start)));
    let Some((score, start)) = best else {
        return "that text is not in the file; read it again.".into();
    };
    let last = start + wanted.len().max(1);
    let excerpt = numbered(text, start.saturating_sub(1), last + 2, EXCERPT);
    let why = if score == wanted.len() {
        "that text is not in the file like this: the indentation or spacing differs. Closest is:"
    } else {
        "that text is not in the file. Closest is:"
    };
    format!("{why}\n{excerpt}")
}

/// The line most similar to the first meaningful quoted line, if one is similar enough.
fn closest_line(wanted: &[&str], lines: &[&str]) -> Option<usize> {
    const MAX_COMPARED: usize = 20_000;
    const MAX_LENGTH: usize = 200;
    let key: String = wanted
        .iter()
        .find(|line| !line.is_empty())?
        .chars()
        .take(MAX_LENGTH)
        .collect();
    let scored = lines.iter().take(MAX_COMPARED).enumerate().map(|(at, line)| {
        let line: String = line.chars().take(MAX_LENGTH).collect();
        (strsim::normalized_levenshtein(&key, &line), at)
    });
    scored
        .filter(|(score, _)| *score > 0.5)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, at)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(old: &str, new: &str) -> EditFile {
        EditFile {
            path: "a".into(),
            old: old.into(),
            new: new.into(),
            from: None,
            to: None,
        }
    }

    #[track_caller]
    fn check(text: &str, wanted: &EditFile, expect: &str) {
        let got = match replaced(text, wanted) {
            Ok((text, _)) => text,
            Err(sentence) => sentence,
        };
        assert_eq!(got, expect);
    }

    const TWICE: &str = "a = 1\nb = 2\na = 1\n";

    #[test]
    fn a_text_is_replaced_where_it_occurs_once() {
        check(TWICE, &edit("b = 2", "b = 3"), "a = 1\nb = 3\na = 1\n");
        check(TWICE, &edit("b = 2\n", ""), "a = 1\na = 1\n");
        let within = |from, to| EditFile {
            from,
            to,
            ..edit("a = 1\n", "c\n")
        };
        check(TWICE, &within(Some(2), None), "a = 1\nb = 2\nc\n");
        check(TWICE, &within(None, Some(2)), "c\nb = 2\na = 1\n");
        check(
            TWICE,
            &within(Some(2), Some(2)),
            "that text is not within these lines; it is at line 1, 3.",
        );
        check(
            TWICE,
            &edit("a = 1", "c"),
            "that text occurs several times, at lines 1, 3; quote more of it, or give `from` and `to`.",
        );
    }

    #[test]
    fn line_ends_of_other_systems_are_kept() {
        check("a\r\nb\r\nc\r\n", &edit("a\nb", "x\ny"), "x\r\ny\r\nc\r\n");
        check("a\r\nb\n", &edit("b\n", "c\n"), "a\r\nc\n");
    }

    #[test]
    fn what_is_there_instead_is_shown() {
        let text = "fn add(a: i32) {\n    let x = a;\n    x + 1\n}\n";
        check(
            text,
            &edit("let x = a;\nx + 1", "y"),
            "that text is not in the file like this: the indentation or spacing differs. Closest is:\n\
             1\tfn add(a: i32) {\n2\t    let x = a;\n3\t    x + 1\n4\t}\n",
        );
        check(
            text,
            &edit("let x = b;", "y"),
            "that text is not in the file. Closest is:\n1\tfn add(a: i32) {\n2\t    let x = a;\n3\t    x + 1\n4\t}\n",
        );
        check(
            text,
            &edit("entirely different", "y"),
            "that text is not in the file; read it again.",
        );
        check(
            text,
            &edit("", "y"),
            "`old` is empty; quote the text to replace, or use write_file for a new file.",
        );
        check(
            text,
            &edit("x", "x"),
            "`old` and `new` are the same; nothing would change.",
        );
    }
}
