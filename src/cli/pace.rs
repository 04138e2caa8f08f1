//! How long the tests and the installation of a checkout took last time, for estimates. Nothing else relies on it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::private;

/// The name under which installations are kept; test commands have their own.
pub(super) const INSTALLATION: &str = "";
/// A larger file is ignored, in bytes.
const MAX_FILE: u64 = 64 << 10;
/// The most commands that are kept.
const MAX_KEPT: usize = 50;

/// A file beside the installed packages of a checkout.
#[derive(Debug, Clone)]
pub(super) struct Pace(PathBuf);

impl Pace {
    /// The one of the checkout with these packages.
    pub(super) fn of(packages: &Path) -> Self {
        Self(packages.with_extension("pace.json"))
    }

    /// How long this took last time. `None` if nobody knows.
    pub(super) fn last(&self, what: &str) -> Option<Duration> {
        let known = self.read().ok()?;
        known.get(what).map(|millis| Duration::from_millis(*millis))
    }

    /// Notes how many milliseconds this took.
    pub(super) fn note(&self, what: &str, took: u64) {
        // Without the file there is no estimate the next time.
        let _cannot_be_kept = self.write(what, took);
    }

    fn read(&self) -> io::Result<BTreeMap<String, u64>> {
        let mut text = String::new();
        File::open(&self.0)?.take(MAX_FILE).read_to_string(&mut text)?;
        Ok(serde_json::from_str(&text)?)
    }

    fn write(&self, what: &str, took: u64) -> io::Result<()> {
        let mut known = self.read().unwrap_or_default();
        if known.len() >= MAX_KEPT {
            known.clear();
        }
        known.insert(what.into(), took);
        let folder = self.0.parent().unwrap_or(Path::new("."));
        private::folder(folder)?;
        let mut place = tempfile::NamedTempFile::new_in(folder)?;
        place.write_all(&serde_json::to_vec(&known)?)?;
        place.persist(&self.0).map_err(|error| error.error)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_is_known_and_what_is_damaged_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let pace = Pace::of(&folder.path().join("kept/packages"));
        assert_eq!(pace.last("pytest"), None);
        pace.note("pytest", 1_500);
        pace.note(INSTALLATION, 9_000);
        assert_eq!(pace.last("pytest"), Some(Duration::from_millis(1_500)));
        assert_eq!(pace.last(INSTALLATION), Some(Duration::from_secs(9)));
        for command in 0..=MAX_KEPT {
            pace.note(&format!("make {command}"), 1_000);
        }
        assert!(pace.read().unwrap().len() <= MAX_KEPT);
        std::fs::write(&pace.0, "{").unwrap();
        assert_eq!(pace.last("pytest"), None);
    }
}
