//! The fingerprint of a suggestion, which stays the same when its lines move: it covers the file, the replaced lines
//! and the replacement.
//!
//! Two suggestions with the same change of equal lines share a fingerprint; their line numbers tell them apart.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use super::Suggestion;

/// How many hexadecimal digits of the hash are kept. A pull request has a few hundred suggestions at most.
const DIGITS: usize = 12;

/// SHA-256 over path, replaced lines and replacement, shortened.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// The fingerprint of a suggestion for the file with this content. Line ends and line numbers do not matter.
    pub fn of(suggestion: &Suggestion, file: &[u8]) -> Self {
        let mut hash = Sha256::new();
        let mut field = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_be_bytes());
            hash.update(bytes);
        };
        field(suggestion.path.as_str().as_bytes());
        field(suggestion.replacement.as_bytes());
        let start = (suggestion.start_line as usize).saturating_sub(1);
        let count = (suggestion.line as usize).saturating_sub(start);
        for line in lines(file).into_iter().skip(start).take(count) {
            field(line);
        }
        let mut digits = hex::encode(hash.finalize());
        digits.truncate(DIGITS);
        Self(digits)
    }
}

/// The lines of a file without their ends, `\n` or `\r\n`.
pub(super) fn lines(file: &[u8]) -> Vec<&[u8]> {
    file.split_inclusive(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\n").unwrap_or(line))
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .collect()
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A text that is not a fingerprint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a fingerprint has {DIGITS} lower-case hexadecimal digits")]
pub struct InvalidFingerprint;

impl FromStr for Fingerprint {
    type Err = InvalidFingerprint;
    fn from_str(text: &str) -> Result<Self, InvalidFingerprint> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (text.len() == DIGITS && text.bytes().all(is_digit))
            .then(|| Self(text.into()))
            .ok_or(InvalidFingerprint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suggestion(path: &str, start_line: u32, line: u32, replacement: &str) -> Suggestion {
        Suggestion {
            path: path.parse().unwrap(),
            start_line,
            line,
            replacement: replacement.into(),
        }
    }

    #[test]
    fn it_stays_when_lines_move_and_when_line_ends_change() {
        let here = Fingerprint::of(&suggestion("a", 2, 3, "x\n"), b"1\n2\n3\n");
        assert_eq!(here, Fingerprint::of(&suggestion("a", 3, 4, "x\n"), b"0\n1\n2\n3\n4\n"));
        assert_eq!(here, Fingerprint::of(&suggestion("a", 2, 3, "x\n"), b"1\r\n2\r\n3"));
        assert_eq!(here.to_string().parse(), Ok(here));
    }

    #[test]
    fn it_tells_path_lines_and_replacement_apart() {
        let file = b"1\n2\n3\n";
        let here = Fingerprint::of(&suggestion("a", 2, 2, "x\n"), file);
        for other in [
            suggestion("b", 2, 2, "x\n"),
            suggestion("a", 2, 2, "y\n"),
            suggestion("a", 2, 3, "x\n"),
            suggestion("a", 1, 1, "x\n"),
            suggestion("a", 2, 2, ""),
        ] {
            assert_ne!(here, Fingerprint::of(&other, file), "{other:?}");
        }
        for bad in ["", "0123456789a", "0123456789abc", "0123456789aB", "0123456789a-"] {
            assert_eq!(bad.parse::<Fingerprint>(), Err(InvalidFingerprint));
        }
    }
}
