//! Finds the test that never ends, or that ends its program, if the suite's run was over before anything named it.

use std::collections::BTreeSet;

use greenlight_sandbox as sandbox;
use greenlight_suite::Suite;
use greenlight_tree::checkout::Workspace;
use tokio_util::sync::CancellationToken;

use super::limits::{OTHERS, PATIENCE};
use super::program::{SLACK, Target, shell};

/// Maximum number of tests that are tried alone.
const MAX_ALONE: usize = 20;
/// Maximum number of bytes of results that are read from one program.
const MAX_RESULTS: usize = 1 << 20;

/// The first test that gets no result when its program runs all tests, and that is ended by a limit or a signal when
/// it runs alone. Each program comes with the names of its tests.
pub(super) async fn hanging_test<'t>(
    (suite, workspace): (&Suite, &Workspace),
    programs: &[(Target, &'t [String])],
    stop: &CancellationToken,
) -> Result<Option<&'t str>, sandbox::Error> {
    for (target, tests) in programs.iter().filter(|(_, tests)| !tests.is_empty()) {
        let Some(started) = target.start(&target.whole, OTHERS) else {
            continue;
        };
        let script = format!("{started} 2>/dev/null </dev/null | grep -a '^test ' | head -c {MAX_RESULTS}");
        let ran = shell(suite, workspace, &script, OTHERS + SLACK, stop).await?;
        let finished: BTreeSet<&str> = ran.printed.lines().filter_map(ended).collect();
        let silent: Vec<&String> = tests.iter().filter(|test| !finished.contains(test.as_str())).collect();
        let Some(script) = alone(target, &silent) else { continue };
        let wall = PATIENCE * u32::try_from(MAX_ALONE).unwrap_or(u32::MAX) + SLACK;
        let ran = shell(suite, workspace, &script, wall, stop).await?;
        let found = ran.printed.lines().find_map(|line| line.strip_prefix("culprit "));
        if let Some(test) = found.and_then(|index| silent.get(index.parse::<usize>().ok()?)) {
            return Ok(Some(test));
        }
        if stop.is_cancelled() {
            break;
        }
    }
    Ok(None)
}

/// The test in a line of results: `test a::b ... ok`, `test c - should panic ... FAILED`.
fn ended(line: &str) -> Option<&str> {
    let (test, result) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let has_result = ["ok", "FAILED", "ignored"].iter().any(|word| result.starts_with(word));
    has_result.then(|| test.split(" - should panic").next().unwrap_or(test))
}

/// A script that starts tests one by one until one is ended from outside.
fn alone(target: &Target, tests: &[&String]) -> Option<String> {
    let mut script = String::new();
    for (index, test) in tests.iter().enumerate().take(MAX_ALONE) {
        // A test that is merely slow finishes in twice the time.
        let [once, twice] = [PATIENCE, PATIENCE * 2].map(|limit| target.start(&target.only(test), limit));
        script.push_str(&format!(
            "for try in 1 2; do\nif [ $try = 1 ]; then {}; else {}; fi >/dev/null 2>&1 </dev/null\ncode=$?\n\
             [ $code -eq 124 ] || [ $code -gt 127 ] || break\n\
             [ $try = 1 ] || {{ echo culprit {index}; exit 0; }}\ndone\n",
            once?, twice?
        ));
    }
    (!script.is_empty()).then_some(script)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_that_ended_are_told_by_their_results() {
        assert_eq!(ended("test a::b ... ok"), Some("a::b"));
        assert_eq!(ended("test c - should panic ... FAILED"), Some("c"));
        assert_eq!(ended("test d ... ignored, not today"), Some("d"));
        assert_eq!(ended("test e ... "), None);
        assert_eq!(ended("test e has been running for over 60 seconds"), None);
    }
}
