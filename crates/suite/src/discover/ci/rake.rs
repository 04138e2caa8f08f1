//! CI's calls of Rake, for what the project's files suggest to run: <https://ruby.github.io/rake/>

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use super::{StepCommands, own, shown};
use crate::discover::directory::Directory;
use crate::framework::Framework;
use crate::test_command::{Source, TestCommand, leave_out};
use crate::text::pattern;

/// A task that needs others: `task default: [:spec, :features]`, `task :default => :test`, `task ci: %w[a b]`.
static TASK: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r#"(?m)^\s*task[ (]+(?:(?::|:?["'])(?P<name>[\w:]+)["']? *=>|(?P<name2>\w+):|["'](?P<name3>[\w:]+)["']:) *(?P<needs>[^\n#]*)"#,
    )
});
/// Maximum number of tasks that are read or followed.
const MAX_TASKS: usize = 200;
/// Maximum size of a Rakefile that is looked through, in bytes.
const MAX_RAKEFILE: usize = 200_000;
/// Names of tasks that run the tests, or that only check.
const TESTS_AND_CHECKS: [&str; 12] = [
    "check", "clean", "compile", "doc", "lint", "rubocop", "spec", "standard", "steep", "test", "tests", "yard",
];

impl StepCommands<'_> {
    /// A command of the project's files as CI runs it by Rake, if it does.
    pub(in crate::discover) fn as_rake(&self, found: TestCommand) -> Vec<TestCommand> {
        let runs_rake = |words: &[String]| words.iter().any(|word| word.rsplit('/').next() == Some("rake"));
        let is_of_file = matches!(found.source, Source::File(_));
        let is_rspec = found.framework == Framework::Rspec;
        let here: Vec<(&TestCommand, Vec<&str>)> = self
            .other
            .iter()
            .filter(|command| command.directory == found.directory)
            .filter_map(|command| Some((command, own::rake_tasks(command)?)))
            .filter(|_| is_of_file && (is_rspec || runs_rake(&found.argv)))
            .collect();
        let Some((first, _)) = here.first() else {
            return vec![found];
        };
        let as_ci_does = |command: &TestCommand| {
            let own = TestCommand {
                argv: command.argv.clone(),
                env: command.env.clone(),
                source: command.source.clone(),
                ..found.clone()
            };
            own::with_variables(own, &BTreeSet::new())
        };
        if !is_rspec {
            return vec![as_ci_does(first)];
        }
        // Each is a part of the specs, in a process with options of its task.
        let is_part = |tasks: &[&str]| !tasks.is_empty() && tasks.iter().all(|task| task.contains(':'));
        let mut parts: Vec<TestCommand> = Vec::new();
        for (command, _) in here.iter().filter(|(_, tasks)| is_part(tasks)) {
            if !parts.iter().any(|part| part.argv == command.argv) {
                parts.push(as_ci_does(command));
            }
        }
        if !parts.is_empty() {
            return parts;
        }
        let place = Directory {
            checkout: self.checkout,
            directory: found.directory.clone(),
        };
        let mut direct = TestCommand {
            argv: found.argv.clone(),
            source: found.source.clone(),
            ..as_ci_does(first)
        };
        let Some((whole, _)) = here
            .iter()
            .find(|(_, tasks)| tasks.iter().all(|task| *task == "default"))
        else {
            return vec![direct];
        };
        let default = default_tasks(&place);
        let tests: Vec<&String> = default.iter().filter(|task| framework_of(task).is_some()).collect();
        if tests.len() < 2 {
            if default.iter().any(|task| !TESTS_AND_CHECKS.contains(&task.as_str())) {
                leave_out(&mut direct.left_out, &shown(whole));
            }
            return vec![direct];
        }
        let as_task = |task: &String| {
            let words = whole.argv.iter().filter(|word| *word != "default").cloned();
            TestCommand {
                argv: words.chain([task.clone()]).collect(),
                framework: framework_of(task).unwrap_or(Framework::Other),
                ..as_ci_does(whole)
            }
        };
        tests.into_iter().map(as_task).collect()
    }
}

/// What tests a task with this name runs. `None` if it is named after something else.
fn framework_of(task: &str) -> Option<Framework> {
    let has = |names: &[&str]| task.split([':', '_', '-']).any(|part| names.contains(&part));
    match () {
        () if has(&["spec", "specs", "rspec"]) => Some(Framework::Rspec),
        () if has(&["test", "tests", "minitest"]) => Some(Framework::Minitest),
        () if has(&["cucumber", "features"]) => Some(Framework::Other),
        () => None,
    }
}

