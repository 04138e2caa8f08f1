//! pytest.

mod node_ids;
pub(super) mod parse;

use greenlight_readers::test_run::Outcome;

use crate::filter::python::test_files;
use crate::framework::Ecosystem;
use crate::frameworks::spec::{Runtime, Snapshots, Spec};
use crate::reporters::Invocation;
use crate::test_command::TestCommand;

pub(super) const SPEC: Spec = Spec {
    name: "pytest",
    ecosystem: Ecosystem::Python,
    runtime: Some(Runtime::Python),
    snapshots: &[
        // syrupy
        Snapshots {
            marks: &["[- snapshot]"],
            adds: &["--snapshot-update"],
            env: &[],
            is_inline: false,
        },
        // pytest-regressions
        Snapshots {
            marks: &["FILES DIFFER:"],
            adds: &["--force-regen"],
            env: &[],
            is_inline: false,
        },
    ],
    installers: &["python3", "uv"],
    package: Some("pytest"),
    words: &["pytest", "py.test"],
    is_check: |line| matches!(line.program(), "pytest" | "py.test"),
    reporter,
    filter: |command, only| ids(&command.argv, only),
    part: |checkout, command, near| ids(&command.argv, &test_files(checkout, command, near, true)?),
    parse: parse::parse,
    marks: &[" test session starts ===", "short test summary info"],
    exit,
    rename: node_ids::settle,
    ..Spec::NEW
};

/// Where it writes its report.
const REPORT: &str = ".greenlight-report.xml";

/// <https://docs.pytest.org/en/stable/reference/exit-codes.html>
fn exit(code: i32) -> Option<Outcome> {
    match code {
        // It exits with 5 if it runs no test, or says so. Without any result, one of them has ended the process.
        0 => Some(Outcome::Crashed),
        4 => Some(Outcome::DidNotStart),
        5 => Some(Outcome::NothingRan),
        _ => None,
    }
}

fn reporter(_: &TestCommand, mut invocation: Invocation) -> Invocation {
    let program = invocation
        .argv
        .iter()
        .position(|word| matches!(word.rsplit('/').next(), Some("pytest" | "py.test")));
    if let Some(at) = program {
        let options = [
            "--color=no".to_string(),
            // Some projects use the cache, so there is one, but no run sees that of another.
            "-ocache_dir=/tmp/pytest_cache".into(),
            format!("--junitxml={REPORT}"),
            // The other report format has neither files nor lines.
            "-ojunit_family=xunit1".into(),
        ];
        invocation.argv.splice(at + 1..at + 1, options);
        invocation.reports.push(REPORT.into());
    }
    invocation
}

/// Replaces the paths in the command with node ids.
fn ids(argv: &[String], only: &[String]) -> Option<Vec<String>> {
    // An argument that starts with `@` names a file with arguments.
    let id = |name: &String| {
        let is_path = name
            .split("::")
            .next()
            .is_some_and(|file| file.ends_with(".py") || file.ends_with('/'));
        let plain = name.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '/');
        is_path.then(|| if plain { name.clone() } else { format!("./{name}") })
    };
    let ids: Vec<String> = only.iter().map(id).collect::<Option<_>>()?;
    let mut narrowed: Vec<String> = Vec::new();
    let mut after_program = false;
    for word in argv {
        let takes_no_value = narrowed.last().is_some_and(|last| {
            !last.starts_with('-')
                || last.contains('=')
                || matches!(
                    last.trim_start_matches('-').trim_end_matches('v'),
                    "" | "q" | "qq" | "x" | "s" | "l" | "ra" | "rA"
                )
        });
        // pytest takes only options and paths.
        if !(after_program && takes_no_value && !word.starts_with('-')) {
            narrowed.push(word.clone());
        }
        after_program |= matches!(word.rsplit('/').next(), Some("pytest" | "py.test"));
    }
    narrowed.extend(ids);
    Some(narrowed)
}
