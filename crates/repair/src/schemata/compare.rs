//! Compares the behaviour of candidates. One program contains all of them, and the edited functions log their
//! arguments and results. It runs with each candidate, and once with inputs derived from the observed ones.
//!
//! The log is a claim of the code under test, which can make different candidates look alike. But each of them passes
//! the tests anyway, and only one that is certain on its own is proposed.

mod go;
mod injected;
mod log;
mod rust;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use greenlight_anchor::RepoPath;
use greenlight_anchor::patch::Blob;
use greenlight_sandbox::Outcome;
use greenlight_suite as suite;
use tokio_util::sync::CancellationToken;

use self::log::Functions;
use super::program::{Limit, Target, shell};
use super::rewrite::{self, Member, SWITCH};
use super::{Build, Compiler, Group};
use crate::candidates::Candidate;
use crate::verdict::Behaviour;

/// Time limits of all runs of the program, and of those with generated inputs.
const WALL: Duration = Duration::from_secs(20);
const VARYING: Duration = Duration::from_secs(10);
/// The whole suite is run only if all its runs together take at most this long; otherwise only the failing tests are
/// run.
const WHOLE: Duration = Duration::from_secs(10);
/// How often a run is restarted after a generated input ended it.
const MAX_ENDED: usize = 32;
/// Maximum number of bytes read from the logs of all runs but the one with generated inputs, and from the log of that
/// one.
const MAX_NOTED: usize = 3 << 20;
const MAX_VARIED: usize = 4 << 20;
/// Number of parallel runs, besides the one with generated inputs.
const LANES: usize = 2;

/// The tree with functions that log their calls.
struct Observed {
    files: BTreeMap<RepoPath, Blob>,
    functions: Functions,
}

/// What these candidates do with the same inputs. `None` if it cannot be determined.
pub(super) async fn behaviours(
    build: &Build<'_>,
    candidates: &[Candidate],
    stop: &CancellationToken,
) -> Result<Option<Vec<Behaviour>>, suite::Error> {
    let mut tree = build.tree.lock().await;
    let Some(observed) = observed(build, candidates) else {
        return Ok(None);
    };
    tree.put(build.task, observed.files.into_iter().collect()).await?;
    let built = build.build(&tree, stop).await?;
    tracing::debug!(built.is_complete, "comparing candidates");
    let is_go = matches!(build.compiler, Compiler::Go(_));
    let script = script((&build.targets, is_go), candidates.len(), build.limit);
    let Some(script) = script.filter(|_| built.is_complete) else {
        return Ok(None);
    };
    let ran = shell(build.task.suite, &tree.workspace, &script, WALL, stop).await?;
    if ran.outcome != Outcome::Exited(0) {
        return Ok(None);
    }
    let most = (MAX_NOTED / (candidates.len() + 2), MAX_VARIED);
    Ok(log::read(&ran.printed, candidates.len(), most, &observed.functions))
}

/// `None` unless all candidates fit into one program, in functions that can be called again.
fn observed(build: &Build<'_>, candidates: &[Candidate]) -> Option<Observed> {
    let (mut groups, singles) = build.grouped(candidates);
    let group = groups.pop().filter(|_| groups.is_empty() && singles.is_empty())?;
    let mut observed = Observed {
        files: BTreeMap::new(),
        functions: Functions::default(),
    };
    let paths: BTreeSet<&RepoPath> = group.iter().map(|(_, candidate, _)| &candidate.path).collect();
    for path in paths {
        let text = file(build, path, &group, &mut observed.functions)?;
        if matches!(build.compiler, Compiler::Go(_)) {
            for (name, definition) in injected::go() {
                let (path, helper) = rewrite::beside(path, &text, name, definition)?;
                observed.files.insert(path, Blob::regular(helper));
            }
        }
        observed.files.insert(path.clone(), Blob::regular(text));
    }
    Some(observed)
}

/// One file in which the functions of these candidates log their calls.
fn file(build: &Build<'_>, path: &RepoPath, group: &Group<'_>, functions: &mut Functions) -> Option<String> {
    let source = build.source(path)?;
    let own = group.iter().filter(|(_, candidate, _)| candidate.path == *path);
    let members: Vec<Member<'_>> = own.map(|(id, candidate, spot)| (*id, *candidate, spot)).collect();
    let mut text = String::new();
    let mut at = 0;
    for members in rewrite::by_function(&members).values() {
        let (_, _, spot) = members.first()?;
        let id = functions.has_inputs.len();
        let number = match spot.literal {
            Some(_) => "greenlightChoice()",
            None => "greenlight_help::choice()",
        };
        let (body, _) = rewrite::choice(&source, members, number);
        text.push_str(source.text.get(at..spot.function.start)?);
        match &spot.literal {
            Some(literal) => {
                text.push_str(source.text.get(spot.function.start..spot.body.start)?);
                text.push_str(&go::observed(literal, (id, &body)));
                functions.has_inputs.push(literal.arguments != "()");
            }
            None => {
                let (observed, has_inputs) =
                    rust::observed(&source, &spot.function, (id, &body), may_be_unsafe(build))?;
                text.push_str(&observed);
                functions.has_inputs.push(has_inputs);
            }
        }
        at = spot.body.end;
    }
    text.push_str(source.text.get(at..)?);
    Some(text)
}

