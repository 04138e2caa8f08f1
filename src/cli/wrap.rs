//! Long lines of a terminal: each piece of one begins as the line did, at the rail and never at the edge.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Narrower than this nothing is broken: there would be hardly a word to a line.
const LEAST: usize = 20;
/// So much of a line has to be left behind what it begins with.
const LEAST_TEXT: usize = 10;

/// The text in lines of at most this many columns. What a line begins with is repeated before what it continues with:
/// the rail, if there is one, and the blanks after it.
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

/// Where a piece that fits ends: behind its last blank, or within a word that is too long for its own line.
fn end_of(text: &str, room: usize) -> usize {
    let mut width = 0;
    let mut blank = None;
    for (at, c) in text.char_indices() {
        width += c.width().unwrap_or(0);
        if width > room {
            return blank.unwrap_or(at).max(text.chars().next().map_or(1, char::len_utf8));
        }
        if c == ' ' {
            blank = Some(at + 1);
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_on_stays_at_the_rail() {
        let text = "  │ one two three four five six\nshort\n  │   abcdefghijklmnopqrstuvwxyz";
        insta::assert_snapshot!(wrapped(text, 22), @"
          │ one two three
          │ four five six
        short
          │   abcdefghijklmno
          │   pqrstuvwxyz
        ");
        assert_eq!(wrapped(text, 0), text, "a width that is not known");
        let wide = "👀".repeat(30);
        assert!(wrapped(&wide, 22).lines().all(|line| line.width() < 22));
    }
}
