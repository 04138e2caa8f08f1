//! Test programs: how they are built, which tests are started for a candidate, and how the results are read.
//!
//! Everything runs in the sandbox. Results are a claim of the code under test: they are read strictly and within
//! bounds.

use std::collections::BTreeMap;
use std::time::Duration;

use greenlight_sandbox as sandbox;
use greenlight_sandbox::Outcome;
use greenlight_suite as suite;
use greenlight_suite::{Job, Packages, Suite};
use greenlight_tree::checkout::Workspace;
use tokio_util::sync::CancellationToken;

use super::rewrite::SWITCH;
use crate::verdict::CandidateVerdict;

/// Maximum number of bytes of output that are read.
const MAX_OUTPUT: usize = 8 << 20;
/// Number of trials that run at the same time.
const LANES: usize = 2;
/// Additional time for building and starting, besides the trials.
pub(super) const SLACK: Duration = Duration::from_secs(20);
/// Maximum size of the names of left-out tests in a script, in bytes.
const MAX_LEFT_OUT: usize = 60_000;
/// Callers must split jobs that are longer than this.
const MAX_JOB: Duration = Duration::from_secs(1_800);

/// A test program and how to start it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    /// Its path inside the sandbox.
    pub(super) program: String,
    /// The directory in which it runs, inside the sandbox.
    pub(super) directory: String,
    pub(super) env: Vec<(String, String)>,
    /// The arguments that select the failing tests.
    pub(super) failing: Vec<String>,
    /// The arguments that select all tests.
    pub(super) whole: Vec<String>,
    /// Whether single tests can be left out by their full names without affecting the selection of others.
    pub(super) can_skip: bool,
}

/// A candidate to be tried.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Trial {
    /// Its number in the program.
    pub(super) id: u32,
    /// Tests that passed and never execute the edited code.
    pub(super) unseen: Vec<String>,
}

/// Runs a shell script at the root of the tree, with the variables of the test command.
pub(super) async fn shell(
    suite: &Suite,
    workspace: &Workspace,
    script: &str,
    wall: Duration,
    stop: &CancellationToken,
) -> Result<suite::Ran, sandbox::Error> {
    let mut suite = suite.clone();
    suite.policy.limits.output = suite.policy.limits.output.max(MAX_OUTPUT);
    let own = suite.command.env.iter().filter(|(name, _)| is_name(name));
    let variables = own.map(|(name, value)| format!("{name}={value}"));
    let argv = ["env".to_string()]
        .into_iter()
        .chain(variables)
        .chain(["sh", "-c", script].map(String::from));
    let job = Job {
        argv: argv.collect(),
        hosts: Vec::new(),
        wall,
    };
    suite::execute(&suite, workspace, &job, &Packages::default(), stop).await
}

fn is_name(name: &str) -> bool {
    !name.starts_with("GREENLIGHT_")
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Words quoted for the shell. `None` if one cannot be quoted.
pub(super) fn quoted<'w>(words: impl IntoIterator<Item = &'w str>) -> Option<String> {
    shlex::try_join(words).ok()
}

impl Target {
    /// The arguments that select one test, in the form of those for the failing tests.
    pub(super) fn only(&self, test: &str) -> Vec<String> {
        let mut words = self.whole.clone();
        if self.is_go() {
            words.push(format!("-test.run=^{}$", regex::escape(test)));
        } else {
            words.retain(|word| word != "--exact");
            words.extend(["--exact", test].map(String::from));
        }
        words
    }

    /// The arguments that select all tests but these, if that is possible.
    pub(super) fn without(&self, tests: &[&str]) -> Vec<String> {
        let mut words = self.whole.clone();
        if tests.is_empty() || !self.can_skip {
            return words;
        }
        if self.is_go() {
            let names: Vec<String> = tests.iter().map(|test| format!("^{}$", regex::escape(test))).collect();
            words.push(format!("-test.skip={}", names.join("|")));
        } else {
            words.retain(|word| word != "--exact");
            words.push("--exact".into());
            words.extend(tests.iter().flat_map(|test| ["--skip", test].map(String::from)));
        }
        words
    }

