//! Finds out what each test executes: one build in which every block records that it was entered, and a run for each
//! test.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use greenlight_anchor::RepoPath;
use greenlight_anchor::patch::Blob;
use greenlight_readers::test_path::is_test_path;
use greenlight_suite as suite;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::program::{Target, shell};
use super::test_coverage::TestCoverage;
use super::trace::{self, Blocks, TRACE};
use super::{Build, Compiler, Tree, is_same, rewrite};
use crate::spectrum::Spectrum;

/// Maximum number of instrumented files, and their maximum total size in bytes.
const MAX_FILES: usize = 300;
const MAX_BYTES: usize = 2 << 20;
/// Maximum number of passing tests that are run again; those with names most similar to a failing one come first.
const MAX_PASSING: usize = 100;
/// Maximum number of builds; each leaves out the files that did not compile with instrumentation.
const MAX_BUILDS: usize = 3;
/// Maximum number of block numbers read for one test.
const MAX_NUMBERS: usize = 50_000;
/// Maximum number of bytes read from the trace of one test.
const MAX_TRACE: usize = 200_000;

/// Traces the failing tests, and as many passing ones as time allows.
pub(super) async fn follow(
    build: &Build<'_>,
    wall: Duration,
    stop: &CancellationToken,
) -> Result<Option<Spectrum>, suite::Error> {
    let deadline = Instant::now() + wall;
    let mut tree = build.tree.lock().await;
    let limited = stop.child_token();
    let blocks = {
        let building = numbered(build, &mut tree, &limited);
        tokio::pin!(building);
        tokio::select! {
            blocks = &mut building => blocks?,
            () = tokio::time::sleep(wall / 2) => {
                limited.cancel();
                building.await?
            }
        }
    };
    let Some(blocks) = blocks.filter(|_| !stop.is_cancelled()) else {
        return Ok(None);
    };
    let tests = tests(build);
    let wall = deadline.saturating_duration_since(Instant::now());
    let Some(script) = script(&build.targets, &tests, build.limit.failing) else {
        return Ok(None);
    };
    let ran = shell(build.task.suite, &tree.workspace, &script, wall, stop).await?;
    let traces = read(&ran.printed, &tests);
    // Another search has the same tests, so this is computed once.
    build.seen.get_or_init(|| seen(&tests, &traces, &blocks));
    Ok(spectrum(&tests, &traces, &blocks))
}

/// Builds the tree with its blocks numbered.
async fn numbered(
    build: &Build<'_>,
    tree: &mut Tree,
    stop: &CancellationToken,
) -> Result<Option<Blocks>, suite::Error> {
    let mut left_out: Vec<RepoPath> = Vec::new();
    for _ in 0..MAX_BUILDS {
        let mut blocks = Blocks::default();
        let mut files: BTreeMap<RepoPath, Blob> = BTreeMap::new();
        let mut bytes = 0;
        let extension = match build.compiler {
            Compiler::Cargo(_) => ".rs",
            Compiler::Go(_) => ".go",
        };
        let is_wanted = |path: &&&RepoPath| {
            path.as_str().ends_with(extension) && !is_test_path(path.as_str()) && !left_out.contains(path)
        };
        for path in build.task.checkout.paths().iter().filter(is_wanted).take(MAX_FILES) {
            let Some(source) = build.source(path) else { continue };
            bytes += source.text.len();
            if bytes > MAX_BYTES {
                break;
            }
            let Some(text) = blocks.number(path, &source) else {
                continue;
            };
            if extension == ".go"
                && let Some((path, text)) = rewrite::beside(path, &text, trace::GO_FILE, &trace::go_function())
            {
                files.insert(path, Blob::regular(text));
            }
            files.insert((*path).clone(), Blob::regular(text));
        }
        let named: Vec<RepoPath> = files.keys().cloned().collect();
        tree.put(build.task, files.into_iter().collect()).await?;
        let built = build.build(tree, stop).await?;
        if built.is_complete {
            return Ok(Some(blocks));
        }
        let places = built.errors.iter().filter_map(|error| error.at.first());
        let before = left_out.len();
        for (printed, _) in places {
            left_out.extend(named.iter().find(|path| is_same(printed, path.as_str())).cloned());
        }
        if left_out.len() == before || stop.is_cancelled() {
            break;
        }
    }
    Ok(None)
}

