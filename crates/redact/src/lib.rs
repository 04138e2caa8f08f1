//! Makes untrusted text safe to show: secrets out, hidden characters out, mentions and markup inert, length bounded.
//!
//! Every function is pure and takes linear time. Not in here: deciding which text is untrusted, and asking anybody
//! whether a credential is real.

#![warn(missing_docs)]

use std::sync::LazyLock;

use greenlight_anchor::is_visible;
use regex::Regex;

mod rules;
mod secrets;

pub use secrets::{credentials, redact};

/// The characters that [`visible`] drops, with their positions, except carriage returns at line ends.
pub fn hidden(text: &str) -> impl Iterator<Item = (usize, char)> {
    text.char_indices().filter(|(at, c)| {
        let is_line_end = *c == '\r' && text[at + 1..].starts_with('\n');
        !is_line_end && !is_visible(*c)
    })
}

/// Drops control characters except line feed and tab, and characters that hide or reorder text
/// (zero width, bidirectional controls, tags: the carriers of "Trojan Source", <https://trojansource.codes>).
pub fn visible(text: &str) -> String {
    text.chars().filter(|c| is_visible(*c)).collect()
}

/// What GitHub's runner obeys when a step prints it: `::name …::` at the start of a line, possibly after white space,
/// and `##[name …]` anywhere in a line.
/// <https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands>
static WORKFLOW_COMMANDS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let names = "add-mask|add-matcher|add-path|command|debug|echo|endgroup|error|group|internal-set-repo-path|notice|\
                 remove-matcher|save-state|section|set-env|set-output|stop-commands|warning";
    Regex::new(&format!(
        r"(?im)(?P<v2>^\s*:)(?P<rest2>:(?:{names})(?-u:\b))|(?P<v1>#)(?P<rest1>#\[(?:{names})(?-u:\b))"
    ))
    .ok()
});

/// Disables workflow commands in what is printed to a terminal or to the log of a workflow step, by escaping their
/// second character. Everything else stays as it is.
pub fn without_commands(text: &str) -> std::borrow::Cow<'_, str> {
    match WORKFLOW_COMMANDS.as_ref() {
        Some(commands) => commands.replace_all(text, |found: &regex::Captures<'_>| {
            let part = |name: &str| found.name(name).map_or("", |part| part.as_str());
            match part("v2") {
                "" => format!("{}\\u0023{}", part("v1"), &part("rest1")[1..]),
                start => format!("{start}\\u003a{}", &part("rest2")[1..]),
            }
        }),
        None => text.into(),
    }
}

/// At most `max` bytes: the beginning and the end, with a line between them that says how much is missing.
pub fn bounded(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.into();
    }
    let half = max / 2;
    let head_end = (0..=half).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    let tail_start = (text.len() - half..text.len())
        .find(|&at| text.is_char_boundary(at))
        .unwrap_or(text.len());
    let cut = tail_start - head_end;
    format!(
        "{}\n[… {cut} bytes left out …]\n{}",
        &text[..head_end],
        &text[tail_start..]
    )
}

/// Untrusted text as a fenced block that it cannot end, redacted, visible and bounded.
pub fn fenced(language: &str, text: &str, max: usize) -> String {
    let text = bounded(&redact(&visible(text)), max);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}

