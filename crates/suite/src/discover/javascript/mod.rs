//! JavaScript projects: finds out which commands the `test` script of `package.json` runs.
//!
//! A script is often a chain: linters, builds, and a test runner under a coverage tool. Only the test runner reports
//! which tests passed. So it is run alone, after the builds that it needs, and can then be asked for a
//! machine-readable report and for single tests. A script that cannot be taken apart runs as it is.

mod globstar;
pub(super) mod hooks;
mod name;
mod runner;
mod script;

use std::collections::BTreeMap;

pub(crate) use name::{Name, is_plain};
pub(crate) use runner::{Runner, Script, ScriptLine, TestFiles, base, runner};
use script::{MAX_DEPTH, Package};

use crate::ci_build::MANAGERS;
use crate::discover::directory::Directory;
use crate::framework::Framework;
use crate::shell::{Word, commands};
use crate::test_command::{TestCommand, leave_out};

/// What is looked for, shown to people whose tests were not found.
pub(super) const LOOKS_FOR: &str = "a `test` script in `package.json`";
/// Scripts that run tests, the usual one first.
const SCRIPTS: [&str; 8] = [
    "test",
    "test:unit",
    "unit",
    "tests",
    "test:ci",
    "test:node",
    "test:all",
    "spec",
];
/// Passes on further arguments of a script.
pub(crate) const MORE: &str = "\"$@\"";

pub(super) fn find(place: &Directory<'_>) -> Option<TestCommand> {
    let package = Package::of(place)?;
    for name in SCRIPTS {
        let Some(script) = package.script(name) else { continue };
        // `npm init` writes this placeholder; it is not a test.
        if script.contains("no test specified") {
            continue;
        }
        let whole = || {
            let words: &[&str] = if name == "test" {
                &["npm", "test"]
            } else {
                &["npm", "run", name]
            };
            Tests::new(words.iter().map(ToString::to_string).collect(), guess(script))
        };
        let tests = package
            .expand(&["npm", "run", name].map(Word::new), MAX_DEPTH)
            .and_then(|commands| runs(&package, commands))
            .unwrap_or_else(whole);
        let words: Vec<&str> = tests.argv.iter().map(String::as_str).collect();
        let command = place.command(&words, tests.framework, "package.json")?;
        return Some(TestCommand {
            left_out: tests.left_out,
            ..command
        });
    }
    None
}

/// The frameworks that scripts can start.
fn scripts() -> impl Iterator<Item = (Framework, &'static Script)> {
    let all = Framework::ALL.iter();
    all.filter_map(|framework| Some((*framework, framework.spec().script?)))
}

/// The tests among the commands of a script.
pub(super) struct Tests {
    pub(super) argv: Vec<String>,
    pub(super) framework: Framework,
    /// The other commands, except for those that the tests need.
    pub(super) left_out: Vec<String>,
}

impl Tests {
    pub(super) fn new(argv: Vec<String>, framework: Framework) -> Self {
        Self {
            argv,
            framework,
            left_out: Vec::new(),
        }
    }
}

/// The test command that a line like `npm test` or `yarn test:unit --x` runs at the root.
pub(super) fn taken_apart(root: &Directory<'_>, words: &[String]) -> Option<Tests> {
    let package = Package::of(root)?;
    let words: Vec<Word> = words.iter().map(|word| Word::new(word)).collect();
    let commands = package.expand(&words, MAX_DEPTH)?;
    runs(&package, commands)
}

/// The call of a script that the named script makes, with a coverage tool around it and nothing else.
pub(super) fn uncounted(place: &Directory<'_>, words: &[String]) -> Option<Vec<String>> {
    let (manager, name) = (words.first()?, words.last()?);
    let package = Package::of(place).filter(|_| MANAGERS.contains(&manager.as_str()))?;
    let all = commands(package.script(name)?)?;
    let [command] = all.as_slice() else {
        return None;
    };
    let counted = package.counted(command)?;
    Some(counted.iter().map(|word| word.plain.clone()).collect())
}

/// A command made of plain words, with its environment variables.
pub(super) struct Plain {
    pub(super) argv: Vec<String>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) has_pattern: bool,
}

