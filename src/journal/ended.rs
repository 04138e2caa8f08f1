//! Files of runs on checkouts that are over. They are kept for lists and statistics, the newest ones only.

use std::fs::{self, DirEntry};
use std::io;
use std::path::Path;
use std::time::SystemTime;

use crate::domain::id::RunId;
use crate::private;

/// How many runs are kept, and how much room they take at most, in bytes.
const MAX_RUNS: usize = 200;
const MAX_BYTES: u64 = 64 << 20;

/// Moves the file of a run into `folder`, and removes the oldest ones there that exceed the limits.
///
/// # Errors
/// When the folder cannot be written to, or the file is too large to be kept.
pub(super) fn keep(file: &Path, (folder, run): (&Path, &RunId)) -> io::Result<()> {
    if fs::metadata(file)?.len() > MAX_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    private::folder(folder)?;
    fs::rename(file, folder.join(format!("{}.run.jsonl", run.0)))?;
    forget_oldest(folder, (MAX_RUNS, MAX_BYTES))
}

fn forget_oldest(folder: &Path, (max_runs, max_bytes): (usize, u64)) -> io::Result<()> {
    let mut files: Vec<(SystemTime, u64, DirEntry)> = fs::read_dir(folder)?
        .flatten()
        .filter_map(|entry| {
            let about = entry.metadata().ok()?;
            Some((about.modified().ok()?, about.len(), entry))
        })
        .collect();
    files.sort_by_key(|(modified, _, entry)| std::cmp::Reverse((*modified, entry.file_name())));
    let mut bytes = 0;
    for (number, (_, length, entry)) in files.iter().enumerate() {
        bytes += length;
        if number >= max_runs || bytes > max_bytes {
            // Another process may have removed it meanwhile.
            let _ = fs::remove_file(entry.path());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap().flatten();
        let mut names: Vec<String> = names.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn the_newest_runs_are_kept_within_both_limits() {
        let folder = tempfile::tempdir().unwrap();
        let ended = folder.path().join("ended");
        for number in 1..=5 {
            let file = folder.path().join("a.run.jsonl");
            fs::write(&file, "x".repeat(10)).unwrap();
            keep(&file, (&ended, &RunId(format!("local-{number}")))).unwrap();
            assert!(!file.exists());
            let at = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(number);
            let kept = fs::File::options()
                .write(true)
                .open(ended.join(format!("local-{number}.run.jsonl")));
            kept.unwrap().set_modified(at).unwrap();
        }
        forget_oldest(&ended, (4, 100)).unwrap();
        assert_eq!(names(&ended).len(), 4);
        forget_oldest(&ended, (4, 25)).unwrap();
        assert_eq!(names(&ended), ["local-4.run.jsonl", "local-5.run.jsonl"]);
    }
}
