//! Tests of shell scripts (Bats) and of Perl, which print the Test Anything Protocol.

use super::file_name;
use crate::discover::directory::Directory;
use crate::framework::Framework;
use crate::test_command::TestCommand;

pub(super) fn find(place: &Directory<'_>) -> Option<TestCommand> {
    bats(place).or_else(|| perl(place))
}

fn bats(place: &Directory<'_>) -> Option<TestCommand> {
    let foreign = |path: &str| {
        path.split('/')
            .any(|part| matches!(part, "vendor" | "node_modules" | "bats" | "fixtures"))
    };
    let files: Vec<&str> = place
        .files()
        .filter(|path| path.ends_with(".bats") && !foreign(path) && is_of_tests(&place.path(path)))
        .collect();
    let first = files.first()?;
    let top = first.split_once('/').map_or(".", |(top, _)| top);
    let is_nested = files
        .iter()
        .any(|path| path.starts_with(top) && path.split('/').count() > 2);
    let argv: &[&str] = if is_nested {
        &["bats", "--tap", "-r", top]
    } else {
        &["bats", "--tap", top]
    };
    place.command(argv, Framework::Tap, first)
}

/// Whether a file is at the root, or in a folder that is named after tests. Others are examples, or data of a tool for
/// shell scripts.
fn is_of_tests(path: &str) -> bool {
    let Some((folders, _)) = path.rsplit_once('/') else {
        return true;
    };
    let mut folders = folders.split('/');
    folders.any(|folder| folder == "t" || ["test", "spec"].iter().any(|word| folder.contains(word)))
}

fn perl(place: &Directory<'_>) -> Option<TestCommand> {
    let manifest = ["Makefile.PL", "Build.PL", "cpanfile", "dist.ini"]
        .into_iter()
        .find(|file| place.has(file))?;
    place
        .files()
        .find(|path| path.starts_with("t/") && file_name(path).ends_with(".t"))?;
    place.command(&["prove", "-lrv", "t"], Framework::Tap, manifest)
}
