//! Applies the suggestions of rustc and clippy, read from cargo's JSON. They are a claim: a suggestion that does not
//! match the text is ignored.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Maximum number of lines of output, and of suggestions, that are read.
const MAX_LINES: usize = 100_000;
const MAX_SUGGESTIONS: usize = 500;
/// Maximum length of a replacement, in bytes.
const MAX_TEXT: usize = 20_000;

/// One line of `--message-format json`; <https://doc.rust-lang.org/cargo/reference/external-tools.html#json-messages>
#[derive(Deserialize)]
struct CargoMessage {
    reason: String,
    message: Option<Diagnostic>,
}

/// <https://doc.rust-lang.org/rustc/json.html#diagnostics>
#[derive(Deserialize)]
struct Diagnostic {
    level: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    spans: Vec<Span>,
    #[serde(default)]
    children: Vec<Child>,
}

#[derive(Deserialize)]
struct Child {
    #[serde(default)]
    spans: Vec<Span>,
}

/// How sure the compiler is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Certainty {
    Sure,
    Maybe,
}

/// The edits of one suggestion: file, bytes, and replacement.
type Edits = Vec<(String, std::ops::Range<usize>, String)>;

/// An error of a build, with everything that the compiler suggests.
#[derive(Debug)]
pub(crate) struct BuildError {
    pub(crate) file: String,
    /// From 1.
    pub(crate) line: u32,
    pub(crate) message: String,
    pub(crate) suggestions: Vec<(Certainty, Edits)>,
}

#[derive(Deserialize)]
struct Span {
    file_name: String,
    byte_start: usize,
    byte_end: usize,
    #[serde(default)]
    line_start: u32,
    #[serde(default)]
    is_primary: bool,
    /// The source lines of the span.
    #[serde(default)]
    text: Vec<PrintedSpan>,
    suggested_replacement: Option<String>,
    suggestion_applicability: Option<String>,
    /// Set if the span is inside a macro expansion.
    expansion: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct PrintedSpan {
    text: String,
}

/// A range of a text and its replacement.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Replacement {
    from: usize,
    to: usize,
    text: String,
    /// The first line of the range as the compiler saw it.
    line: Option<String>,
}

/// Edits that only make sense together, all in files that the diagnostic points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Suggestion(Vec<(String, Replacement)>);

/// The errors and suggestions of a build.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct BuildSuggestions {
    /// The number of errors.
    pub(super) errors: usize,
    pub(super) suggestions: Vec<Suggestion>,
}

/// Reads the errors of a build, and the suggestions that the compiler is sure of. Warnings fail no build, so they are
/// ignored.
pub(super) fn read(printed: &str) -> BuildSuggestions {
    let mut found = BuildSuggestions::default();
    let lines = printed
        .lines()
        .filter(|line| line.starts_with("{\"reason\":"))
        .take(MAX_LINES);
    for line in lines {
        let Ok(CargoMessage {
            reason,
            message: Some(message),
        }) = serde_json::from_str::<CargoMessage>(line)
        else {
            continue;
        };
        if reason != "compiler-message" || !message.level.starts_with("error") {
            continue;
        }
        if message.message.starts_with("aborting due to") {
            continue;
        }
        found.errors = found.errors.saturating_add(1);
        if let Some(suggestion) = suggested(&message)
            && found.suggestions.len() < MAX_SUGGESTIONS
            && !found.suggestions.contains(&suggestion)
        {
            found.suggestions.push(suggestion);
        }
    }
    found
}

