//! The output that a command leaves behind for parsing.

use crate::junit;

/// A file that a framework was told to write its results to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Relative to the command's working directory.
    pub path: String,
    /// Empty if the file exists but cannot be read: it is too large, empty, or not an ordinary file.
    pub bytes: Vec<u8>,
}

/// All output that a command leaves behind for parsing.
#[derive(Debug, Clone, Copy)]
pub struct Printed<'a> {
    /// Both output streams, cleaned.
    pub text: &'a str,
    /// Reports, which take precedence over the text.
    pub reports: &'a [Report],
}

/// Whether a report is complete XML or JSON. A report without content could not be read.
pub fn is_whole(report: &Report) -> bool {
    match report.bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None => false,
        Some(b'<' | 0xef | 0xfe | 0xff) => junit::is_whole(&report.bytes),
        // One document, or one on each line.
        Some(b'{' | b'[') => {
            let values = serde_json::Deserializer::from_slice(&report.bytes).into_iter::<serde::de::IgnoredAny>();
            values.take(1_000_000).all(|value| value.is_ok())
        }
        Some(_) => false,
    }
}
