//! What commands of Maven and Gradle test: everything, or some modules, tasks or tests.

use super::arguments::arguments;
use crate::discover::directory::Directory;
use crate::discover::step::tool::names_no_goal;
use crate::test_command::TestCommand;

/// Whether a command runs a part of the tests.
pub(super) fn is_partial(command: &TestCommand) -> bool {
    names_tests(command) || leaves_out_tests(&command.argv) || names_modules(command) || names_other_tasks(command)
}

/// Whether a command tests modules that it names, and all of their tests.
pub(super) fn tests_modules(command: &TestCommand) -> bool {
    names_modules(command) && !leaves_out_tests(&command.argv) && !names_tests(command)
}

/// Whether a command names classes or methods.
fn names_tests(command: &TestCommand) -> bool {
    let mut names = command.argv.iter().map(|word| word.split('=').next().unwrap_or(word));
    names.any(|name| matches!(name, "--tests" | "-Dtest" | "-Dit.test"))
}

/// Whether Gradle is told to leave out a task with tests. Others, as in `-x lint`, only check or publish.
fn leaves_out_tests(argv: &[String]) -> bool {
    let mut pairs = argv.iter().zip(argv.iter().skip(1));
    pairs.any(|(option, task)| {
        let is_test = || task.to_ascii_lowercase().contains("test") || task.ends_with("check");
        matches!(option.as_str(), "-x" | "--exclude-task") && is_test()
    })
}

/// Whether Gradle is only told tasks that a project adds for other tests, such as `integrationTest`.
fn names_other_tasks(command: &TestCommand) -> bool {
    const USUAL: [&str; 11] = [
        "allTests",
        "build",
        "buildHealth",
        "check",
        "jvmTest",
        "test",
        "testDebug",
        "testDebugUnitTest",
        "testRelease",
        "testReleaseUnitTest",
        "verify",
    ];
    let is_gradle = command.argv.first().is_some_and(|program| {
        program
            .rsplit('/')
            .next()
            .is_some_and(|name| name.starts_with("gradle"))
    });
    let mut tasks = arguments(&command.argv, &["-x", "--exclude-task", "-p", "-b", "-c", "-I"]);
    is_gradle && !tasks.any(|task| USUAL.contains(&task.rsplit(':').next().unwrap_or(task)))
}

/// Whether a command of Maven or Gradle names modules to test. Modules that are left out, as in `-pl '!it'`, are none.
fn names_modules(command: &TestCommand) -> bool {
    let words = || command.argv.iter().skip(1).map(String::as_str);
    let is_list = |word: &str| matches!(word, "-pl" | "--projects");
    let apart = words().zip(words().skip(1)).filter(|(option, _)| is_list(option));
    let joined = words().filter_map(|word| word.split_once('=').filter(|(option, _)| is_list(option)));
    let mut lists = apart.chain(joined).map(|(_, list)| list);
    if lists.any(|list| list.split(',').any(|module| !module.starts_with(['!', '-']))) {
        return true;
    }
    // Goals of Maven's plugins have colons, too.
    let mut plain = words().filter(|word| !word.starts_with('-'));
    words().any(|word| word.contains(':') && !word.starts_with('-'))
        && !(is_maven(command) && plain.any(tests_in_phase))
}

/// Whether the tests run in a phase of Maven, or before it.
fn tests_in_phase(goal: &str) -> bool {
    matches!(goal, "test" | "package" | "verify" | "install")
}

/// Adds the goals that a pom names for commands without any, as those of Apache's libraries are. `None` if it names none:
/// then Maven only fails. <https://maven.apache.org/pom.html#basebuild-element>
pub(super) fn add_default_goals(place: &Directory<'_>, command: &mut TestCommand) -> Option<()> {
    const MAX_GOALS: usize = 30;
    if !is_maven(command) || !names_no_goal(&command.argv[1..]) {
        return Some(());
    }
    let pom = place.text("pom.xml")?;
    let (_, rest) = pom.split_once("<defaultGoal>")?;
    let (goals, _) = rest.split_once("</defaultGoal>")?;
    let is_plain = |goal: &str| goal.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:@".contains(c));
    let goals: Vec<&str> = goals.split_whitespace().take(MAX_GOALS).collect();
    let tests = goals.iter().any(|goal| tests_in_phase(goal));
    (tests && goals.iter().all(|goal| is_plain(goal) && !goal.starts_with('-'))).then_some(())?;
    command.argv.extend(goals.into_iter().map(String::from));
    Some(())
}

/// Leaves out the phases of Maven that come after the tests, and write or publish something:
/// <https://maven.apache.org/guides/introduction/introduction-to-the-lifecycle.html>
pub(super) fn leave_out_publishing(argv: &mut Vec<String>) {
    // A profile or a module may be called so, too.
    let mut is_value = false;
    argv.retain(|word| {
        let is_phase = matches!(word.as_str(), "deploy" | "site" | "site-deploy") && !is_value;
        is_value = matches!(
            word.as_str(),
            "-P" | "-pl" | "-f" | "-s" | "-D" | "--projects" | "--activate-profiles"
        );
        !is_phase
    });
}

pub(super) fn is_maven(command: &TestCommand) -> bool {
    let name = command.argv.first().and_then(|program| program.rsplit('/').next());
    matches!(name, Some("mvn" | "mvnw"))
}