    /// The failing tests.
    pub(super) fn tests(&self) -> Vec<&str> {
        match self.failing.last().and_then(|word| word.strip_prefix("-test.run=")) {
            Some(names) => names.split('|').map(|name| name.trim_matches(['^', '$'])).collect(),
            None => {
                let names = self.failing.iter().skip_while(|word| *word != "--exact").skip(1);
                names.map(String::as_str).collect()
            }
        }
    }

    /// Whether it is a Go test program.
    fn is_go(&self) -> bool {
        self.failing.last().is_some_and(|word| word.starts_with("-test.run="))
    }

    /// The command that starts it in its directory with these arguments.
    pub(super) fn start(&self, choice: &[String], limit: Duration) -> Option<String> {
        let seconds = limit.as_secs() + u64::from(limit.subsec_nanos() > 0);
        let mut words = vec!["env".to_string()];
        words.extend(self.env.iter().map(|(name, value)| format!("{name}={value}")));
        words.extend(["timeout", "-k", "1"].map(String::from));
        words.push(seconds.max(1).to_string());
        words.push(self.program.clone());
        words.extend_from_slice(choice);
        let directory = quoted([self.directory.as_str()])?;
        Some(format!(
            "(cd {directory} && exec {})",
            quoted(words.iter().map(String::as_str))?
        ))
    }
}

/// A script that tries these candidates, two at a time: it prints `s 3` when one starts and `e 3 0` when it ends.
/// Candidates with the same left-out tests share one shell function for the remaining tests.
fn script(targets: &[Target], trials: &[Trial], limit: Limit) -> Option<String> {
    let steps = |words: &dyn Fn(&Target) -> Vec<String>, limit| -> Option<String> {
        let started = targets.iter().map(|target| target.start(&words(target), limit));
        Some(started.collect::<Option<Vec<_>>>()?.join(" && "))
    };
    let mut script = format!(
        "failing() {{ {}; }}\n",
        steps(&|target| target.failing.clone(), limit.failing)?
    );
    let mut left_out: Vec<&[String]> = vec![&[]];
    let mut bytes = 0;
    for unseen in trials.iter().map(|trial| trial.unseen.as_slice()) {
        let own = unseen.iter().map(|test| test.len() + 16).sum::<usize>() * targets.len();
        if !left_out.contains(&unseen) && bytes + own <= MAX_LEFT_OUT {
            bytes += own;
            left_out.push(unseen);
        }
    }
    for (index, unseen) in left_out.iter().enumerate() {
        let unseen: Vec<&str> = unseen.iter().map(String::as_str).collect();
        let steps = steps(&|target| target.without(&unseen), limit.whole)?;
        script.push_str(&format!("whole_{index}() {{ {steps}; }}\n"));
    }
    script.push_str(&format!(
        "try() {{ echo s $1; {SWITCH}=$1; export {SWITCH}\n\
         {{ failing && whole_$2; }} >/dev/null 2>&1 </dev/null; echo e $1 $?; }}\n\
         lane() {{ TMPDIR=/tmp/lane-$1; mkdir -p $TMPDIR; export TMPDIR; }}\n"
    ));
    for lane in 0..LANES {
        script.push_str(&format!("(lane {lane}\n"));
        for trial in trials.iter().skip(lane).step_by(LANES) {
            let rest = left_out.iter().position(|unseen| *unseen == trial.unseen).unwrap_or(0);
            script.push_str(&format!("try {} {rest}\n", trial.id));
        }
        script.push_str(") &\n");
    }
    script.push_str("wait\n");
    Some(script)
}

