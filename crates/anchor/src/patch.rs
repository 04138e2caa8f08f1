//! A change to a tree, kept as whole file contents, so that its result is unambiguous.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::path::RepoPath;

/// How git stores an entry of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileMode {
    /// An ordinary file.
    Regular,
    /// An executable file.
    Executable,
    /// A symbolic link; its content is the target.
    Symlink,
}

impl FileMode {
    /// The octal form that git and GitHub's git data API use.
    pub fn octal(self) -> &'static str {
        match self {
            Self::Regular => "100644",
            Self::Executable => "100755",
            Self::Symlink => "120000",
        }
    }
}

/// The content of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blob {
    /// Its mode in git.
    pub mode: FileMode,
    /// The complete content.
    #[serde(with = "text_or_base64")]
    pub bytes: Vec<u8>,
}

impl Blob {
    /// An ordinary file.
    pub fn regular(bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            mode: FileMode::Regular,
            bytes: bytes.into(),
        }
    }

    /// The text, if it is UTF-8 without NUL, so that it can be shown and suggested.
    pub fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.bytes)
            .ok()
            .filter(|text| !text.contains('\0'))
    }
}

/// One file before and after; at least one side exists, and they differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// `None` if the change creates the file.
    pub before: Option<Blob>,
    /// `None` if the change deletes the file.
    pub after: Option<Blob>,
}

/// A change to a tree, ordered by path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Patch {
    files: BTreeMap<RepoPath, FileChange>,
}

impl Patch {
    /// Collects changes, without those that leave a file as it is.
    pub fn new(changes: impl IntoIterator<Item = (RepoPath, FileChange)>) -> Self {
        Self {
            files: changes
                .into_iter()
                .filter(|(_, change)| change.before != change.after)
                .collect(),
        }
    }

    /// Every file with its change.
    pub fn files(&self) -> impl Iterator<Item = (&RepoPath, &FileChange)> {
        self.files.iter()
    }

    /// The paths of the files that change.
    pub fn paths(&self) -> impl Iterator<Item = &RepoPath> {
        self.files.keys()
    }

    /// Whether the patch is empty.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The number of removed and added lines.
    pub fn changed_lines(&self) -> usize {
        self.files
            .values()
            .map(|change| {
                let (before, after) = (lossy(change.before.as_ref()), lossy(change.after.as_ref()));
                similar::TextDiff::from_lines(&before, &after)
                    .iter_all_changes()
                    .filter(|change| change.tag() != similar::ChangeTag::Equal)
                    .count()
            })
            .sum()
    }

    /// SHA-256 over every path, mode and byte on both sides, in hex. An approval is bound to it.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        let mut field = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_be_bytes());
            hash.update(bytes);
        };
        for (path, change) in &self.files {
            field(path.as_str().as_bytes());
            for side in [&change.before, &change.after] {
                match side {
                    None => field(b"absent"),
                    Some(blob) => {
                        field(blob.mode.octal().as_bytes());
                        field(&blob.bytes);
                    }
                }
            }
        }
        hex::encode(hash.finalize())
    }
}

fn lossy(blob: Option<&Blob>) -> String {
    blob.map(|blob| String::from_utf8_lossy(&blob.bytes).into_owned())
        .unwrap_or_default()
}

/// Serialises text as text, so that people can read a journal, and other bytes as base64.
mod text_or_base64 {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Form {
        Text(String),
        Base64(String),
    }

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Form::Text(text.into()),
            Err(_) => Form::Base64(STANDARD.encode(bytes)),
        }
        .serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        match Form::deserialize(deserializer)? {
            Form::Text(text) => Ok(text.into_bytes()),
            Form::Base64(text) => STANDARD.decode(text).map_err(D::Error::custom),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(before: &str, after: &str) -> Patch {
        Patch::new([(
            "src/a.rs".parse().unwrap(),
            FileChange {
                before: Some(Blob::regular(before)),
                after: Some(Blob::regular(after)),
            },
        )])
    }

    #[test]
    fn a_change_that_changes_nothing_is_no_change() {
        assert!(change("a\n", "a\n").is_empty());
    }

    #[test]
    fn the_digest_tells_every_byte_and_mode() {
        let one = change("a\n", "b\n");
        assert_ne!(one.digest(), change("a\n", "b").digest());
        assert_ne!(one.digest(), change("a", "\nb\n").digest());
        assert_eq!(one.digest(), change("a\n", "b\n").digest());
    }

    #[test]
    fn the_diff_is_what_git_apply_takes() {
        insta::assert_snapshot!(change("a\nb\nc\n", "a\nB\nc\n").unified(), @r"
        diff --git a/src/a.rs b/src/a.rs
        --- a/src/a.rs
        +++ b/src/a.rs
        @@ -1,3 +1,3 @@
         a
        -b
        +B
         c
        ");
        assert_eq!(change("a\nb\n", "a\nc").changed_lines(), 2);
    }

    #[test]
    fn a_journal_keeps_bytes_that_are_no_text() {
        let patch = Patch::new([(
            "x.bin".parse().unwrap(),
            FileChange {
                before: None,
                after: Some(Blob::regular(vec![0xff, 0])),
            },
        )]);
        let json = serde_json::to_string(&patch).unwrap();
        assert_eq!(serde_json::from_str::<Patch>(&json).unwrap(), patch);
    }
}
