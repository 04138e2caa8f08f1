//! Why a part of a patch is no suggestion.

use std::fmt;

use super::text::NoText;

/// A reason, as a review shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftOut {
    /// The file is new.
    New,
    /// The file is deleted.
    Deleted,
    /// It is a symbolic link.
    Link,
    /// The mode changes.
    Mode,
    /// The file is not text.
    Binary,
    /// Its lines end in different ways.
    LineEnds,
    /// The line end at the end of the file comes or goes.
    LastLineEnd,
    /// The diff does not have the file.
    NotInDiff,
    /// The diff is of another head.
    OtherHead,
    /// The diff does not show the lines.
    OutsideHunks,
    /// A comment does not keep a character, or nobody sees it.
    OddCharacters,
    /// It is longer than a comment may be.
    TooLong,
    /// There are more than a pull request may have.
    TooMany,
    /// What the suggestions come to is not the tested file.
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
