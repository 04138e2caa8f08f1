//! Tells the program what `greenlight --version` prints: the version, and in a release build from a git checkout also the
//! commit. Tells the linker how to make the program small and quick to start.
//!
//! A development build does not name its commit, because every commit would compile the whole program again. Git is not
//! run: its files say enough.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let mut version = env!("CARGO_PKG_VERSION").to_owned();
    let is_release = std::env::var_os("PROFILE").as_deref() == Some(OsStr::new("release"));
    if let Some(argument) = link_argument(is_release) {
        println!("cargo::rustc-link-arg-bins={argument}");
    }
    if is_release {
        let (commit, read) = commit(Path::new("."));
        for file in read {
            println!("cargo::rerun-if-changed={}", file.display());
        }
        if let Some(short) = commit.as_deref().and_then(|commit| commit.get(..10)) {
            version = format!("{version} ({short})");
        }
    }
    println!("cargo::rustc-env=GREENLIGHT_VERSION={version}");
}

/// An extra argument for the linker. `None` for other platforms, and when cross-compiling.
///
/// Releases pack their relative relocations, which saves megabytes; the loader of the GNU C library supports that since
/// version 2.36. Tests start a development build thousands of times, and half of that time went into relocations, so it
/// has a fixed address instead.
fn link_argument(is_release: bool) -> Option<&'static str> {
    let is = |name: &str, value: &str| std::env::var_os(name).as_deref() == Some(OsStr::new(value));
    let is_here = std::env::var_os("HOST") == std::env::var_os("TARGET");
    if !is_here || !is("CARGO_CFG_TARGET_OS", "linux") || !is("CARGO_CFG_TARGET_ENV", "gnu") {
        return None;
    }
    if !is_release {
        return Some("-no-pie");
    }
    #[expect(clippy::disallowed_methods, reason = "the build runs no untrusted code")]
    let said = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let said = String::from_utf8(said.stdout).ok()?;
    let (major, minor) = said.trim().strip_prefix("glibc ")?.split_once('.')?;
    let version: (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
    (version >= (2, 36)).then_some("-Wl,-z,pack-relative-relocs")
}

/// The checked-out commit of the repository whose top this is, and the files that say so. `None` if it is not the top of
/// one.
pub(crate) fn commit(top: &Path) -> (Option<String>, Vec<PathBuf>) {
    let mut read = Vec::new();
    let commit = git_folder(top).and_then(|git| {
        let shared = text(&git.join("commondir")).map_or_else(|| git.clone(), |path| git.join(path));
        read.push(git.join("HEAD"));
        let head = text(&git.join("HEAD"))?;
        let Some(name) = head.strip_prefix("ref: ") else {
            return Some(head);
        };
        let (loose, packed) = (shared.join(name), shared.join("packed-refs"));
        let of_packed = |refs: String| {
            let mut lines = refs.lines().filter_map(|line| line.split_once(' '));
            lines
                .find(|(_, other)| *other == name)
                .map(|(commit, _)| commit.to_owned())
        };
        let commit = text(&loose).or_else(|| text(&packed).and_then(of_packed));
        // The log changes with every commit, also if that makes the first loose file. A missing file would count as
        // changed in every build.
        let files = [loose, packed, git.join("logs/HEAD")];
        read.extend(files.into_iter().filter(|file| file.exists()));
        commit
    });
    let is_name = |commit: &String| commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    (commit.filter(is_name), read)
}

/// `.git`, or the folder that it names in a linked work tree.
fn git_folder(top: &Path) -> Option<PathBuf> {
    let git = top.join(".git");
    match git.is_dir() {
        true => Some(git),
        false => Some(top.join(text(&git)?.strip_prefix("gitdir: ")?)),
    }
}

fn text(file: &Path) -> Option<String> {
    Some(fs::read_to_string(file).ok()?.trim().to_owned())
}
