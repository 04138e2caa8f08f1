//! Finds the log of one job in the archive of a run's logs:
//! <https://docs.github.com/en/rest/actions/workflow-runs#download-workflow-run-logs>
//!
//! Names in the archive are only compared, never used as paths. Entries are unpacked as a stream, so the size that an
//! entry claims does not matter. The archive's central directory is read up to a bound.

use std::cell::Cell;
use std::io::{self, Read, Seek, SeekFrom};

use zip::ZipArchive;

use super::{Distillate, Distiller};

/// Bytes that may be read to list the entries; enough for about ten thousand.
const MAX_DIRECTORY: u64 = 2 << 20;
/// Maximum number of files that one job's log may be split into.
const MAX_STEPS: usize = 1_000;

/// Distils the log of a job from the archive of its run's logs. `None` if the archive has no log of that job.
///
/// # Errors
/// When it is not an archive, or is crafted to be expensive to read.
pub fn distil_archive(
    archive: impl Read + Seek,
    job: &str,
    mut distiller: Distiller,
) -> io::Result<Option<Distillate>> {
    let left = Cell::new(MAX_DIRECTORY);
    let metered = Metered {
        inner: archive,
        left: &left,
    };
    let mut archive = ZipArchive::new(metered).map_err(io::Error::other)?;
    let entries = entries(&archive, job);
    for index in &entries {
        // From here on, the distiller's own bound applies.
        left.set(u64::MAX);
        let mut entry = archive.by_index(*index).map_err(io::Error::other)?;
        if let Err(error) = distiller.take_all(&mut entry) {
            distiller.note(&format!("the log archive is broken: {}", error.kind()));
            break;
        }
        distiller.end_line();
    }
    Ok((!entries.is_empty()).then(|| distiller.finish()))
}

/// The entries of a job: the single file with the whole log if there is one, else its steps' files in order.
fn entries<R: Read + Seek>(archive: &ZipArchive<R>, job: &str) -> Vec<usize> {
    let job = letters(job);
    let mut steps: Vec<(u64, usize)> = Vec::new();
    for index in 0..archive.len() {
        let Some(Ok(name)) = archive.name_for_index(index) else {
            continue;
        };
        let Some(name) = name.strip_suffix(".txt") else {
            continue;
        };
        let numbered = |name: &str| {
            let (number, rest) = name.split_once('_')?;
            Some((number.parse::<u64>().ok()?, letters(rest)))
        };
        match name.split_once('/') {
            None if numbered(name).is_some_and(|(_, name)| name == job) => return vec![index],
            Some((folder, step)) if letters(folder) == job && steps.len() < MAX_STEPS => {
                steps.extend(numbered(step).map(|(number, _)| (number, index)));
            }
            _ => {}
        }
    }
    steps.sort_unstable();
    steps.into_iter().map(|(_, index)| index).collect()
}

/// GitHub does not document which characters of a job's name it keeps in an archive; letters and digits are kept.
fn letters(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).collect()
}

/// A reader that fails after a fixed number of bytes.
struct Metered<'a, R> {
    inner: R,
    left: &'a Cell<u64>,
}

impl<R: Read> Read for Metered<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(into)?;
        self.left.set(self.left.get().saturating_sub(count as u64));
        if self.left.get() == 0 {
            return Err(io::Error::other("the central directory of the archive is too long"));
        }
        Ok(count)
    }
}

impl<R: Seek> Seek for Metered<'_, R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}
