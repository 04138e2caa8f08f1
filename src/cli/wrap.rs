//! Wraps long lines for a terminal. Each continuation begins with the prefix of its line.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Narrower terminals get unwrapped text, because hardly one word would fit on a line.
const LEAST: usize = 20;
/// The minimum room for text after the prefix of a line.
const LEAST_TEXT: usize = 10;

/// The text in lines of at most this many columns. The prefix of a line, which is the rail, if there is one, and the
/// following blanks, is repeated before each continuation.
pub(super) fn wrapped(text: &str, columns: usize) -> String {
    if columns < LEAST {
        return text.into();
    }
    let mut lines = Vec::new();
    for line in text.split('\n') {
        if line.width() < columns {
            lines.push(line.to_string());
        } else {
            wrap(line, columns, &mut lines);
        }
    }
    lines.join("\n")
}

fn wrap(line: &str, columns: usize, lines: &mut Vec<String>) {
    let is_before = |c: char| c == ' ' || c == '│';
    let start = line.find(|c| !is_before(c)).unwrap_or(line.len());
    let (mut before, mut rest) = line.split_at(start);
    if before.width() + LEAST_TEXT > columns {
        before = "";
        rest = line;
    }
    while !rest.is_empty() {
        let room = columns - 1 - before.width();
        let end = end_of(rest, room);
        let (piece, left) = rest.split_at(end);
        lines.push(format!("{before}{}", piece.trim_end()));
        rest = left.trim_start_matches(' ');
    }
}

/// Where a part that fits ends: behind its last blank, or within a word that is too long for one line. Commands in
/// backquotes stay whole, even if they do not fit, so that they can be copied.
fn end_of(text: &str, room: usize) -> usize {
    let mut width = 0;
    let mut blank = None;
    let mut is_command = false;
    for (at, c) in text.char_indices() {
        width += c.width().unwrap_or(0);
        if width > room && (blank.is_some() || !is_command) {
            return blank.unwrap_or(at).max(text.chars().next().map_or(1, char::len_utf8));
        }
        match c {
            '`' => is_command = !is_command && text[at + 1..].contains('`'),
            ' ' if !is_command => blank = Some(at + 1),
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_continuation_keeps_the_rail() {
        let text = "  │ one two three four five six\nshort\n  │   abcdefghijklmnopqrstuvwxyz";
        insta::assert_snapshot!(wrapped(text, 22), @"
          │ one two three
          │ four five six
        short
          │   abcdefghijklmno
          │   pqrstuvwxyz
        ");
        assert_eq!(wrapped(text, 0), text, "a width that is not known");
        assert_eq!(
            wrapped("first run `greenlight verify --head HEAD`, then another ` one", 24),
            "first run\n`greenlight verify --head HEAD`\n, then another ` one"
        );
        let wide = "👀".repeat(30);
        assert!(wrapped(&wide, 22).lines().all(|line| line.width() < 22));
    }
}
