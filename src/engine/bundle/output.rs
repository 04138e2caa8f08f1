//! Where a bundle is written to.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use zip::ZipArchive;

use super::MANIFEST;

/// Whether a bundle may take a file's place: there is none, or it is a bundle.
///
/// # Errors
/// When something else is there.
pub fn may_write(file: &Path) -> io::Result<()> {
    let is_bundle = || {
        let archive = ZipArchive::new(File::open(file).ok()?).ok()?;
        archive.index_for_name(MANIFEST)
    };
    if file.symlink_metadata().is_err() || is_bundle().is_some() {
        return Ok(());
    }
    let exists = format!("{} exists and is not a recorded run; name another file", file.display());
    Err(io::Error::new(io::ErrorKind::AlreadyExists, exists))
}

/// A file that takes everything after its first error: the library that writes archives prints to standard error if it
/// cannot finish one.
pub(super) struct Output<'a> {
    file: &'a mut File,
    failed: Option<io::Error>,
}

impl<'a> Output<'a> {
    pub(super) fn new(file: &'a mut File) -> Self {
        Self { file, failed: None }
    }

    /// The first error, if there was one.
    pub(super) fn done(self) -> io::Result<()> {
        self.failed.map_or(Ok(()), Err)
    }

    fn trying<T>(&mut self, otherwise: T, act: impl FnOnce(&mut File) -> io::Result<T>) -> io::Result<T> {
        if self.failed.is_some() {
            return Ok(otherwise);
        }
        match act(self.file) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                self.failed = Some(error);
                Ok(otherwise)
            }
            done => done,
        }
    }
}

impl Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.trying(bytes.len(), |file| file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.trying((), File::flush)
    }
}

impl Seek for Output<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.trying(0, |file| file.seek(to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_bundle_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("run.zip");
        may_write(&file).unwrap();
        std::fs::write(&file, "def fare(): pass\n").unwrap();
        let error = may_write(&file).unwrap_err().to_string();
        assert!(error.contains("is not a recorded run"), "{error}");
        assert!(may_write(folder.path()).is_err());
        let mut archive = zip::ZipWriter::new(File::create(&file).unwrap());
        archive
            .start_file(MANIFEST, zip::write::SimpleFileOptions::default())
            .unwrap();
        archive.finish().unwrap();
        may_write(&file).unwrap();
    }

    #[test]
    fn the_first_error_is_kept_and_nothing_else_fails() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("read-only");
        std::fs::write(&path, "").unwrap();
        let mut file = File::open(&path).unwrap();
        let mut output = Output::new(&mut file);
        assert_eq!(output.write(b"abc").unwrap(), 3);
        output.flush().unwrap();
        assert!(output.done().is_err());
    }
}