/// Code for approval, as a fenced block that it cannot end. Nothing is left out, and characters that would hide or
/// reorder text are escaped. The caller must bound its length.
pub fn code(language: &str, code: &str) -> String {
    let mut shown = String::with_capacity(code.len());
    for c in code.chars() {
        let mut bytes = [0; 4];
        if visible(c.encode_utf8(&mut bytes)).is_empty() && c != '\r' {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    let longest = shown.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}", shown.trim_end_matches('\n'))
}

/// Untrusted text within a sentence: one line in a code span, so that no mention, link or markup has an effect.
pub fn inline(text: &str, max: usize) -> String {
    // Much more than is shown, so that a credential at the end is still complete, but much less than somebody may
    // have written.
    let start: String = text.chars().filter(|c| is_visible(*c)).take(8 * max + 8_192).collect();
    let line: String = redact(&start).split_whitespace().collect::<Vec<_>>().join(" ");
    let mut line: String = line.chars().take(max).collect();
    if line.is_empty() {
        line.push(' ');
    }
    let longest = line.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let ticks = "`".repeat(longest + 1);
    let pad = if line.starts_with('`') || line.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{ticks}{pad}{line}{pad}{ticks}")
}

/// A sentence of a model or a maintainer as prose: mentions, HTML, links and workflow commands are disabled.
pub fn prose(text: &str, max: usize) -> String {
    let text = bounded(&redact(&visible(text)), max);
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '@' => out.push_str("@\u{2060}"),
            '#' => out.push_str("#\u{2060}"),
            '[' | ']' | '!' | '|' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            ':' if out.ends_with(':') => out.push_str("\u{2060}:"),
            _ => out.push(c),
        }
    }
    // A line that would command greenlight when somebody quotes or edits it stays plain text.
    out.replace("/greenlight", "/\u{2060}greenlight")
        .replace("://", ":\u{2060}//")
        // Links and references that need no brackets, and fences, which would swallow the text after them.
        .replace("www.", "www\u{2060}.")
        .replace("WWW.", "WWW\u{2060}.")
        .replace("GH-", "GH\u{2060}-")
        .replace("gh-", "gh\u{2060}-")
        .replace("```", "\\`\\`\\`")
        .replace("~~~", "\\~\\~\\~")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_its_fence() {
        let block = fenced("", "a\n````\nb", 1000);
        assert!(block.starts_with("`````\n") && block.ends_with("\n`````"), "{block}");
        assert_eq!(inline("a`b``c", 99), "```a`b``c```");
    }

    #[test]
    fn code_to_approve_is_shown_whole() {
        let hostile = "# -----BEGIN PRIVATE KEY-----\nauthorization:run()\n\u{202e}x";
        assert_eq!(
            code("diff", hostile),
            "```diff\n# -----BEGIN PRIVATE KEY-----\nauthorization:run()\n\\u{202e}x\n```"
        );
    }

    #[test]
    fn long_text_keeps_head_and_tail() {
        let shown = bounded(&("ä".repeat(600) + "END"), 100);
        assert!(
            shown.len() < 160 && shown.ends_with("END") && shown.contains("left out"),
            "{shown}"
        );
    }

    #[test]
    fn prose_opens_no_fence_and_hides_nothing_in_entities() {
        let shown = prose("a &#64;ada\n```\nb ~~~~ GH-12 www.example.org", 500);
        assert_eq!(
            shown,
            "a &amp;#\u{2060}64;ada\n\\`\\`\\`\nb \\~\\~\\~~ GH\u{2060}-12 www\u{2060}.example.org"
        );
    }

    #[test]
    fn workflow_commands_are_printed_and_not_obeyed() {
        for (text, expected) in [
            ("::set-env name=A::b", ":\\u003aset-env name=A::b"),
            ("a\n   ::add-mask::x", "a\n   :\\u003aadd-mask::x"),
            ("+::Error file=x::y", "+::Error file=x::y"),
            ("::ERROR::y", ":\\u003aERROR::y"),
            ("x ##[add-path]/tmp", "x #\\u0023[add-path]/tmp"),
            ("::std::mem::swap(a, b)", "::std::mem::swap(a, b)"),
            ("#[derive] ##[other]", "#[derive] ##[other]"),
        ] {
            assert_eq!(without_commands(text), expected, "{text}");
        }
    }

    #[test]
    fn prose_mentions_nobody_and_commands_nothing() {
        let shown = prose(
            "ping @ada <img src=x> ::set-env::\n/greenlight approve\u{202e} [x](http://y)",
            500,
        );
        assert!(
            !shown.contains("@ada") && !shown.contains("<img") && !shown.contains("::"),
            "{shown}"
        );
        assert!(
            !shown.contains("/greenlight") && !shown.contains('\u{202e}') && !shown.contains("http://"),
            "{shown}"
        );
    }
}
