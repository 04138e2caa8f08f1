//! Who posted a review. Several sources may post on one head, and none withdraws another's suggestions.

use std::fmt;
use std::str::FromStr;

/// The longest name.
const MAX_NAME: usize = 32;

/// Who posts a review.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Source {
    /// The runs of a pull request.
    #[default]
    Run,
    /// A patch that somebody supplied, under a name such as that of a formatter or a linter.
    Given(Name),
}

/// A name of lower-case letters, digits and hyphens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name(String);

/// Not a valid name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a name has at most {MAX_NAME} lower-case letters, digits and hyphens")]
pub struct InvalidName;

impl FromStr for Name {
    type Err = InvalidName;
    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        // Two hyphens would end the HTML comment that contains the marker.
        if (1..=MAX_NAME).contains(&text.len()) && text.bytes().all(fits) && !text.contains("--") {
            Ok(Self(text.into()))
        } else {
            Err(InvalidName)
        }
    }
}

/// How a marker contains it.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run => Ok(()),
            Self::Given(Name(name)) => write!(f, " by={name}"),
        }
    }
}

impl Source {
    /// Parses it from a marker.
    pub(super) fn read(text: &str) -> Option<Self> {
        match text.strip_prefix(" by=") {
            Some(name) => Some(Self::Given(name.parse().ok()?)),
            None => text.is_empty().then_some(Self::Run),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_is_read_back_and_nothing_else() {
        let given = Source::Given("rust-fmt".parse().unwrap());
        for source in [Source::Run, given] {
            assert_eq!(Source::read(&source.to_string()), Some(source));
        }
        for other in [" by=", " by=A", " by=a b", " by=a--b", "by=a", " x", " by=a -->"] {
            assert_eq!(Source::read(other), None, "{other}");
        }
        assert!("a".repeat(33).parse::<Name>().is_err());
    }
}