/// The tests to trace, and whether each fails: the failing ones first, then those with the most similar names.
fn tests<'b>(build: &'b Build<'_>) -> Vec<(&'b str, bool)> {
    let before = build.task.before;
    let name = |name: &'b str| name.rsplit(' ').next().filter(|_| !name.contains(" - "));
    let failing: BTreeSet<&str> = build.targets.iter().flat_map(Target::tests).collect();
    let common = |test: &str| {
        let same = |other: &&str| test.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
        failing.iter().map(same).max().unwrap_or(0)
    };
    // A subtest of Go runs as part of its test.
    let whole = before
        .passed_names
        .iter()
        .filter_map(|test| name(test))
        .filter(|test| !test.contains('/'));
    let mut passing: Vec<&str> = whole.filter(|test| !failing.contains(test)).collect();
    passing.sort_by_key(|test| std::cmp::Reverse(common(test)));
    passing.truncate(MAX_PASSING);
    let mut all: Vec<(&str, bool)> = failing.into_iter().map(|test| (test, true)).collect();
    all.extend(passing.into_iter().map(|test| (test, false)));
    all
}

/// The trace of one test: whether it passed, and the numbers of the blocks that it entered.
struct Trace {
    passed: bool,
    entered: BTreeSet<usize>,
}

/// The script prints one line for each test: `t`, its number, `0` if it passed, and the numbers of the blocks that it
/// entered.
fn script(targets: &[Target], tests: &[(&str, bool)], limit: Duration) -> Option<String> {
    let mut script = "trace=/tmp/greenlight-trace\n".to_string();
    for (index, (test, _)) in tests.iter().enumerate() {
        script.push_str(": > $trace; code=0\n");
        for target in targets {
            let mut target = target.clone();
            target.env.push((TRACE.into(), "/tmp/greenlight-trace".into()));
            let started = target.start(&target.only(test), limit)?;
            script.push_str(&format!("{started} >/dev/null 2>&1 </dev/null || code=1\n"));
        }
        script.push_str(&format!(
            "echo t {index} $code $(head -c {MAX_TRACE} $trace | sort -nu)\n"
        ));
    }
    Some(script)
}

/// The traces by test number. If there are several for one test, the first counts.
fn read(printed: &str, tests: &[(&str, bool)]) -> BTreeMap<usize, Trace> {
    let mut traces = BTreeMap::new();
    for line in printed.lines() {
        let mut words = line.strip_prefix("t ").unwrap_or_default().split(' ');
        let index = words.next().and_then(|index| index.parse::<usize>().ok());
        let (Some(index), Some(code)) = (index.filter(|index| *index < tests.len()), words.next()) else {
            continue;
        };
        let entered: BTreeSet<usize> = words
            .take(MAX_NUMBERS)
            .filter_map(|number| number.parse().ok())
            .collect();
        traces.entry(index).or_insert(Trace {
            // A truncated trace may miss blocks, so the test does not count as passed.
            passed: code == "0" && line.len() < MAX_TRACE && entered.len() < MAX_NUMBERS,
            entered,
        });
    }
    traces
}

/// Which passing tests entered which functions. Empty if one of them passes only together with others, so that no
/// test can be left out.
fn seen(tests: &[(&str, bool)], traces: &BTreeMap<usize, Trace>, blocks: &Blocks) -> TestCoverage {
    let followed: Vec<(&str, &Trace)> = traces
        .iter()
        .filter_map(|(index, trace)| {
            let (test, is_failing) = tests.get(*index)?;
            (!is_failing && trace.passed).then_some((*test, trace))
        })
        .collect();
    let is_passing = |index: &&usize| tests.get(**index).is_some_and(|(_, is_failing)| !is_failing);
    if followed.len() < traces.keys().filter(is_passing).count() {
        return TestCoverage::default();
    }
    let seeing = |id: usize| {
        (0..)
            .zip(&followed)
            .filter(move |(_, (_, trace))| trace.entered.contains(&id))
    };
    TestCoverage {
        tests: followed.iter().map(|(test, _)| test.to_string()).collect(),
        functions: blocks
            .functions()
            .map(|(id, path, lines)| (path.clone(), lines.clone(), seeing(id).map(|(at, _)| at).collect()))
            .collect(),
    }
}

fn spectrum(tests: &[(&str, bool)], traces: &BTreeMap<usize, Trace>, blocks: &Blocks) -> Option<Spectrum> {
    let mut spectrum = Spectrum::default();
    for (index, trace) in traces {
        let Some((_, is_failing)) = tests.get(*index) else {
            continue;
        };
        let executed = blocks.read(&trace.entered);
        spectrum.failing += u32::from(*is_failing && !executed.is_empty());
        trace::count(&mut spectrum.files, &executed, *is_failing);
    }
    for lines in spectrum.files.values_mut() {
        lines.retain(|_, hits| hits.failing > 0);
    }
    spectrum.files.retain(|_, lines| !lines.is_empty());
    (spectrum.failing > 0).then_some(spectrum)
}
