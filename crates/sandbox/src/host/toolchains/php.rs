//! The settings that load PHP's extensions. Without them, PHPUnit does not start.
//!
//! Other settings of PHP are never shown: some contain licence keys and passwords.

use std::fs;
use std::path::{Path, PathBuf};

/// The largest file of settings that is read. Those of extensions have a few lines.
const MAX_BYTES: u64 = 4_096;
/// How many files are read.
const MAX_FILES: usize = 500;

/// The files that do nothing but load extensions of the PHP for the command line: on Debian, on Fedora, on Arch, and in
/// Docker's images.
pub(super) fn extensions() -> Vec<PathBuf> {
    let versions = fs::read_dir("/etc/php").into_iter().flatten().flatten();
    let debian = versions.map(|version| version.path().join("cli/conf.d"));
    let others = ["/etc/php.d", "/etc/php/conf.d", "/usr/local/etc/php/conf.d"];
    let folders = debian.chain(others.into_iter().map(PathBuf::from));
    folders.flat_map(|folder| of_folder(&folder)).take(MAX_FILES).collect()
}

fn of_folder(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = files.take(MAX_FILES).map(|file| file.path()).collect();
    files.retain(|file| {
        let is_small = file
            .metadata()
            .is_ok_and(|metadata| metadata.is_file() && metadata.len() <= MAX_BYTES);
        is_small && fs::read_to_string(file).is_ok_and(|text| only_loads(&text))
    });
    files.sort();
    files
}

/// Whether settings load extensions and do nothing else.
fn only_loads(text: &str) -> bool {
    text.lines().all(|line| {
        let line = line.trim();
        let (name, value) = line.split_once('=').unwrap_or((line, ""));
        let is_load = matches!(name.trim(), "extension" | "zend_extension");
        let is_plain = value
            .trim()
            .trim_matches('"')
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/'));
        line.is_empty() || line.starts_with(';') || (is_load && is_plain)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_settings_that_load_extensions_are_shown() {
        #[track_caller]
        fn check(text: &str, expected: bool) {
            assert_eq!(only_loads(text), expected, "{text}");
        }
        check(
            "; configuration for php xml module\n; priority=15\nextension=dom.so\n",
            true,
        );
        check("zend_extension = \"/usr/lib/php/20220829/opcache.so\"\n", true);
        check("extension=newrelic.so\nnewrelic.license = \"0123456789\"\n", false);
        check("extension=mysqli.so\nmysqli.default_pw=secret\n", false);
        check("extension=a.so user:password@host\n", false);
        check("session.save_path = tcp://redis:6379?auth=secret\n", false);
    }

    #[test]
    fn links_and_pipes_are_no_settings() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("dom.ini"), "extension=dom.so\n").unwrap();
        fs::write(path("key.ini"), "key=1\n").unwrap();
        fs::write(path("large.ini"), ";\n".repeat(4_096)).unwrap();
        std::os::unix::fs::symlink(path("dom.ini"), path("10-dom.ini")).unwrap();
        std::os::unix::fs::symlink("/nothing/here", path("gone.ini")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(path("socket.ini")).unwrap();
        assert_eq!(of_folder(folder.path()), [path("10-dom.ini"), path("dom.ini")]);
        assert!(of_folder(Path::new("/nothing/here")).is_empty());
    }
}
