//! The name of a JavaScript or TypeScript test in its results: a file, the suites in it and the test (`a.test.js >
//! basket > sums`), or the same without the file.

use greenlight_anchor::RepoPath;

/// Separates the parts of a name.
const BETWEEN: &str = " > ";

/// Extensions of files that may contain tests.
const ENDS: [&str; 8] = [".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"];

/// The name of a test, split into its parts.
pub(crate) struct Name<'a> {
    pub(crate) file: Option<&'a str>,
    pub(crate) parts: Vec<&'a str>,
}

impl<'a> Name<'a> {
    pub(crate) fn of(name: &'a str) -> Self {
        let (file, rest) = match name.split_once(BETWEEN) {
            Some((file, rest)) if is_plain(file) => (Some(file), rest),
            _ => (None, name),
        };
        Self {
            file,
            parts: rest.split(BETWEEN).collect(),
        }
    }
}

/// Whether this can only be a source file, and never an option or a pattern.
pub(crate) fn is_plain(file: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | '@');
    ENDS.iter().any(|end| file.ends_with(end))
        && file.chars().all(plain)
        && file.parse::<RepoPath>().is_ok()
        && !file.starts_with(['-', '@'])
}
