//! Why a part of a patch cannot be a suggestion.

use std::fmt;

use super::text::NoText;

/// The reason, which a review shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftOut {
    /// The file is new.
    New,
    /// The file is deleted.
    Deleted,
    /// The change is of a symbolic link.
    Link,
    /// The mode changes.
    Mode,
    /// The file is not text.
    Binary,
    /// The file mixes line endings.
    LineEnds,
    /// The file gains or loses its final line end.
    LastLineEnd,
    /// The diff does not contain the file.
    NotInDiff,
    /// The diff is for a different head.
    OtherHead,
    /// The diff does not show the lines.
    OutsideHunks,
    /// A comment would not keep one of the characters, or it is invisible.
    OddCharacters,
    /// It is too long for a comment.
    TooLong,
    /// There are too many for a pull request.
    TooMany,
    /// The suggestions do not produce the tested file.
    NotProved,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::New => "a new file",
            Self::Deleted => "deletes the file",
            Self::Link => "a symbolic link",
            Self::Mode => "changes the mode",
            Self::Binary => "not text",
            Self::LineEnds => "it mixes line endings",
            Self::LastLineEnd => "the newline at the end of the file changes",
            Self::NotInDiff => "not shown in the diff of this pull request",
            Self::OtherHead => "the diff shows different lines than the head has",
            Self::OutsideHunks => "lines that the diff does not show",
            Self::OddCharacters => "characters that a comment does not keep, or that are invisible",
            Self::TooLong => "too long for a comment",
            Self::TooMany => "more suggestions than fit on a pull request",
            Self::NotProved => "committing the suggestions would not give the tested file",
        })
    }
}

impl From<NoText> for LeftOut {
    fn from(reason: NoText) -> Self {
        match reason {
            NoText::Binary => Self::Binary,
            NoText::MixedLineEnds => Self::LineEnds,
        }
    }
}
