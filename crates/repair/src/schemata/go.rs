//! Builds test programs with Go, and parses the compiler's errors.

use std::collections::{BTreeMap, BTreeSet};

use greenlight_sandbox as sandbox;
use greenlight_sandbox::Outcome;
use greenlight_tree::checkout::Workspace;
use tokio_util::sync::CancellationToken;

use super::messages::{BuildError, Built};
use super::program::{Target, quoted, shell};
use crate::task::Task;

/// Maximum number of errors that are read.
const MAX_ERRORS: usize = 2_000;
/// The directory of the programs, relative to the root of the tree.
const PROGRAMS: &str = ".greenlight-programs";
/// Since Go 1.20, `-test.skip` leaves out tests: <https://go.dev/doc/go1.20>
const SKIPS: u32 = 20;
/// Flags of a build, and whether each takes a value.
const BUILD_FLAGS: [(&str, bool); 4] = [("race", false), ("tags", true), ("mod", true), ("msan", false)];

/// What all builds of one tree have in common.
pub(super) struct Go {
    /// The directory in which Go runs, relative to the root of the tree.
    directory: String,
    flags: Vec<String>,
    /// The flags of the test programs.
    harness: Vec<String>,
    /// The failing tests, by package.
    failing: BTreeMap<String, BTreeSet<String>>,
}

impl Go {
    /// `None` for commands that are more than a plain `go test`, and for failures outside of tests.
    pub(super) fn of(task: &Task<'_>) -> Option<Self> {
        let command = &task.suite.command;
        let rest = command.argv.strip_prefix(&["go".to_string(), "test".to_string()][..])?;
        let mut failing: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for name in task.before.failing_names() {
            let Some((package, test)) = name.split_once(' ') else {
                continue;
            };
            let top = test.split('/').next().unwrap_or_default();
            let is_test = !top.is_empty() && top.chars().all(|c| c.is_alphanumeric() || c == '_');
            if is_test && is_path(package) {
                failing.entry(package.into()).or_default().insert(top.into());
            }
        }
        if failing.is_empty() {
            return None;
        }
        let (flags, harness) = flags(rest);
        Some(Self {
            directory: command
                .directory
                .as_ref()
                .map_or(".", |directory| directory.as_str())
                .into(),
            flags,
            harness,
            failing,
        })
    }

    /// Builds the packages of the failing tests, and returns how to start them.
    pub(super) async fn find(
        &self,
        task: &Task<'_>,
        workspace: &Workspace,
        stop: &CancellationToken,
    ) -> Result<Option<Vec<Target>>, sandbox::Error> {
        if !self.build((task, workspace), stop).await?.is_complete {
            return Ok(None);
        }
        let packages = self.failing.keys().map(String::as_str);
        let listed = ["go", "list", "-f", "package {{.ImportPath}} {{.Dir}}"];
        let tags = self.flags.iter().map(String::as_str);
        let words = listed
            .into_iter()
            .chain(tags.filter(|flag| flag.starts_with("-tags")))
            .chain(packages);
        let (Some(words), Some(directory)) = (quoted(words), quoted([self.directory.as_str()])) else {
            return Ok(None);
        };
        let script =
            format!("echo root $PWD\ncd {directory} || exit 1\necho version $(go env GOVERSION)\n{words} 2>/dev/null");
        let ran = shell(task.suite, workspace, &script, task.suite.command.timeout, stop).await?;
        let root = ran.printed.lines().find_map(|line| line.strip_prefix("root "));
        let Some(root) = root.filter(|root| root.starts_with('/')) else {
            return Ok(None);
        };
        let version = ran.printed.lines().find_map(|line| line.strip_prefix("version go1."));
        let minor = version.and_then(|version| version.split(|c: char| !c.is_ascii_digit()).next());
        let can_skip = minor
            .and_then(|minor| minor.parse::<u32>().ok())
            .is_some_and(|minor| minor >= SKIPS);
        let mut targets = Vec::new();
        for (index, (package, tests)) in self.failing.iter().enumerate() {
            let prefix = format!("package {package} ");
            let place = ran.printed.lines().find_map(|line| line.strip_prefix(prefix.as_str()));
            let Some(place) = place.filter(|place| place.starts_with('/')) else {
                return Ok(None);
            };
            let names: Vec<String> = tests.iter().map(|test| format!("^{test}$")).collect();
            let mut failing = self.harness.clone();
            failing.push(format!("-test.run={}", names.join("|")));
            targets.push(Target {
                program: format!("{root}/{PROGRAMS}/{index}.test"),
                directory: place.to_string(),
                env: Vec::new(),
                failing,
                whole: self.harness.clone(),
                can_skip,
            });
        }
        Ok(Some(targets))
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
        let is_complete = ran.printed.lines().any(|line| line == "greenlight: built");
        Ok(Built::new(
            is_complete && ran.outcome == Outcome::Exited(0),
            read(&ran.printed),
        ))
    }