/// Whether no crate of the tree mentions unsafe code in its lint settings: a crate that forbids it cannot be
/// overridden.
fn may_be_unsafe(build: &Build<'_>) -> bool {
    let checkout = build.task.checkout;
    let speaks = |path: &RepoPath| {
        let name = path.as_str().rsplit('/').next().unwrap_or_default();
        matches!(name, "lib.rs" | "main.rs" | "Cargo.toml")
            && checkout
                .read_text(path.as_str())
                .is_some_and(|text| text.contains("unsafe_code"))
    };
    !checkout.paths().iter().any(|path| speaks(path))
}

/// Runs the tests with each candidate, without one, with the first again, and with generated inputs; then prints the
/// logs: `run 3`, and lines that begin with a dot.
fn script((targets, is_go): (&[Target], bool), candidates: usize, limit: Limit) -> Option<String> {
    let runs = u32::try_from(candidates + 2).ok()?;
    let is_quick = limit.usual * runs / 2 < WHOLE;
    let mut steps = Vec::new();
    for target in targets {
        steps.push(target.start(&alone(&target.failing, is_go), limit.failing)?);
    }
    let failing = steps.len();
    for target in targets.iter().filter(|_| is_quick) {
        steps.push(target.start(&alone(&target.whole, is_go), limit.whole)?);
    }
    let defined = steps.iter().enumerate();
    let defined: String = defined
        .map(|(at, step)| format!("step{at}() {{ {step} >/dev/null 2>&1 </dev/null; }}\n"))
        .collect();
    let calls = |word: &str, count: usize| {
        let calls: Vec<String> = (0..count).map(|at| format!("{word}step{at}")).collect();
        calls.join("; ")
    };
    // If a test never ends without an edit, the others need not be run without one.
    let without = match limit.is_endless {
        true => format!("[ $run = 0 ] && {{ {}; continue; }}\n", calls("", failing)),
        false => String::new(),
    };
    let lanes: String = (0..LANES)
        .map(|lane| {
            let own: Vec<String> = (lane..=candidates + 1)
                .step_by(LANES)
                .map(|run| run.to_string())
                .collect();
            format!("lane {lane} {} &\n", own.join(" "))
        })
        .collect();
    let (again, vary) = (candidates + 1, candidates + 2);
    let each = MAX_NOTED / (candidates + 2);
    let script = format!(
        "{defined}own() {{ TMPDIR=/tmp/lane-$1; mkdir -p $TMPDIR; export TMPDIR; }}\n\
         lane() {{ own $1; shift; for run do {SWITCH}=$run; [ $run = {again} ] && {SWITCH}=1\n\
         GREENLIGHT_OBSERVE=/tmp/greenlight-noted-$run; export {SWITCH} GREENLIGHT_OBSERVE; : > $GREENLIGHT_OBSERVE\n\
         {}{}; done; }}\n\
         often() {{ for again in $(seq {MAX_ENDED}); do [ $(date +%s) -lt $end ] || break\n\
         rm -f $GREENLIGHT_OBSERVE.*; $1; code=$?; [ -n \"$(tail -c 1 $GREENLIGHT_OBSERVE)\" ] || break\n\
         case $code in 124|137) echo '- -' >> $GREENLIGHT_OBSERVE;; *) echo >> $GREENLIGHT_OBSERVE;; esac; done; }}\n\
         vary() {{ own {vary}; end=$(($(date +%s) + {})); {SWITCH}=1; GREENLIGHT_VARY={candidates}\n\
         GREENLIGHT_OBSERVE=/tmp/greenlight-noted-{vary}; export {SWITCH} GREENLIGHT_VARY GREENLIGHT_OBSERVE\n\
         : > $GREENLIGHT_OBSERVE; {}; }}\n\
         {lanes}vary &\nwait\n\
         for run in $(seq 0 {vary}); do echo run $run; most={each}; [ $run = {vary} ] && most={MAX_VARIED}\n\
         head -c $most /tmp/greenlight-noted-$run | sed 's/^/. /'; echo; done\n",
        without,
        calls("", steps.len()),
        VARYING.as_secs(),
        calls("often ", steps.len()),
    );
    Some(script)
}

/// The arguments that select tests, for tests that run one after the other.
fn alone(choice: &[String], is_go: bool) -> Vec<String> {
    if is_go {
        let flags = ["-test.parallel=1", "-test.count=1"].map(String::from);
        return choice.iter().cloned().chain(flags).collect();
    }
    let is_count = |word: &String| word == "--test-threads";
    let after_count = |at: usize| at.checked_sub(1).and_then(|at| choice.get(at)).is_some_and(is_count);
    let kept = choice
        .iter()
        .enumerate()
        .filter(|(at, word)| !is_count(word) && !word.starts_with("--test-threads=") && !after_count(*at));
    let kept = kept.map(|(_, word)| word.clone());
    kept.chain(["--test-threads=1".to_string()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_run_one_after_the_other_whatever_was_said_before() {
        let choice = |words: &str| words.split(' ').map(String::from).collect::<Vec<_>>();
        assert_eq!(
            alone(&choice("--test-threads 4 --exact a"), false),
            ["--exact", "a", "--test-threads=1"]
        );
        assert_eq!(alone(&choice("--test-threads=4 -q"), false), ["-q", "--test-threads=1"]);
        assert_eq!(alone(&[], true), ["-test.parallel=1", "-test.count=1"]);
    }
}