/// The errors of a build with all suggestions, also those that the compiler is not sure of. Those with placeholders are
/// left out.
pub(crate) fn errors(printed: &str) -> Vec<BuildError> {
    let lines = printed
        .lines()
        .filter(|line| line.starts_with("{\"reason\":"))
        .take(MAX_LINES);
    let messages = lines.filter_map(|line| serde_json::from_str::<CargoMessage>(line).ok()?.message);
    let is_error = |message: &Diagnostic| {
        message.level.starts_with("error")
            && !message.message.starts_with("aborting due to")
            && !message.message.starts_with("could not compile")
    };
    let error = |message: Diagnostic| {
        let place = message.spans.iter().find(|span| span.is_primary);
        BuildError {
            file: place.map(|span| span.file_name.clone()).unwrap_or_default(),
            line: place.map_or(0, |span| span.line_start),
            suggestions: message.children.iter().flat_map(alternatives).collect(),
            message: message.message,
        }
    };
    let mut found: Vec<BuildError> = Vec::new();
    for error in messages.filter(is_error).map(error) {
        // Every target of a package reports the same.
        let is_known = found
            .iter()
            .any(|other| (&other.file, other.line, &other.message) == (&error.file, error.line, &error.message));
        if !is_known && found.len() < MAX_SUGGESTIONS {
            found.push(error);
        }
    }
    found
}

/// The suggestions of a child: alternatives replace the same range.
fn alternatives(child: &Child) -> Vec<(Certainty, Edits)> {
    let mut found: Vec<(Certainty, Edits)> = Vec::new();
    for span in &child.spans {
        let (Some(text), None) = (&span.suggested_replacement, &span.expansion) else {
            continue;
        };
        let certainty = match span.suggestion_applicability.as_deref() {
            Some("MachineApplicable") => Certainty::Sure,
            Some("MaybeIncorrect") => Certainty::Maybe,
            _ => return Vec::new(),
        };
        let range = span.byte_start..span.byte_end;
        let edit = (span.file_name.clone(), range.clone(), text.clone());
        match found.last_mut() {
            Some((_, edits))
                if edits
                    .iter()
                    .all(|(file, other, _)| (file, other) != (&span.file_name, &range)) =>
            {
                edits.push(edit);
            }
            _ => found.push((certainty, vec![edit])),
        }
    }
    found
}

/// The first suggestion that the compiler is sure of.
fn suggested(message: &Diagnostic) -> Option<Suggestion> {
    let primary: Vec<&str> = message
        .spans
        .iter()
        .filter(|span| span.is_primary)
        .map(|span| span.file_name.as_str())
        .collect();
    message.children.iter().find_map(|child| {
        let mut edits = Vec::new();
        let spans = child.spans.iter().filter(|span| span.suggested_replacement.is_some());
        for span in spans {
            let is_sure = span.suggestion_applicability.as_deref() == Some("MachineApplicable")
                && span.expansion.is_none()
                && primary.contains(&span.file_name.as_str());
            let text = span
                .suggested_replacement
                .as_ref()
                .filter(|text| is_sure && text.len() <= MAX_TEXT)?;
            let edit = Replacement {
                from: span.byte_start,
                to: span.byte_end,
                text: text.clone(),
                line: span.text.first().map(|shown| shown.text.clone()),
            };
            edits.push((span.file_name.clone(), edit));
        }
        (!edits.is_empty()).then_some(Suggestion(edits))
    })
}

/// The files after applying every suggestion that fits, in order. A suggestion that overlaps an earlier one, or lies
/// outside of the text, is left out as a whole. `read` returns the text of a file that may be edited.
pub(super) fn applied(suggestions: &[Suggestion], read: impl Fn(&str) -> Option<String>) -> BTreeMap<String, String> {
    let mut texts: BTreeMap<String, Option<String>> = BTreeMap::new();
    let mut accepted: BTreeMap<String, Vec<Replacement>> = BTreeMap::new();
    for Suggestion(edits) in suggestions {
        let mut next = accepted.clone();
        let fits = edits.iter().all(|(file, edit)| {
            let text = texts.entry(file.clone()).or_insert_with(|| read(file));
            let others = next.entry(file.clone()).or_default();
            let fits =
                text.as_ref().is_some_and(|text| edit.fits(text)) && !others.iter().any(|other| other.overlaps(edit));
            others.push(edit.clone());
            fits
        });
        if fits {
            accepted = next;
        }
    }
    let mut results = BTreeMap::new();
    for (file, mut edits) in accepted {
        let Some(Some(text)) = texts.remove(&file) else {
            continue;
        };
        edits.sort();
        let mut whole = text.clone();
        for edit in edits.iter().rev() {
            whole.replace_range(edit.from..edit.to, &edit.text);
        }
        if whole != text {
            results.insert(file, whole);
        }
    }
    results
}