/// What Rake runs without further words: tasks that are named in place of others are followed.
fn default_tasks(place: &Directory<'_>) -> Vec<String> {
    let text = place.text("Rakefile").filter(|text| text.len() <= MAX_RAKEFILE);
    let Some((text, tasks)) = text.zip(TASK.as_ref()) else {
        return Vec::new();
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':');
    let needs = |list: &str| -> Vec<String> {
        let list = list.strip_prefix("%w").or(list.strip_prefix("%i")).unwrap_or(list);
        let names = list
            .split(|c| !is_name(c))
            .map(|name| name.trim_matches(':').to_owned());
        names
            .filter(|name| !name.is_empty() && name != "do")
            .take(MAX_TASKS)
            .collect()
    };
    let all: BTreeMap<String, Vec<String>> = tasks
        .captures_iter(&text)
        .take(MAX_TASKS)
        .filter_map(|task| {
            let name = ["name", "name2", "name3"].iter().find_map(|name| task.name(name))?;
            Some((name.as_str().to_owned(), needs(&task["needs"])))
        })
        .collect();
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    let mut open = vec!["default".to_owned()];
    while let Some(name) = open.pop().filter(|_| seen.len() < MAX_TASKS) {
        if !seen.insert(name.clone()) {
            continue;
        }
        match all.get(&name) {
            // One that is named after tests runs them itself, too.
            Some(needed) if framework_of(&name).is_none() => open.extend(needed.iter().rev().cloned()),
            _ => found.push(name),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use crate::discover::find_all;
    use crate::discover::tests::{hints, tree};
    use crate::test_command::TestSettings;

    /// The commands for a project with specs whose CI runs this line.
    fn commands(line: &str, rakefile: &str) -> Vec<(String, Vec<String>)> {
        let ci = format!(
            "on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    env: {{ADAPTER: sqlite, RUBY_VERSION: '3'}}\n    \
             steps: [{{run: '{line}'}}, {{run: 'bundle exec rake spec:more', if: 'false'}}]\n"
        );
        let (_tree, checkout) = tree(&[
            ("Gemfile", ""),
            ("Rakefile", rakefile),
            ("spec/a_spec.rb", ""),
            (".rspec", ""),
            (".github/workflows/ci.yml", &ci),
        ]);
        let found = find_all(&checkout, &TestSettings::default(), &hints(&checkout));
        found
            .into_iter()
            .map(|command| (command.to_string(), command.left_out))
            .collect()
    }

    #[test]
    fn specs_run_as_rake_runs_them() {
        let direct = "ADAPTER=sqlite bundle exec rspec".to_owned();
        for (line, rakefile, expected) in [
            ("bundle exec rake", "task default: :spec", (direct.clone(), vec![])),
            (
                "bundle exec rake",
                "task :default => [:rubocop, :spec]",
                (direct.clone(), vec![]),
            ),
            (
                "bundle exec rake",
                "task default: [:spec, :docs_are_right]",
                (direct.clone(), vec!["bundle exec rake".to_owned()]),
            ),
            ("bundle exec rake spec", "task default: :ci", (direct.clone(), vec![])),
            (
                "bundle exec rake spec:unit --trace",
                "task default: :ci",
                ("ADAPTER=sqlite bundle exec rake spec:unit --trace".to_owned(), vec![]),
            ),
        ] {
            assert_eq!(commands(line, rakefile), [expected], "{line} {rakefile}");
        }
    }

    #[test]
    fn each_default_task_with_tests_is_a_suite() {
        for rakefile in [
            "task default: [:spec, :features, :rubocop]\n",
            "task :default => :ci\n\ndesc 'all'\ntask 'ci' => %w[spec features]\n",
            "task default: :ci\ntask ci: [:ci, :spec, \"features\"]\n",
        ] {
            let found = commands("bundle exec rake", rakefile);
            let lines: Vec<&str> = found.iter().map(|(line, _)| line.as_str()).collect();
            assert_eq!(
                lines,
                [
                    "ADAPTER=sqlite bundle exec rake spec",
                    "ADAPTER=sqlite bundle exec rake features"
                ],
                "{rakefile}"
            );
        }
    }
}
