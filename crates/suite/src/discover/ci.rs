//! The commands with which a project's CI runs its tests, for when no failed step is known.
//!
//! Targets and scripts of the project are read to find the commands in them. Commands of known frameworks that run all
//! tests come first; a job for a part of the tests says nothing about the others. A target or script in which no such
//! command is found is used only where the project's files know nothing better.

mod arguments;
mod configuration;
mod jvm;
mod make;
mod names;
mod native;
mod needs;
mod nextest;
mod own;
mod package_script;
mod parts;
mod programs;
mod purpose;
mod rake;
mod unused;
mod usable;

use std::collections::BTreeSet;

use greenlight_readers::ci_step::CiStep;
use greenlight_tree::checkout::Checkout;

pub(super) use self::configuration::configure;
use self::names::{names_more, names_others};
use self::nextest::as_cargo_test;
pub(super) use self::package_script::is_test_script;
pub(super) use self::programs::built_programs;
use self::purpose::enter_directory;
use self::usable::usable;
use super::directory::Directory;
use super::step::{StepLineKind, Unset};
use super::{MAX_COMMANDS, go, javascript, python, recipes, step};
use crate::ci_build::BuildCommand;
use crate::ci_install::CiInstall;
use crate::framework::Framework;
use crate::shell::quoted;
use crate::test_command::{Source, TestCommand, leave_out};

/// Maximum depth of targets and scripts that call others, and maximum number of scripts that are read.
const MAX_DEPTH: usize = 3;
const MAX_SCRIPTS: usize = 200;
/// Maximum number of parts, and of scripts that run as they are.
const MAX_PARTS: usize = 12;

/// The commands of these steps.
pub(super) fn commands<'a>(checkout: &'a Checkout, steps: &[CiStep]) -> StepCommands<'a> {
    let mut all = StepCommands {
        checkout,
        known: Vec::new(),
        parts: Vec::new(),
        other: Vec::new(),
        checks: Vec::new(),
        unused: Vec::new(),
        is_first_ctest: false,
        scripts: MAX_SCRIPTS,
    };
    for step in steps.iter().filter(|step| !step.is_aside) {
        let before = all.known.len();
        all.read(step, MAX_DEPTH);
        let checks = std::mem::take(&mut all.checks);
        for command in all.known.iter_mut().skip(before) {
            let mut built = Vec::new();
            for build in command.builds() {
                // Shortened in the same way.
                leave_out(&mut built, &build.line());
            }
            for check in checks.iter().filter(|check| !built.contains(check)) {
                leave_out(&mut command.left_out, check);
            }
        }
    }
    all.add_parts();
    all.leave_out_builds();
    all.add_own();
    all.leave_out_services();
    all.name_unused();
    all.name_aside(steps.iter().filter(|step| step.is_aside));
    all
}

/// The commands found so far, and how many more scripts may be read.
pub(super) struct StepCommands<'a> {
    checkout: &'a Checkout,
    /// Those of known frameworks: one for each directory and ecosystem, the first one there is.
    pub(super) known: Vec<TestCommand>,
    /// Those that run a part of the tests which the project itself names.
    parts: Vec<TestCommand>,
    /// Targets, tasks and scripts of the project, as they are called.
    other: Vec<TestCommand>,
    /// The checks of the current step and of the targets that it calls, and other programs. They do not run.
    checks: Vec<String>,
    /// Commands that run a part of the tests, or all of them with other settings.
    unused: Vec<TestCommand>,
    /// Whether CTest runs tests before Make does, in the order of the steps.
    is_first_ctest: bool,
    scripts: usize,
}

