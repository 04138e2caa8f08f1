//! A file as lines, as far as it is certain what committing a suggestion makes of their ends.
//!
//! GitHub replaces whole lines and keeps the line end of the file and whether its last line has one. So lines are held
//! without their ends here, and a file whose lines end in different ways is not held at all.

use crate::patch::Blob;

/// How the lines of a file end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineEnd {
    LineFeed,
    /// Carriage return and line feed.
    Windows,
}

impl LineEnd {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::LineFeed => "\n",
            Self::Windows => "\r\n",
        }
    }
}

/// The lines of a text file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Text<'a> {
    /// Without their ends.
    pub(super) lines: Vec<&'a str>,
    /// None when the file has no line end at all.
    pub(super) end: Option<LineEnd>,
    /// Whether the last line has an end, too.
    pub(super) is_ended: bool,
}

/// Why a file is not held as lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoText {
    /// Not UTF-8, or with NUL in it.
    Binary,
    /// Some lines end in another way than others, or a carriage return stands alone.
    MixedLineEnds,
}

/// Reads the lines of a file.
pub(super) fn read(blob: &Blob) -> Result<Text<'_>, NoText> {
    let text = blob.text().ok_or(NoText::Binary)?;
    let feeds = text.matches('\n').count();
    let (returns, both) = (text.matches('\r').count(), text.matches("\r\n").count());
    let end = match (feeds, returns) {
        (0, 0) => None,
        (_, 0) => Some(LineEnd::LineFeed),
        _ if feeds == both && returns == both => Some(LineEnd::Windows),
        _ => return Err(NoText::MixedLineEnds),
    };
    let is_ended = text.ends_with('\n');
    let separator = end.map_or("\n", LineEnd::as_str);
    let mut lines: Vec<&str> = text.split(separator).collect();
    // What follows the last end is no line; neither is nothing.
    if is_ended || text.is_empty() {
        lines.pop();
    }
    Ok(Text { lines, end, is_ended })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<(&[&str], Option<LineEnd>, bool), NoText>) {
        let blob = Blob::regular(text);
        let found = read(&blob).map(|text| (text.lines, text.end, text.is_ended));
        assert_eq!(
            found,
            expected.map(|(lines, end, is_ended)| (lines.to_vec(), end, is_ended))
        );
    }

    #[test]
    fn a_file_is_its_lines() {
        use LineEnd::{LineFeed, Windows};
        check("", Ok((&[], None, false)));
        check("a", Ok((&["a"], None, false)));
        check("a\n", Ok((&["a"], Some(LineFeed), true)));
        check("\n\n", Ok((&["", ""], Some(LineFeed), true)));
        check("a\n\nb", Ok((&["a", "", "b"], Some(LineFeed), false)));
        check("a\r\nb\r\n", Ok((&["a", "b"], Some(Windows), true)));
        check("a\r\nb", Ok((&["a", "b"], Some(Windows), false)));
        check(
            "a\u{2028}b\u{b}\u{c}\u{85}\n",
            Ok((&["a\u{2028}b\u{b}\u{c}\u{85}"], Some(LineFeed), true)),
        );
    }

    #[test]
    fn line_ends_of_several_kinds_are_no_text() {
        for mixed in ["a\r\nb\n", "a\nb\r\n", "a\rb\n", "a\r", "\r\r\n", "a\r\n\r"] {
            check(mixed, Err(NoText::MixedLineEnds));
        }
        check("a\0", Err(NoText::Binary));
    }
}
