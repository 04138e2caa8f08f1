//! A file as lines, as far as the effect of committing a suggestion on its line ends is certain.
//!
//! GitHub replaces whole lines, keeps the kind of line end, and keeps whether the last line has one. So lines are
//! stored without their ends, and files with mixed line ends are not supported.

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
    /// `None` if the file has no line end.
    pub(super) end: Option<LineEnd>,
    /// Whether the last line ends with a line end.
    pub(super) is_ended: bool,
}

/// Why a file cannot be stored as lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoText {
    /// It is not UTF-8, or contains NUL.
    Binary,
    /// Its line ends are mixed, or it has a carriage return without a line feed.
    MixedLineEnds,
}

/// Splits a file into lines.
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
    // The text after the last line end is not a line, and an empty file has none.
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
