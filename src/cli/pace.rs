//! How long the tests and the installation of a checkout took last time, for estimates. Nothing else relies on it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::private;

/// The name under which installations are kept; test commands have their own.
pub(super) const INSTALLATION: &str = "";
/// A larger file is ignored, in bytes.
const MAX_FILE: u64 = 64 << 10;
/// The most commands that are kept.
const MAX_KEPT: usize = 50;

/// What is known about one command, in a file beside the installed packages of a checkout.
#[derive(Debug, Clone)]
pub(super) struct Pace {
    file: PathBuf,
    what: String,
}

impl Pace {
    /// Of a test command, or of the [`INSTALLATION`], in the checkout with these packages.
    pub(super) fn of(packages: &Path, what: &str) -> Self {
        Self {
            file: packages.with_extension("pace.json"),
            what: what.into(),
        }
    }

    /// How long it took last time. `None` if nobody knows.
    pub(super) fn last(&self) -> Option<Duration> {
        let known = self.read().ok()?;
        known.get(&self.what).map(|millis| Duration::from_millis(*millis))
    }

    /// Notes how many milliseconds it took.
    pub(super) fn note(&self, took: u64) {
        // Without the file there is no estimate the next time.
        let _cannot_be_kept = self.write(took);
    }

    fn read(&self) -> io::Result<BTreeMap<String, u64>> {
        let mut text = String::new();
        File::open(&self.file)?.take(MAX_FILE).read_to_string(&mut text)?;
        Ok(serde_json::from_str(&text)?)
    }

    fn write(&self, took: u64) -> io::Result<()> {
        let mut known = self.read().unwrap_or_default();
        if known.len() >= MAX_KEPT {
            known.clear();
        }
        known.insert(self.what.clone(), took);
        private::folder(self.file.parent().unwrap_or(Path::new(".")))?;
        private::replace(&self.file, &serde_json::to_vec(&known)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_is_known_and_what_is_damaged_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let packages = folder.path().join("kept/packages");
        let of = |what: &str| Pace::of(&packages, what);
        assert_eq!(of("pytest").last(), None);
        of("pytest").note(1_500);
        of(INSTALLATION).note(9_000);
        assert_eq!(of("pytest").last(), Some(Duration::from_millis(1_500)));
        assert_eq!(of(INSTALLATION).last(), Some(Duration::from_secs(9)));
        for command in 0..=MAX_KEPT {
            of(&format!("make {command}")).note(1_000);
        }
        assert!(of("").read().unwrap().len() <= MAX_KEPT);
        std::fs::write(&of("").file, "{").unwrap();
        assert_eq!(of("pytest").last(), None);
    }
}
