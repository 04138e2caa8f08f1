//! Builds test programs with cargo, and finds those that contain the failing tests.

use greenlight_sandbox as sandbox;
use greenlight_sandbox::Outcome;
use greenlight_suite as suite;
use greenlight_tree::checkout::Workspace;
use tokio_util::sync::CancellationToken;

use super::hanging_test;
use super::messages::{Built, Program, read};
use super::program::{Target, quoted, shell};
use crate::process_runner;
use crate::task::Task;

/// Maximum number of programs that are asked for their tests.
const MAX_PROGRAMS: usize = 200;
/// Options of the test harness that only affect its output.
const PRINTING: [&str; 5] = ["--nocapture", "--no-capture", "--show-output", "-q", "--quiet"];

/// What all builds of one tree have in common.
pub(super) struct Cargo {
    /// The directory in which cargo runs, relative to the root of the tree.
    directory: String,
    /// The arguments without those that select targets by failures.
    own: Vec<String>,
    /// The arguments of the test harness.
    harness: Vec<String>,
    /// The arguments that select packages and targets.
    targets: Vec<String>,
    /// Whether crates are compiled already, with the settings of the tests. All builds of a search need the same settings:
    /// with others, Cargo builds a program of another name, and the old one would be tested.
    has_prebuilt: bool,
}

impl Cargo {
    /// `None` for commands that are more than a plain `cargo test`.
    pub(super) fn of(task: &Task<'_>) -> Option<Self> {
        let command = &task.suite.command;
        let rest = command
            .argv
            .strip_prefix(&["cargo".to_string(), "test".to_string()][..])?;
        let at = rest.iter().position(|word| word == "--").unwrap_or(rest.len());
        let (own, harness) = rest.split_at(at);
        let is_other =
            |word: &String| matches!(word.split('=').next(), Some("--doc" | "--message-format" | "--no-run"));
        // Partial names of tests cannot be combined with whole names.
        let has_parts = harness.len() > 1 && !harness.iter().any(|word| word == "--exact");
        if own.iter().any(is_other) || (has_parts && !task.before.excused.is_empty()) {
            return None;
        }
        Some(Self {
            directory: command
                .directory
                .as_ref()
                .map_or(".", |directory| directory.as_str())
                .into(),
            own: own.to_vec(),
            harness: harness
                .iter()
                .filter(|word| *word != "--" && !PRINTING.contains(&word.as_str()))
                .cloned()
                .collect(),
            targets: process_runner::targets(task).unwrap_or_default(),
            has_prebuilt: false,
        })
    }

    /// Builds what the failing tests need, and finds the programs that contain them.
    pub(super) async fn find(
        &mut self,
        task: &Task<'_>,
        workspace: &Workspace,
        stop: &CancellationToken,
    ) -> Result<Option<Vec<Target>>, sandbox::Error> {
        let failing: Vec<&str> = task.before.failing_names().filter_map(test_name).collect();
        if failing.is_empty() && !task.before.outcome.was_ended() {
            return Ok(None);
        }
        suite::compile_shared(task.suite, (workspace, workspace.begins_untouched()), stop).await?;
        self.has_prebuilt = task.suite.has_prebuilt();
        // First only where the failures seem to be, then everywhere.
        for _ in 0..2 {
            let built = self.build((task, workspace), stop).await?;
            let listed = self.listed((task, workspace), &built.programs, stop).await?;
            let mut found = self.with_tests(task, &listed, &failing);
            if found.is_empty() && failing.is_empty() {
                let targets = listed.tests.iter().map(|(program, tests)| {
                    let target = self.target(task, program, &[], &listed.libraries);
                    (target, tests.as_slice())
                });
                let targets: Vec<(Target, &[String])> = targets.collect();
                let culprit = hanging_test::hanging_test((task.suite, workspace), &targets, stop).await?;
                found = culprit.map_or_else(Vec::new, |test| self.with_tests(task, &listed, &[test]));
            }
            if !found.is_empty() {
                return self
                    .narrowed((task, workspace), found, built.programs.len(), stop)
                    .await;
            }
            if self.targets.is_empty() || stop.is_cancelled() {
                break;
            }
            self.targets.clear();
        }
        Ok(None)
    }