/// Tries candidates that are in the program; returns a verdict for each.
pub(super) async fn trials(
    (suite, workspace): (&Suite, &Workspace),
    targets: &[Target],
    trials: &[Trial],
    limit: Limit,
    stop: &CancellationToken,
) -> Result<BTreeMap<u32, CandidateVerdict>, sandbox::Error> {
    let mut verdicts = BTreeMap::new();
    let mut left = trials.to_vec();
    // Each round finishes at least one trial.
    while !left.is_empty() && !stop.is_cancelled() {
        let Some(script) = script(targets, &left, limit) else {
            break;
        };
        let count = u32::try_from(left.len()).unwrap_or(u32::MAX);
        let wall = (limit.failing * 2).saturating_mul(count) + limit.whole * 4 + SLACK;
        let ran = shell(suite, workspace, &script, wall.min(MAX_JOB), stop).await?;
        let ids: Vec<u32> = left.iter().map(|trial| trial.id).collect();
        let (ended, open) = answers(&ran.printed, &ids);
        if ended.is_empty() && open.is_empty() {
            break;
        }
        verdicts.extend(ended);
        // The trials that were running when the script ended are the ones that ended it.
        let died = match ran.outcome {
            Outcome::TimedOut => CandidateVerdict::TimedOut,
            Outcome::Cancelled => CandidateVerdict::Stopped,
            _ => CandidateVerdict::Fails,
        };
        verdicts.extend(open.into_iter().map(|id| (id, died)));
        left.retain(|trial| !verdicts.contains_key(&trial.id));
    }
    let rest = if stop.is_cancelled() {
        CandidateVerdict::Stopped
    } else {
        CandidateVerdict::Fails
    };
    for trial in left {
        verdicts.entry(trial.id).or_insert(rest);
    }
    Ok(verdicts)
}

/// The trials that ended, and those that started but did not end.
fn answers(printed: &str, requested: &[u32]) -> (BTreeMap<u32, CandidateVerdict>, Vec<u32>) {
    let mut ended = BTreeMap::new();
    let mut started = Vec::new();
    for line in printed.lines() {
        let words: Vec<&str> = line.split(' ').take(4).collect();
        let id = words
            .get(1)
            .and_then(|id| id.parse().ok())
            .filter(|id| requested.contains(id));
        match (words.as_slice(), id) {
            (["s", _], Some(id)) if !started.contains(&id) => started.push(id),
            (["e", _, code], Some(id)) => {
                let verdict = match *code {
                    "0" => CandidateVerdict::Passes,
                    "124" | "137" => CandidateVerdict::TimedOut,
                    _ => CandidateVerdict::Fails,
                };
                ended.entry(id).or_insert(verdict);
            }
            _ => {}
        }
    }
    started.retain(|id| !ended.contains_key(id));
    (ended, started)
}

/// Time limits of the tests.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    pub(super) failing: Duration,
    pub(super) whole: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_strictly() {
        let printed = "s 1\ns 2\ne 1 0\ne 1 1\ns 3\ne 3 124\nnoise\ne 9 0\ne 2\ne 4294967296 0\ns 2 \n";
        let (ended, open) = answers(printed, &[1, 2, 3]);
        assert_eq!(
            ended,
            BTreeMap::from([(1, CandidateVerdict::Passes), (3, CandidateVerdict::TimedOut)])
        );
        assert_eq!(open, [2]);
    }

    #[test]
    fn what_a_tree_names_is_never_read_by_the_shell() {
        let target = Target {
            program: "/workspace/a'; touch /tmp/x; '".into(),
            directory: "/workspace/$(id)".into(),
            env: Vec::new(),
            failing: vec!["--exact".into(), "a`b`".into()],
            whole: Vec::new(),
            can_skip: true,
        };
        let started = target.start(&target.failing, Duration::from_millis(1_200)).unwrap();
        let words = shlex::split(started.trim_matches(['(', ')'])).unwrap();
        assert_eq!(words[1], "/workspace/$(id)");
        assert!(
            words.contains(&"/workspace/a'; touch /tmp/x; '".to_string()),
            "{words:?}"
        );
        assert!(words.contains(&"a`b`".to_string()));
        assert!(words.windows(2).any(|pair| pair == ["1", "2"]), "{words:?}");
    }
}