/// The commands that a line of a package manager or of `cross-env` runs, as far as they are plain. `None` if it is
/// not such a line.
pub(super) fn plain(place: &Directory<'_>, words: &[String]) -> Option<Vec<Plain>> {
    let package = Package::of(place)?;
    let words: Vec<Word> = words.iter().map(|word| Word::new(word)).collect();
    let commands = package.expand(&words, MAX_DEPTH)?.into_iter();
    let before_cd = commands.take_while(|command| command.first().is_none_or(|word| word.plain != "cd"));
    Some(before_cd.filter_map(|command| plain_words(&command)).collect())
}

fn plain_words(command: &[Word]) -> Option<Plain> {
    let mut command = command.iter().peekable();
    let mut env = BTreeMap::new();
    while let Some(word) = command.next_if(|word| word.is_assignment() || word.plain == "cross-env") {
        env.extend(
            word.plain
                .split_once('=')
                .map(|(name, value)| (name.into(), value.into())),
        );
    }
    let words: Vec<&Word> = command.collect();
    let is_unknown = |word: &&&Word| word.is_for_shell && word.plain.contains(['$', '[', '~']);
    if words.iter().any(|word| is_unknown(&word)) {
        return None;
    }
    Some(Plain {
        argv: words.iter().map(|word| word.plain.clone()).collect(),
        env,
        has_pattern: words.iter().any(|word| word.is_for_shell),
    })
}

/// The framework that `npm test` runs at the root, guessed for a script that cannot be taken apart.
pub(super) fn script_framework(root: &Directory<'_>) -> Framework {
    Package::of(root)
        .and_then(|package| package.script("test").map(guess))
        .unwrap_or(Framework::Other)
}

/// The test runners among the commands of a script, and the commands they need first. All of them run, as in the
/// project.
fn runs(package: &Package, mut commands: Vec<Vec<Word>>) -> Option<Tests> {
    let found = |command: &Vec<Word>| {
        let plain: Vec<&str> = command.iter().map(|word| word.plain.as_str()).collect();
        let runner = runner(&plain)?;
        Some((runner, base(plain.get(runner.word)?).to_string()))
    };
    let is_test = |command: &&Vec<Word>| found(command).is_some_and(|(runner, _)| !runner.framework.is_linter());
    let (last, how_many) = match commands.iter().rposition(|command| is_test(&command)) {
        Some(last) => (last, commands.iter().filter(is_test).count()),
        None if commands.len() == 1 => (0, 1),
        None => return None,
    };
    let (runner, program) = found(commands.get(last)?)?;
    // A program of the project may test after the runner: then the whole script is what its tests are.
    let end = commands
        .iter()
        .rposition(|command| runs_own_tests(command))
        .map_or(last, |own| own.max(last));
    let after: Vec<String> = commands.drain(end + 1..).filter_map(|command| told(&command)).collect();
    let is_alike = |command: &Vec<Word>| {
        found(command).is_some_and(|(other, name)| other.framework == runner.framework && name == program)
    };
    // With different runners, results are read from what they print, and no options are added.
    let can_be_asked = end == last && commands.iter().filter(is_test).all(is_alike);
    let mut line: Vec<String> = package
        .prepare()
        .into_iter()
        .filter(|command| !commands.contains(command))
        .map(|command| format!("{{ {}; }} || :", joined(&command)))
        .collect();
    let tests = |argv, framework, mut left_out| {
        after.iter().for_each(|line| leave_out(&mut left_out, line));
        Tests {
            argv,
            framework,
            left_out,
        }
    };
    let mut left_out: Vec<String> = Vec::new();
    for (at, command) in commands.into_iter().enumerate() {
        let (found, is_test) = (found(&command), at == last || is_test(&&command));
        let Some((runner, _)) = found.filter(|_| is_test) else {
            if runner::only_looks(&command) || runner::needs_a_browser(&command) {
                told(&command).iter().for_each(|line| leave_out(&mut left_out, line));
            } else {
                line.push(joined(&command));
            }
            continue;
        };
        let (command, options) = bare(package, command, runner);
        let is_plain = !command.iter().any(|word| word.is_for_shell || word.is_assignment());
        if how_many == 1 && line.is_empty() && is_plain {
            return Some(tests(direct(command), runner.framework, left_out));
        }
        let mut words: Vec<String> = command.into_iter().map(|word| word.raw).collect();
        if can_be_asked {
            words.insert(options.min(words.len()), MORE.into());
        }
        line.push(words.join(" "));
    }
    let mut argv: Vec<String> = vec!["sh".into(), "-c".into(), line.join(" && ")];
    let framework = if can_be_asked {
        argv.push("sh".into());
        runner.framework
    } else {
        Framework::Other
    };
    Some(tests(argv, framework, left_out))
}

