//! Git's names for contents.

use sha1::{Digest as _, Sha1};

/// The name of a blob in a repository that uses SHA-1.
/// <https://git-scm.com/book/en/v2/Git-Internals-Git-Objects#_object_storage>
pub(crate) fn object_name(bytes: &[u8]) -> String {
    let mut hash = Sha1::new();
    hash.update(format!("blob {}\0", bytes.len()));
    hash.update(bytes);
    hex::encode(hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_named_as_git_names_them() {
        assert_eq!(object_name(b""), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        assert_eq!(object_name(b"hello\n"), "ce013625030ba8dba906f756967f9e9ca394464a");
    }
}