impl StepCommands<'_> {
    /// The command for tests of which no framework is known: in place of one of the files, or of none.
    pub(super) fn instead_of(&self, found: Option<&TestCommand>) -> Option<TestCommand> {
        let has = |command: &TestCommand, word: Option<&String>| {
            let place = Directory {
                checkout: self.checkout,
                directory: command.directory.clone(),
            };
            word.is_some_and(|word| place.has(word.trim_start_matches("./")))
        };
        let Some(found) = found else {
            let is_own = |command: &&TestCommand| {
                let rest = command.argv.strip_prefix(&["bundle".to_owned(), "exec".to_owned()]);
                let words = || rest.unwrap_or(&command.argv).iter().take(2);
                words().any(|word| has(command, Some(word))) && words().any(|word| names_a_test(word))
            };
            let is_tool = |command: &&TestCommand| {
                let runs_rake = own::rake_tasks(command).is_some() && has(command, Some(&"Rakefile".to_owned()));
                runs_rake || own::runs_other_tool(command)
            };
            let mut all = self.other.iter();
            return all.find(is_own).or_else(|| self.other.iter().find(is_tool)).cloned();
        };
        let here = || self.other.iter().filter(|command| command.directory == found.directory);
        // The same script, with the variables of CI.
        if package_script::is_test_script(found) {
            return here().find(|command| package_script::is_test_script(command)).cloned();
        }
        // Another target, but not with settings that only earlier steps explain.
        let is_target = |command: &&TestCommand| command.argv.first() == found.argv.first() && command.argv.len() == 2;
        // A build tool of the project, such as `./sbt test`. Other scripts may test anything.
        let is_tool = |command: &&TestCommand| {
            let name = command.argv.first();
            let is_at_root = name.is_some_and(|name| !name.trim_start_matches("./").contains('/'));
            is_at_root && has(command, name) && command.argv.iter().skip(1).any(|word| names_a_test(word))
        };
        // `rake` alone usually tests, unlike `make`.
        let is_rake = |command: &TestCommand| command.argv == ["rake"] && command.argv.first() == found.argv.first();
        let is_for_tests = |command: &&TestCommand| {
            is_rake(command) || is_target(command) && command.argv.iter().any(|word| says_test(word))
        };
        let named = here().find(is_for_tests).or_else(|| here().find(is_target));
        named.or_else(|| here().find(is_tool)).cloned()
    }

    /// The further targets that a job makes in turn with this one.
    pub(super) fn made_in_turn(&self, first: &TestCommand) -> Vec<TestCommand> {
        let place = Directory {
            checkout: self.checkout,
            directory: first.directory.clone(),
        };
        let others = self
            .other
            .iter()
            .filter(|other| own::are_two_scripts(&place, first, other));
        let is_check = |command: &TestCommand| step::tool::is_check(&command.argv);
        others
            .filter(|other| !is_check(other))
            .take(MAX_PARTS)
            .cloned()
            .collect()
    }

    /// Whether the root is tested, but by no command of a known framework.
    pub(super) fn leaves_the_root_to_files(&self) -> bool {
        let is_root = |command: &TestCommand| command.directory.is_none();
        !self.known.iter().any(is_root) && self.other.iter().any(is_root)
    }

    /// Where no command could be found in what CI calls, the project's own scripts run as CI calls them: any other
    /// command would be a guess.
    fn add_own(&mut self) {
        let mut found: Vec<TestCommand> = Vec::new();
        for command in &self.other {
            let place = Directory {
                checkout: self.checkout,
                directory: command.directory.clone(),
            };
            // The Makefile of another build, of which CI's first job knows nothing.
            if self.is_first_ctest && own::is_make(command) && place.has("CMakeLists.txt") {
                continue;
            }
            let is_elsewhere = |other: &TestCommand| other.directory != command.directory;
            let is_free = self.known.iter().all(is_elsewhere) && own::runs_here(&place, command);
            // One job may call a script several times, with other variables. Other arguments may be those of a matrix.
            let is_again = |other: &TestCommand| {
                other.source == command.source && other.argv == command.argv && other.env != command.env
            };
            let is_first = found
                .iter()
                .all(|other| is_elsewhere(other) || is_again(other) || own::are_two_scripts(&place, other, command));
            let is_next = self.known.iter().any(|known| own::follows(&place, known, command));
            if (is_free || is_next) && is_first && found.len() < MAX_PARTS {
                found.push(command.clone());
            }
        }
        self.known.extend(found);
    }

    fn read(&mut self, step: &CiStep, depth: usize) {
        let Some(scripts) = self.scripts.checked_sub(1) else {
            return;
        };
        self.scripts = scripts;
        for mut line in step::commands(self.checkout, step, Unset::Empty).into_iter().flatten() {
            line.own_env.extend(step.own_env.iter().cloned());
            match line.command {
                _ if line.kind != StepLineKind::Tests => leave_out(&mut self.checks, &line.shown),
                Some(command) => self.add(step, command, line.own_env, depth),
                // It may run the tests that a later line runs in part.
                None => return,
            }
        }
    }

    fn add(&mut self, step: &CiStep, command: TestCommand, own_env: BTreeSet<String>, depth: usize) {
        let mut command = own::entered(self.checkout, command);
        enter_directory(self.checkout, &mut command);
        let place = Directory {
            checkout: self.checkout,
            directory: command.directory.clone(),
        };
        if as_cargo_test(&mut command).is_none() || jvm::add_default_goals(&place, &mut command).is_none() {
            return;
        }
        go::name_folders(&place, &mut command);
        if let Some(counted) = javascript::uncounted(&place, &command.argv) {
            command.argv = counted;
        }
        // A script of Composer or a target may be named after what it runs, and its options are not those of that.
        let runner = command.argv.first().map_or("", String::as_str);
        let is_target = matches!(runner, "make" | "gmake" | "just" | "mise" | "pixi" | "poe" | "task");
        if is_target {
            command.framework = Framework::Other;
        }
        let calls = command.framework == Framework::Other || runner == "composer";
        let is_own = calls && depth > 0;
        let before = (self.known.len(), self.parts.len());
        if let Some(scripts) = is_own
            .then(|| {
                recipes::scripts(
                    &place,
                    &command.argv,
                    &recipes::with_wheels_settings(&command.env, &step.env),
                )
            })
            .flatten()
        {
            for script in scripts {
                let called = CiStep {
                    script,
                    directory: command.directory.clone(),
                    env: command
                        .env
                        .clone()
                        .into_iter()
                        .filter(|(name, _)| !python::tox::ENVIRONMENT.contains(&name.as_str()))
                        .chain(arguments::of_script(&command.argv))
                        .collect(),
                    own_env: own_env.clone(),
                    before: [step.before.as_slice(), &[step::own_script(step)]].concat(),
                    ..step.clone()
                };
                self.read(&called, depth - 1);
            }
            for name in tox_environments(&place, &command) {
                leave_out(&mut self.checks, &format!("tox -e {name}"));
            }
            if (self.known.len(), self.parts.len()) > before {
                return;
            }
        }
        let source = Source::Ci {
            workflow: step.workflow.clone(),
            job: step.job.clone(),
        };
        let command = package_script::without_coverage(&place, TestCommand { source, ..command });
        self.is_first_ctest |= command.framework == Framework::Ctest && !self.other.iter().any(own::is_make);
        if let Some(command) = usable(self.checkout, command.clone(), &own_env) {
            self.add_known(command);
        } else if self.add_to_root_package(&command) {
            // It is in the list of that command.
        } else if own::names_a_part(&command) {
            self.add_part(command.clone(), &own_env);
            self.note_unused(command, &own_env);
        } else if command.framework == Framework::Other {
            self.other.push(own::with_variables(command, &own_env));
        } else if !command.framework.is_linter() {
            self.note_unused(command, &own_env);
        }
    }

    /// Adds a command that runs all tests of its directory, unless another one does.
    fn add_known(&mut self, command: TestCommand) {
        // A job may run two frameworks one after the other; two jobs may run the same tests in two ways.
        let is_known = |other: &TestCommand| {
            let is_in_turn = other.framework != command.framework && other.source == command.source;
            is_alike(other, &command) && !is_in_turn && !names_others(other, &command)
        };
        if let Some(less) = self.known.iter_mut().find(|other| names_more(&command, other)) {
            // Other scripts of the job of the first one still follow it.
            let source = less.source.clone();
            *less = TestCommand { source, ..command };
        } else if let Some(known) = self
            .known
            .iter_mut()
            .find(|other| unused::has_more_variables(other, &command))
        {
            let with_variables = std::mem::replace(known, command);
            unused::name(known, &with_variables);
        } else if let Some(known) = self.known.iter_mut().find(|other| is_known(other)) {
            // Another way to run the same tests, such as with other features.
            unused::name(known, &command);
        } else if self.known.len() < MAX_COMMANDS {
            self.known.push(command);
        }
    }
}