impl Replacement {
    /// Whether its range is in the text, and the line there is the one that the compiler saw.
    fn fits(&self, text: &str) -> bool {
        if self.from > self.to || text.get(self.from..self.to).is_none() {
            return false;
        }
        let before = text.get(..self.from).unwrap_or_default();
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = text.get(start..).unwrap_or_default().lines().next().unwrap_or_default();
        self.line.as_ref().is_none_or(|seen| seen == line)
    }

    /// Whether it conflicts with another one. Two insertions at one position have no order.
    fn overlaps(&self, other: &Self) -> bool {
        let same_place = self.from == other.from;
        same_place || (self.from < other.to && other.from < self.to)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn span(file: &str, from: usize, to: usize, text: &str, sure: &str) -> serde_json::Value {
        json!({"file_name": file, "byte_start": from, "byte_end": to, "is_primary": true, "text": [],
            "suggested_replacement": text, "suggestion_applicability": sure, "expansion": null})
    }

    fn line(level: &str, primary: &str, spans: &[serde_json::Value]) -> String {
        json!({"reason": "compiler-message", "message": {"level": level, "message": "m",
            "spans": [{"file_name": primary, "byte_start": 0, "byte_end": 1, "is_primary": true, "expansion": null}],
            "children": [{"spans": spans}]}})
        .to_string()
    }

    fn ordered(line: &str) -> String {
        // Cargo writes the reason first.
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        format!("{{\"reason\":{},\"message\":{}}}", value["reason"], value["message"])
    }

    #[track_caller]
    fn check(lines: &[String], expected: &str) {
        let printed: Vec<String> = lines.iter().map(|line| ordered(line)).collect();
        let found = read(&printed.join("\n"));
        let results = applied(&found.suggestions, |file| {
            (file == "a.rs").then(|| "let a = 1;\nlet é = 2;\n".into())
        });
        assert_eq!(results.get("a.rs").map_or("", String::as_str), expected);
        assert!(results.len() <= 1);
    }

    #[test]
    fn only_sure_suggestions_for_errors_are_made() {
        let sure = "MachineApplicable";
        let one = line("error", "a.rs", &[span("a.rs", 4, 5, "b", sure)]);
        check(std::slice::from_ref(&one), "let b = 1;\nlet é = 2;\n");
        check(&[one.clone(), one.clone()], "let b = 1;\nlet é = 2;\n");
        let both = line(
            "error",
            "a.rs",
            &[span("a.rs", 4, 5, "b", sure), span("a.rs", 8, 9, "3", sure)],
        );
        check(std::slice::from_ref(&both), "let b = 3;\nlet é = 2;\n");
        // The second one overlaps and is left out as a whole.
        check(&[one, both], "let b = 1;\nlet é = 2;\n");
        check(&[line("warning", "a.rs", &[span("a.rs", 4, 5, "b", sure)])], "");
        check(
            &[line("error", "a.rs", &[span("a.rs", 4, 5, "b", "MaybeIncorrect")])],
            "",
        );
        check(&[line("error", "b.rs", &[span("a.rs", 4, 5, "b", sure)])], "");
        check(&[line("error", "c.rs", &[span("c.rs", 4, 5, "b", sure)])], "");
    }

    #[test]
    fn what_does_not_fit_the_text_is_left_out() {
        let sure = "MachineApplicable";
        for (from, to) in [(5, 4), (0, 1_000), (16, 17), (usize::MAX, usize::MAX), (1_000, 1_001)] {
            check(&[line("error", "a.rs", &[span("a.rs", from, to, "b", sure)])], "");
        }
        let mut stale = span("a.rs", 4, 5, "b", sure);
        stale["text"] = json!([{"text": "let x = 1;"}]);
        check(&[line("error", "a.rs", &[stale])], "");
        let mut in_macro = span("a.rs", 4, 5, "b", sure);
        in_macro["expansion"] = json!({});
        check(&[line("error", "a.rs", &[in_macro])], "");
        assert_eq!(
            read("{\"reason\":\"compiler-message\",\"message\":{\"level\":3}}\n{\"reason\":"),
            BuildSuggestions::default()
        );
    }
}
