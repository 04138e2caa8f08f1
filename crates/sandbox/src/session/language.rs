//! The interpreters that a session supports: how each is started, and how code is sent to it. Each driver documents
//! how it runs the code.

use std::ffi::OsString;
use std::fmt::Write;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The language of a session's cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// `python3`.
    Python,
    /// `node`.
    Node,
    /// `bash`.
    Bash,
}

impl Language {
    /// The driver script: its name and content.
    pub(super) fn driver(self) -> (&'static str, &'static str) {
        match self {
            Self::Python => ("driver.py", include_str!("driver.py")),
            Self::Node => ("driver.js", include_str!("driver.js")),
            Self::Bash => ("driver.sh", include_str!("driver.sh")),
        }
    }

    /// The command that runs the driver from the directory that also has its pipes.
    pub(super) fn argv(self, directory: &Path) -> Vec<OsString> {
        let interpreter: &[&str] = match self {
            // Unbuffered, so that output before a kill is not lost.
            Self::Python => &["python3", "-u"],
            Self::Node => &["node", "--expose-internals"],
            Self::Bash => &["bash", "--norc", "--noprofile"],
        };
        let driver = directory.join(self.driver().0);
        let mut argv: Vec<OsString> = interpreter.iter().map(Into::into).collect();
        argv.extend([driver.into(), directory.into()]);
        argv
    }

    /// Whether code of its cells can call greenlight.
    pub(super) fn has_calls(self) -> bool {
        self == Self::Python
    }

    /// The code on one line.
    pub(super) fn encode(self, code: &str) -> String {
        match self {
            Self::Python | Self::Node => STANDARD.encode(code),
            Self::Bash => escape(code),
        }
    }

    /// Decodes a driver's value.
    pub(super) fn decode(self, value: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Python | Self::Node => STANDARD.decode(value).ok(),
            // An exit code.
            Self::Bash => Some(value.to_owned()).filter(|code| code.len() <= 3 && code.iter().all(u8::is_ascii_digit)),
        }
    }
}

/// Escapes that bash decodes itself; it has no base64 without starting another program.
fn escape(code: &str) -> String {
    let mut line = String::with_capacity(code.len());
    for byte in code.bytes() {
        match byte {
            b'\\' => line.push_str("\\\\"),
            b'\n' => line.push_str("\\n"),
            b' '..=b'~' => line.push(byte.into()),
            // Writing to a string does not fail.
            other => drop(write!(line, "\\x{other:02x}")),
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_for_bash_is_one_line_of_ascii() {
        assert_eq!(
            Language::Bash.encode("a 'b' \\n\nä\t%"),
            "a 'b' \\\\n\\n\\xc3\\xa4\\x09%"
        );
    }

    #[test]
    fn only_an_exit_code_comes_from_bash() {
        assert_eq!(Language::Bash.decode(b"130"), Some(b"130".to_vec()));
        assert_eq!(Language::Bash.decode(b"1300"), None);
        assert_eq!(Language::Bash.decode(b"-1"), None);
    }
}