    fn script(&self) -> Option<String> {
        let directory = quoted([self.directory.as_str()])?;
        let mut script = format!(
            "out=$PWD/{PROGRAMS}\nmkdir -p \"$out\"\ncd {directory} || exit 1\nmodule=$(go list -m | head -n 1)\n"
        );
        let mut steps = Vec::new();
        for (index, package) in self.failing.keys().enumerate() {
            let words = self.flags.iter().chain([package]).map(String::as_str);
            // Print all errors, not just the first ten. This applies only to packages of the tree, so that all others
            // stay cached.
            steps.push(format!(
                "go test -c -o \"$out/{index}.test\" -gcflags=\"$module/...=-e\" -ldflags=-w {}",
                quoted(words)?
            ));
        }
        script.push_str(&format!("{} && echo greenlight: built\nexit 0\n", steps.join(" && ")));
        Some(script)
    }
}

fn is_path(package: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || "._-/~+".contains(c);
    package.chars().all(is_plain) && package.starts_with(char::is_alphanumeric) && !package.contains("..")
}

/// The flags of a command that a build needs, and those of the test programs.
fn flags(rest: &[String]) -> (Vec<String>, Vec<String>) {
    let mut build = Vec::new();
    let mut harness = Vec::new();
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let Some(flag) = word.strip_prefix('-').map(|flag| flag.trim_start_matches('-')) else {
            continue;
        };
        let (name, value) = flag
            .split_once('=')
            .map_or((flag, None), |(name, value)| (name, Some(value)));
        if name == "short" {
            harness.push("-test.short".to_string());
        } else if let Some((_, takes)) = BUILD_FLAGS.iter().find(|(known, _)| *known == name) {
            match (value, takes) {
                (Some(_), _) | (None, false) => build.push(word.clone()),
                (None, true) => build.extend(words.next().map(|value| format!("-{name}={value}"))),
            }
        }
    }
    (build, harness)
}

/// Parses errors such as `file.go:3:7: message`; the byte offset encodes line and column.
fn read(printed: &str) -> Vec<BuildError> {
    let place = |line: &str| {
        let mut parts = line.splitn(4, ':');
        let file = parts.next()?.strip_prefix("./").unwrap_or(line.split(':').next()?);
        let (row, column): (usize, usize) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let is_sound = file.ends_with(".go") && row < 1 << 24 && column < 1 << 24;
        is_sound.then(|| (file.to_string(), (row << 24) | column))
    };
    let errors = printed.lines().filter_map(place).take(MAX_ERRORS);
    errors.map(|at| BuildError { at: vec![at] }).collect()
}

/// The line and column of an error.
pub(super) fn row_and_column(at: usize) -> (usize, usize) {
    (at >> 24, at & ((1 << 24) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_compiler_are_read_with_their_places() {
        let errors = read(
            "# m/a\n./a.go:3:7: undefined: x\nb/c.go:10:2: declared and not used: y\n\tnote\n:1:2: x\na.go:99999999999999:1: z\n",
        );
        let at: Vec<_> = errors
            .iter()
            .flat_map(|error| &error.at)
            .map(|(file, at)| (file.as_str(), row_and_column(*at)))
            .collect();
        assert_eq!(at, [("a.go", (3, 7)), ("b/c.go", (10, 2))]);
    }

    #[test]
    fn only_flags_of_the_build_are_kept() {
        let words = shlex::split("-race -v -tags integration --mod=vendor -short -toolexec ./evil ./...").unwrap();
        let (build, harness) = flags(&words);
        assert_eq!(build, ["-race", "-tags=integration", "--mod=vendor"]);
        assert_eq!(harness, ["-test.short"]);
    }
}
