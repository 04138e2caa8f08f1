//! Cleans the output of untrusted programs for parsing and display: without control characters, and bounded.
//!
//! Redaction of secrets and fencing for Markdown depend on where the text is shown, so they are not part of this.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

/// The longest line in characters; the rest of a longer line is dropped.
const MAX_LINE: usize = 4_000;

/// Turns bytes into lines of plain text: without escape sequences, control characters or characters that change the
/// text direction. If a line was overwritten with carriage returns, only its final text remains.
pub fn clean(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut clean = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        let line = line.trim_end_matches('\r');
        let line = line.rsplit('\r').next().unwrap_or(line);
        let line = without_escapes(line);
        // A line of JSON is one event, which can only be parsed completely.
        let max = if line.starts_with('{') { usize::MAX } else { MAX_LINE };
        clean.extend(line.chars().filter(|c| !is_hidden(*c)).take(max));
        clean.push_str(end);
    }
    clean
}

/// The last lines of what a program printed, with the escape sequences that select colours; everything else is as in
/// [`clean`]. At most `max` bytes. `None` if no colours are selected.
pub fn coloured(bytes: &[u8], max: usize) -> Option<String> {
    static COLOURS: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"\x1b\[[0-9;:]{0,24}m"));
    let colours = COLOURS.as_ref()?;
    // Much more than is kept, because what surrounds it may be dropped.
    let text = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(4 * max)..]);
    if !colours.is_match(&text) {
        return None;
    }
    let mut kept = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        let line = line.trim_end_matches('\r');
        let line = line.rsplit('\r').next().unwrap_or(line);
        let mut rest = 0;
        for colour in colours.find_iter(line) {
            kept.push_str(&clean(&line.as_bytes()[rest..colour.start()]));
            kept.push_str(colour.as_str());
            rest = colour.end();
        }
        kept.push_str(&clean(&line.as_bytes()[rest..]));
        kept.push_str(end);
    }
    Some(tail(&kept, max)).filter(|kept| kept.contains('\x1b'))
}

/// Control characters, and characters that make text look different from what it says (<https://trojansource.codes>).
fn is_hidden(c: char) -> bool {
    (c.is_control() && c != '\t')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// One line without the escape sequences of terminals.
pub fn without_escapes(line: &str) -> Cow<'_, str> {
    // ECMA-48: control sequences, operating system commands, and two-character escapes.
    static ESCAPES: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[PX^_][^\x1b]*(?:\x1b\\)?|\x1b[ -/]*[0-~]",
        )
        .ok()
    });
    match &*ESCAPES {
        Some(escapes) if line.contains('\x1b') => escapes.replace_all(line, ""),
        _ => Cow::Borrowed(line),
    }
}

/// At most `max` bytes of a text: its beginning and its end, with a mark in between.
pub fn bounded(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_string();
    }
    let mark = "\n[…]\n";
    let room = max.saturating_sub(mark.len());
    let head = text.floor_char_boundary(room / 3 * 2);
    let tail = text.ceil_char_boundary(text.len() - room / 3);
    format!("{}{mark}{}", &text[..head], &text[tail..])
}

/// The last lines of a text, at most `max` bytes, without surrounding blank lines.
pub fn tail(text: &str, max: usize) -> String {
    let text = text.trim_end();
    let start = text.ceil_char_boundary(text.len().saturating_sub(max));
    let rest = &text[start..];
    let rest = match rest.split_once('\n') {
        Some((_, whole_lines)) if start > 0 => whole_lines,
        _ => rest,
    };
    rest.trim_start_matches('\n').to_string()
}

/// A name or other single line: one line, no control characters, at most `max` bytes.
pub fn one_line(text: &str, max: usize) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let line: String = line.chars().filter(|c| !is_hidden(*c)).collect();
    let line = line.trim();
    line[..line.floor_char_boundary(max)].to_string()
}

/// Compiles a pattern that is part of the program; an invalid pattern matches nothing.
///
/// Every pattern is used by at least one test.
pub fn pattern(pattern: &str) -> Option<Regex> {
    Regex::new(pattern).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_hidden_characters_disappear() {
        #[track_caller]
        fn check(bytes: &[u8], expected: &str) {
            assert_eq!(clean(bytes), expected);
        }
        check(b"\x1b[31;1mred\x1b[0m plain\n", "red plain\n");
        check(b"\x1b]8;;http://x\x07link\x1b]8;;\x07", "link");
        check(b"\x1b]0;title\x1b\\text", "text");
        check(b"10%\r50%\r100%\r\nnext\r\n", "100%\nnext\n");
        check("a\u{202e}b\u{200b}c\u{0}d\u{7}\te".as_bytes(), "abcd\te");
        check(b"bad \xff utf-8", "bad \u{fffd} utf-8");
        check("x".repeat(9_000).as_bytes(), &"x".repeat(MAX_LINE));
    }

    #[test]
    fn only_colours_are_kept() {
        let printed =
            b"\x1b[31;1mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x07 \x1b[2Jup\x1b[A\nold\r\x1b[32mnew\x1b[m\x07\n";
        let kept = "\x1b[31;1mred\x1b[0m link up\n\x1b[32mnew\x1b[m";
        assert_eq!(coloured(printed, 1_000).as_deref(), Some(kept));
        assert_eq!(coloured(b"plain \x1b[2J\n", 1_000), None);
        let long = "\x1b[31mx\x1b[0m\n".repeat(100_000);
        assert!(coloured(long.as_bytes(), 1_000).unwrap().len() <= 1_000);
        // A secret that colours cut in pieces is one.
        assert_eq!(clean("gh\x1b[0mp_0".as_bytes()), "ghp_0");
    }

    #[test]
    fn long_text_keeps_its_beginning_and_its_end() {
        let text = format!("first {} last", "ä".repeat(10_000));
        let short = bounded(&text, 200);
        assert!(
            short.len() <= 200 && short.starts_with("first") && short.ends_with("last"),
            "{short}"
        );
        assert_eq!(bounded("short", 200), "short");
    }

    #[test]
    fn a_tail_is_made_of_whole_lines() {
        assert_eq!(tail("one\ntwo\nthree\n\n", 11), "two\nthree");
        assert_eq!(tail("one\n", 100), "one");
    }
}