/// A command that is left out, for people. `None` if it checks nothing.
fn told(command: &[Word]) -> Option<String> {
    const CHECK_NOTHING: [&str; 10] = [
        "c8",
        "codecov",
        "coveralls",
        "del-cli",
        "doctoc",
        "echo",
        "exit",
        "nyc",
        "rimraf",
        "rm",
    ];
    let first = command.iter().find(|word| !word.is_assignment())?;
    (!CHECK_NOTHING.contains(&base(&first.plain))).then(|| joined(command))
}

/// Whether a command runs a program of the project that is named after tests, such as `node build/test/run.js`.
fn runs_own_tests(command: &[Word]) -> bool {
    let mut words = command
        .iter()
        .map(|word| word.plain.as_str())
        .filter(|word| !word.contains('='));
    let program = words
        .next()
        .filter(|word| *word == "node")
        .and_then(|_| words.find(|word| !word.starts_with('-')));
    program.is_some_and(|path| {
        let parts = || path.split(['/', '.', '-', '_']);
        !parts().any(|part| part == "node_modules") && parts().any(|part| matches!(part, "test" | "tests" | "spec"))
    })
}

/// The words of a command that needs no shell.
fn direct(command: Vec<Word>) -> Vec<String> {
    let first = command.first().map_or("", |word| word.plain.as_str());
    let is_installed = scripts().any(|(_, script)| script.programs.contains(&first));
    let is_program = is_installed || first == "npx" || MANAGERS.contains(&first) || first.contains('/');
    let npx = (!is_program).then(|| "npx".to_string());
    npx.into_iter()
        .chain(command.into_iter().map(|word| word.plain))
        .collect()
}

fn joined(command: &[Word]) -> String {
    let words: Vec<&str> = command.iter().map(|word| word.raw.as_str()).collect();
    words.join(" ")
}

/// The command without a coverage tool around it, and without options that would interfere with a report.
fn bare(package: &Package, command: Vec<Word>, runner: Runner) -> (Vec<Word>, usize) {
    let counter = command
        .iter()
        .take(runner.word)
        .position(|word| matches!(word.plain.as_str(), "nyc" | "c8"));
    let loads = |word: &Word| matches!(word.plain.as_str(), "-r" | "--require" | "--import");
    let is_needed = |at: usize| package.counter_loads() || command[at..runner.word].iter().any(loads);
    let dropped = match counter {
        Some(at) if !is_needed(at) => at..runner.word,
        _ => 0..0,
    };
    let script = runner.framework.spec().script.unwrap_or(&Script::NEW);
    let mut kept = Vec::new();
    let mut options = runner.options;
    let mut skip_value = false;
    for (at, word) in command.into_iter().enumerate() {
        let plain = word.plain.as_str();
        let is_with_value = at > runner.word && script.unwanted_with_value.contains(&plain);
        let has_value = at > runner.word
            && plain
                .split_once('=')
                .is_some_and(|(name, _)| script.unwanted_with_value.contains(&name));
        let drop = dropped.contains(&at)
            || std::mem::take(&mut skip_value)
            || (at > runner.word && script.unwanted.contains(&plain))
            || has_value;
        if is_with_value {
            skip_value = true;
        }
        if drop || skip_value {
            options -= usize::from(at < runner.options);
        } else {
            kept.push(word);
        }
    }
    (kept, options)
}

/// The framework of a script that runs as a whole, guessed from its words.
pub(super) fn guess(script: &str) -> Framework {
    let has = |name: &str| {
        script
            .split(|c: char| c.is_whitespace() || matches!(c, ';' | '&' | '|' | '/' | '"' | '\''))
            .any(|word| word == name)
    };
    let mut all = scripts();
    all.find(|(_, script)| !script.words.is_empty() && script.words.iter().all(|word| has(word)))
        .map_or(Framework::Other, |(framework, _)| framework)
}
