//! Makes pytest's node ids relative to the directory of the command, as pytest accepts them as arguments. It prints
//! them relative to its `rootdir`, the directory of its settings, which may be above or below.
//!
//! The tree belongs to untrusted code: only names are read, and links are not followed.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use greenlight_readers::test_run::TestRun;

use crate::test_command::TestCommand;

/// Maximum number of files that are checked to find the `rootdir`.
const MAX_FILES: usize = 200;

/// Rewrites the test names of a run in the tree at `root`.
pub(super) fn settle(run: &mut TestRun, root: &Path, command: &TestCommand) {
    let here = Path::new(command.directory.as_ref().map_or("", |directory| directory.as_str()));
    let files: BTreeSet<&str> = names(run).filter_map(file).take(MAX_FILES).collect();
    let all_lie = |base: &Path| files.iter().all(|file| is_file(&root.join(base).join(file)));
    if files.is_empty() || all_lie(here) {
        return;
    }
    let Some(base) = bases(here, &command.argv).into_iter().find(|base| all_lie(base)) else {
        return;
    };
    let failures = run.failures.iter_mut().map(|failure| &mut failure.name);
    for name in failures.chain(&mut run.passed_names).chain(&mut run.skipped_names) {
        if let Some(file) = file(name) {
            let rest = &name[file.len()..];
            *name = format!("{}{rest}", seen_from(here, &base.join(file)).display());
        }
    }
}

fn names(run: &TestRun) -> impl Iterator<Item = &str> {
    let failures = run.failures.iter().map(|failure| &failure.name);
    let names = failures.chain(&run.passed_names).chain(&run.skipped_names);
    names.map(String::as_str)
}

/// The file of an id, if it can be determined.
fn file(name: &str) -> Option<&str> {
    let file = name.split("::").next()?;
    let is_below = Path::new(file)
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    (is_below && file.ends_with(".py")).then_some(file)
}

fn is_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|file| file.is_file())
}

/// Candidates for the `rootdir`: the directories above that of the command, and those that its arguments name.
fn bases(here: &Path, argv: &[String]) -> Vec<PathBuf> {
    let above = here.ancestors().skip(1).map(Path::to_path_buf);
    let named = argv
        .iter()
        .filter(|word| !word.starts_with('-'))
        .map(|word| Path::new(word.split("::").next().unwrap_or(word)))
        .filter(|path| path.components().all(|part| matches!(part, Component::Normal(_))))
        .flat_map(|path| path.ancestors().map(|path| here.join(path)));
    above.chain(named).collect()
}

/// A path of the tree, relative to one of its directories.
fn seen_from(here: &Path, path: &Path) -> PathBuf {
    for (steps, base) in here.ancestors().enumerate() {
        if let Ok(rest) = path.strip_prefix(base) {
            let up = std::iter::repeat_n("..", steps);
            return up.map(Path::new).chain([rest]).collect();
        }
    }
    path.to_path_buf()
}

#[cfg(test)]
mod tests {
    use greenlight_readers::test_run::Outcome;

    use super::*;
    use crate::framework::Framework;
    use crate::test_command::Source;

    #[test]
    fn ids_start_where_the_command_runs() {
        let tree = tempfile::tempdir().unwrap();
        for path in [
            "pkg/tests/test_a.py",
            "pkg/test_b.py",
            "other/test_c.py",
            "tests/test_d.py",
        ] {
            let path = tree.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let check = |directory: &str, argv: &str, name: &str, expected: &str| {
            let argv = shlex::split(argv).unwrap();
            let command = TestCommand {
                directory: directory.parse().ok(),
                ..TestCommand::new(argv, Framework::Pytest, Source::Settings)
            };
            let mut run = TestRun::without_result("", Outcome::Passed, "");
            run.passed_names.push(name.into());
            settle(&mut run, tree.path(), &command);
            assert_eq!(run.passed_names, [expected]);
        };
        check("", "pytest", "tests/test_d.py::t[a::b]", "tests/test_d.py::t[a::b]");
        check("pkg", "pytest", "pkg/tests/test_a.py::t", "tests/test_a.py::t");
        check("pkg", "pytest", "tests/test_a.py::t", "tests/test_a.py::t");
        check("pkg/tests", "pytest ../", "pkg/test_b.py::t", "../test_b.py::t");
        check("", "pytest pkg/tests", "tests/test_a.py::t", "pkg/tests/test_a.py::t");
        check("", "pytest -c other/x.ini other", "test_c.py::t", "other/test_c.py::t");
        check("", "pytest", "gone/test_x.py::t", "gone/test_x.py::t");
        check("pkg", "pytest", "../../etc/x.py::t", "../../etc/x.py::t");
    }
}