    /// Limits later builds to targets with failing tests; this may change the names of the programs.
    async fn narrowed(
        &mut self,
        (task, workspace): (&Task<'_>, &Workspace),
        found: Vec<(Program, Target)>,
        all: usize,
        stop: &CancellationToken,
    ) -> Result<Option<Vec<Target>>, sandbox::Error> {
        let targets = |found: Vec<(Program, Target)>| found.into_iter().map(|(_, target)| target).collect::<Vec<_>>();
        if found.len() == all || self.own.iter().any(|word| process_runner::is_target(word)) {
            return Ok(Some(targets(found)));
        }
        let before = (self.own.clone(), self.targets.clone());
        let is_whole = |word: &String| matches!(word.as_str(), "--workspace" | "--all");
        if self.own.iter().any(is_whole) {
            self.own.retain(|word| !is_whole(word));
            for (program, _) in &found {
                self.own.extend(["-p".to_string(), program.package.clone()]);
            }
        }
        self.targets = found.iter().flat_map(|(program, _)| program.choice()).collect();
        let built = self.build((task, workspace), stop).await?;
        let again: Vec<Target> = found
            .iter()
            .filter_map(|(old, target)| {
                let is_same =
                    |new: &&Program| (&new.package, &new.kind, &new.name) == (&old.package, &old.kind, &old.name);
                let new = built.programs.iter().find(is_same)?;
                let program = new.path.clone();
                Some(Target {
                    program,
                    ..target.clone()
                })
            })
            .collect();
        if built.is_complete && again.len() == found.len() {
            return Ok(Some(again));
        }
        (self.own, self.targets) = before;
        Ok(Some(targets(found)))
    }

    /// Builds the current tree.
    pub(super) async fn build(
        &self,
        (task, workspace): (&Task<'_>, &Workspace),
        stop: &CancellationToken,
    ) -> Result<Built, sandbox::Error> {
        let Some(script) = self.script() else {
            return Ok(Built::default());
        };
        let ran = shell(task.suite, workspace, &script, task.suite.command.timeout, stop).await?;
        if ran.outcome != Outcome::Exited(0) {
            return Ok(Built::default());
        }
        Ok(read(&ran.printed))
    }

    fn script(&self) -> Option<String> {
        let options = ["--no-run", "--message-format=json"];
        let words = ["cargo", "test"].into_iter().chain(options);
        let words = words.chain(self.targets.iter().chain(&self.own).map(String::as_str));
        // Debug information takes half of the build time, and nobody reads it here. But with other settings, crates that
        // are compiled already would be compiled again.
        let without_debug = match self.has_prebuilt {
            true => "",
            false => " CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_TEST_DEBUG=0",
        };
        Some(format!(
            "cd {} || exit 1\nexport CARGO_INCREMENTAL=1{without_debug}\n\
             {} 2>/dev/null | grep -e '\"level\":\"error' -e '\"executable\":\"' -e '\"reason\":\"build-finished\"'\nexit 0\n",
            quoted([self.directory.as_str()])?,
            quoted(words)?
        ))
    }

    /// Lists the tests of the programs.
    async fn listed(
        &self,
        (task, workspace): (&Task<'_>, &Workspace),
        programs: &[Program],
        stop: &CancellationToken,
    ) -> Result<Listed, sandbox::Error> {
        let mut script = "echo \"libraries $(rustc --print sysroot)/lib\"\n".to_string();
        for (index, program) in programs.iter().enumerate().take(MAX_PROGRAMS) {
            let Some(words) = quoted([program.path.as_str(), "--list", "--format", "terse"]) else {
                continue;
            };
            script.push_str(&format!(
                "echo program {index}\ntimeout -k 1 20 {words} 2>/dev/null </dev/null | head -c 2000000\n"
            ));
        }
        let ran = shell(task.suite, workspace, &script, task.suite.command.timeout, stop).await?;
        let mut libraries = String::new();
        let mut current = None;
        let mut tests: Vec<(Program, Vec<String>)> =
            programs.iter().map(|program| (program.clone(), Vec::new())).collect();
        for line in ran.printed.lines() {
            if let Some(path) = line.strip_prefix("libraries ") {
                libraries = path.to_string();
            } else if let Some(index) = line.strip_prefix("program ") {
                current = index.parse::<usize>().ok();
            } else if let Some(name) = line.strip_suffix(": test")
                && let Some((_, tests)) = current.and_then(|index| tests.get_mut(index))
            {
                tests.push(name.to_string());
            }
        }
        Ok(Listed { libraries, tests })
    }

    /// The programs that contain at least one of the failing tests.
    fn with_tests(&self, task: &Task<'_>, listed: &Listed, failing: &[&str]) -> Vec<(Program, Target)> {
        let programs = listed.tests.iter().filter_map(|(program, tests)| {
            let mut own: Vec<&str> = tests.iter().map(String::as_str).collect();
            own.retain(|test| failing.contains(test));
            own.dedup();
            (!own.is_empty()).then(|| (program.clone(), self.target(task, program, &own, &listed.libraries)))
        });
        programs.collect()
    }

    fn target(&self, task: &Task<'_>, program: &Program, tests: &[&str], libraries: &str) -> Target {
        let directory = program.manifest.trim_end_matches("/Cargo.toml").to_string();
        let excused: Vec<&str> = task.before.excused.iter().filter_map(|name| test_name(name)).collect();
        let mut whole = self.harness.clone();
        if !excused.is_empty() {
            whole = exact(whole);
            whole.extend(excused.iter().flat_map(|name| ["--skip", name].map(String::from)));
        }
        let mut failing = exact(self.harness.clone());
        failing.extend(tests.iter().map(ToString::to_string));
        let env = [
            ("CARGO_MANIFEST_DIR", directory.as_str()),
            ("LD_LIBRARY_PATH", libraries),
            ("RUST_BACKTRACE", "0"),
        ];
        Target {
            program: program.path.clone(),
            directory: directory.clone(),
            env: env.map(|(name, value)| (name.to_string(), value.to_string())).into(),
            failing,
            whole,
            can_skip: self.can_skip(),
        }
    }

    /// Whether no argument is a partial name, which would not work beside whole names.
    fn can_skip(&self) -> bool {
        let is_exact = self.harness.iter().any(|word| word == "--exact");
        is_exact
            || self
                .harness
                .iter()
                .all(|word| word.starts_with("--") && word != "--skip")
    }
}

/// The answers of the programs.
struct Listed {
    /// The directory of the compiler's libraries.
    libraries: String,
    tests: Vec<(Program, Vec<String>)>,
}

impl Program {
    fn choice(&self) -> Vec<String> {
        match self.kind.as_str() {
            "test" | "bin" | "example" | "bench" => vec![format!("--{}", self.kind), self.name.clone()],
            _ => vec!["--lib".into()],
        }
    }
}

/// Options of the harness with `--exact`, which it accepts only once.
fn exact(mut options: Vec<String>) -> Vec<String> {
    options.retain(|option| option != "--exact");
    options.push("--exact".into());
    options
}

/// The harness's name of a test. `None` for doc tests.
fn test_name(name: &str) -> Option<&str> {
    let is_plain = |name: &&str| !name.is_empty() && !name.starts_with('-');
    (!name.contains(" - "))
        .then(|| name.rsplit(' ').next())?
        .filter(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_as_they_are_only_once() {
        let options = |words: &str| words.split(' ').map(String::from).collect::<Vec<_>>();
        assert_eq!(exact(options("--skip a")), ["--skip", "a", "--exact"]);
        assert_eq!(exact(options("--exact --skip a")), ["--skip", "a", "--exact"]);
    }

    #[test]
    fn tests_are_named_as_the_harness_knows_them() {
        assert_eq!(test_name("a::b"), Some("a::b"));
        assert_eq!(test_name("lib:src/lib.rs a::b"), Some("a::b"));
        assert_eq!(test_name("src/lib.rs - add"), None);
        assert_eq!(test_name("--nocapture"), None);
    }
}
