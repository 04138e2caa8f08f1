//! The image of every container: an archive with a few empty directories and the links of the root directory. It does
//! not come from a registry.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// The size of archive blocks, and of half the end marker, see
/// <https://pubs.opengroup.org/onlinepubs/9799919799/utilities/pax.html>.
const BLOCK: usize = 512;

/// An image to import.
pub(super) struct Image {
    /// Unique for each content.
    pub(super) name: String,
    pub(super) archive: Vec<u8>,
}

impl Image {
    /// An image with these links, given by path and target.
    ///
    /// # Errors
    /// When a name is too long for an archive.
    pub(super) fn with(links: &BTreeMap<PathBuf, PathBuf>) -> io::Result<Self> {
        let mut archive = Vec::new();
        for directory in ["etc", "run", "var"] {
            archive.extend(header(Path::new(directory), None)?);
        }
        archive.extend(header(Path::new("var/tmp"), Some(Path::new("/tmp")))?);
        for (link, content) in links {
            archive.extend(header(link, Some(content))?);
        }
        archive.resize(archive.len() + 2 * BLOCK, 0);
        let digest = hex::encode(Sha256::digest(&archive));
        let tag = format!("{}-{}", env!("CARGO_PKG_VERSION"), &digest[..12]);
        Ok(Self {
            // The registry `localhost` is this machine, so no engine looks for the image elsewhere.
            name: format!("localhost/greenlight-empty:{tag}"),
            archive,
        })
    }
}

/// The header of a directory, or of a link with this target.
fn header(path: &Path, link: Option<&Path>) -> io::Result<[u8; BLOCK]> {
    let mut block = [0; BLOCK];
    let path = path.strip_prefix("/").unwrap_or(path);
    let mut put = |at: usize, room: usize, bytes: &[u8]| -> io::Result<()> {
        if bytes.len() > room {
            return Err(io::Error::other(format!("{} is too long for an image", path.display())));
        }
        block[at..at + bytes.len()].copy_from_slice(bytes);
        Ok(())
    };
    put(0, 100, path.as_os_str().as_bytes())?;
    put(100, 8, b"0000755\0")?;
    put(108, 8, b"0000000\0")?;
    put(116, 8, b"0000000\0")?;
    put(124, 12, b"00000000000\0")?;
    put(136, 12, b"00000000000\0")?;
    // The checksum is computed as if its field were blank.
    put(148, 8, b"        ")?;
    put(156, 1, if link.is_some() { b"2" } else { b"5" })?;
    put(157, 100, link.unwrap_or(Path::new("")).as_os_str().as_bytes())?;
    put(257, 8, b"ustar\x0000")?;
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    Ok(block)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_content_has_a_different_name() {
        let one = Image::with(&BTreeMap::from([("/bin".into(), "usr/bin".into())])).unwrap();
        let other = Image::with(&BTreeMap::from([("/bin".into(), "usr/sbin".into())])).unwrap();
        assert_ne!(one.name, other.name);
        assert_eq!(one.archive.len(), 7 * BLOCK);
        assert!(one.archive.starts_with(b"etc\0"));
    }

    #[test]
    fn a_name_that_does_not_fit_is_refused() {
        let long = PathBuf::from("/").join("x".repeat(101));
        assert!(Image::with(&BTreeMap::from([(long, "y".into())])).is_err());
    }
}