/// The words of a command, for people; of a script of a package, those of its last command.
fn shown(command: &TestCommand) -> String {
    if let [shell, flag, script, ..] = command.argv.as_slice()
        && shell == "sh"
        && flag == "-c"
    {
        let last = script.rsplit(" && ").next().unwrap_or(script);
        return last.trim_end_matches(" \"$@\"").to_owned();
    }
    let words: Vec<_> = command.argv.iter().map(|word| quoted(word)).collect();
    words.join(" ")
}

fn says_test(word: &str) -> bool {
    names_a_test(word) || word == "check"
}

/// Whether a word is named after tests, and not after checks.
fn names_a_test(word: &str) -> bool {
    word.split(['/', '.', '-', '_', ':'])
        .any(|part| matches!(part, "test" | "tests" | "spec" | "unit"))
}

/// What the first of these steps installs that runs tests, in whichever way. Commands of the project's files need the
/// same.
pub(super) fn installed(checkout: &Checkout, steps: &[CiStep]) -> CiInstall {
    let runs_tests = |step: &&CiStep| {
        let command = step::command(checkout, step);
        command.is_some_and(|command| !command.framework.is_linter())
    };
    let mut install = steps
        .iter()
        .find(runs_tests)
        .map(|step| step::installed_by(checkout, step))
        .unwrap_or_default();
    // It may build what another job has checked out.
    if install.builds.iter().any(BuildCommand::is_of_cmake) {
        install
            .builds
            .retain(|build| !build.is_of_cmake() && !build.is_plain_make());
    }
    install
}

/// The environments with tests that a call of tox runs besides those that are read.
fn tox_environments(place: &Directory<'_>, command: &TestCommand) -> Vec<String> {
    let words = command.argv.iter().take(3);
    let at = words
        .into_iter()
        .position(|word| word.rsplit('/').next() == Some("tox"));
    let rest = at.and_then(|at| command.argv.get(at + 1..));
    let call = rest.and_then(|rest| python::tox::call(place, rest, &command.env));
    call.map(|call| call.others).unwrap_or_default()
}

/// Whether two commands run tests of the same directory and ecosystem.
pub(super) fn is_alike(one: &TestCommand, other: &TestCommand) -> bool {
    one.directory == other.directory && one.framework.spec().ecosystem == other.framework.spec().ecosystem
}

#[cfg(test)]
mod tests;
