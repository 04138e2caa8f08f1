//! Candidates a second of the search, compared with a new test process for each candidate.
//!
//! The naive way repeatedly runs only the failing tests of one case without the sandbox, and in Rust compiles what
//! changed; the time to generate candidates is not counted. The search is timed from start to end, including
//! everything before the first candidate, or by the time that it reports.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;

use super::case::{Case, Place};
use super::judge::{Judge, variables_of_tests};
use super::process;

/// How often the naive way is timed.
const TIMES: u32 = 10;
/// Time limit for one run of the failing tests.
const RUN: Duration = Duration::from_secs(120);
/// Maximum number of cases of a language that are tried, and number of rows that are wanted.
const CASES: usize = 16;
const ROWS: usize = 3;
/// A search with at least this many candidates can be timed.
const ENOUGH: u64 = 50;

/// Up to three rows for every language.
pub(super) fn table(cases: &[Case], judge: &Judge, place: &Place) -> anyhow::Result<String> {
    let mut text = "| case | candidates | seconds | candidates a second | whole program | naive | ratio | ratio, whole program |\n\
                    |---|--:|--:|--:|--:|--:|--:|--:|\n"
        .to_owned();
    for language in ["python", "javascript", "rust"] {
        let of_language = cases.iter().filter(|case| case.language == language).take(CASES);
        let mut rows = 0;
        for case in of_language {
            let (tried, search, wall) = judge.timed(place, case)?;
            if tried < ENOUGH {
                continue;
            }
            let [by_search, by_wall] = [search, wall].map(|seconds| tried as f64 / seconds.max(f64::EPSILON));
            let naive = naive(case, judge, place)?;
            let _ = writeln!(
                text,
                "| {} | {tried} | {search:.1} | {by_search:.1} | {by_wall:.1} | {naive:.2} | {:.0} | {:.0} |",
                case.id,
                by_search / naive,
                by_wall / naive
            );
            rows += 1;
            if rows >= ROWS {
                break;
            }
        }
    }
    Ok(text)
}

/// Candidates a second of the naive way.
fn naive(case: &Case, judge: &Judge, place: &Place) -> anyhow::Result<f64> {
    let tree = place.set_up(case, &case.visible_command, judge.at_most)?;
    let script = place.scripts.join("units.py").display().to_string();
    let seen = case.seen_by.iter().filter(|unit| !case.hidden.contains(unit));
    let mut words = vec!["python3", &script, &case.library];
    words.extend(seen.map(String::as_str));
    let command = process::run(&words, &tree, &[], RUN)?.printed;
    let once = || again(&tree, case, command.trim());
    // A warm-up run.
    once()?;
    let mut all = Duration::ZERO;
    for _ in 0..TIMES {
        all += once()?;
    }
    Ok(f64::from(TIMES) / all.as_secs_f64())
}

/// One candidate: the file's modification time is new, so everything that depends on it is rebuilt.
fn again(tree: &Path, case: &Case, command: &str) -> anyhow::Result<Duration> {
    let path = tree.join(&case.path);
    let text = fs::read(&path).context("the file with the fault")?;
    fs::write(&path, text)?;
    Ok(process::run(&["bash", "-c", command], tree, &variables_of_tests(tree), RUN)?.wall)
}
