//! What a command left behind to be read.

use crate::junit;

/// A file that a framework was asked to write its results to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Relative to where the command ran.
    pub path: String,
    /// Nothing where the file is there but cannot be taken: it is too large, empty, or no ordinary file.
    pub bytes: Vec<u8>,
}

/// Everything a command left behind to be read.
#[derive(Debug, Clone, Copy)]
pub struct Printed<'a> {
    /// Both output streams, cleaned.
    pub text: &'a str,
    /// Believed more than the text.
    pub reports: &'a [Report],
}

/// Whether a report is there to its end. One without content is one that could not be taken.
pub fn is_whole(report: &Report) -> bool {
    match report.bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None => false,
        Some(b'<' | 0xef | 0xfe | 0xff) => junit::is_whole(&report.bytes),
        // One document, or one on each line.
        Some(b'{' | b'[') => {
            let values = serde_json::Deserializer::from_slice(&report.bytes).into_iter::<serde::de::IgnoredAny>();
            values.take(1_000_000).all(|value| value.is_ok())
        }
        Some(_) => true,
    }
}
