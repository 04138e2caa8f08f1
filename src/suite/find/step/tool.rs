//! Which tools run tests or checks, also behind those that only call them.

use crate::suite::Framework;

/// Tools that run another one in an environment of theirs, with those of their options that take no value and those
/// that take one. In the sandbox the environment is what was installed.
const RUNNERS: [(&[&str], &[&str], &[&str]); 6] = [
    (&["poetry", "run"], &[], &[]),
    (&["pipenv", "run"], &[], &[]),
    (&["pdm", "run"], &[], &[]),
    (&["rye", "run"], &[], &[]),
    (
        &["uv", "run"],
        &[
            "--frozen",
            "--locked",
            "--no-sync",
            "--all-extras",
            "--all-groups",
            "--dev",
            "--no-dev",
            "--isolated",
            "--all-packages",
        ],
        &[
            "--extra",
            "--group",
            "--with",
            "--python",
            "-p",
            "--no-group",
            "--with-requirements",
        ],
    ),
    (&["time"], &["-p", "-v"], &[]),
];
/// What may stand before a tool and stays there.
const WRAPPERS: [&[&str]; 12] = [
    &["npx"],
    &["bunx"],
    &["pnpm", "exec"],
    &["pnpm", "dlx"],
    &["yarn", "exec"],
    &["yarn", "run"],
    &["yarn"],
    &["pnpm"],
    &["bundle", "exec"],
    &["coverage", "run", "-m"],
    &["xvfb-run"],
    &["env"],
];
/// Words that name tests and checks in the scripts and targets of a project.
const TASKS: [&str; 11] = [
    "test",
    "tests",
    "check",
    "lint",
    "spec",
    "unit",
    "typecheck",
    "type-check",
    "clippy",
    "verify",
    "vet",
];

/// The words without the runners before the tool, however many there are.
pub(in crate::suite::find) fn unwrapped(mut words: Vec<String>) -> Vec<String> {
    let mut start = 0;
    while let Some(length) = runner(&words[start..]) {
        start += length;
    }
    words.split_off(start)
}

/// How many words a runner and its options take, if there is one with a tool behind it.
fn runner(words: &[String]) -> Option<usize> {
    RUNNERS.iter().find_map(|(runner, flags, valued)| {
        let is_runner = words.len() > runner.len() && words.iter().zip(*runner).all(|(word, part)| word == part);
        if !is_runner {
            return None;
        }
        let mut at = runner.len();
        while let Some(option) = words.get(at).filter(|word| word.starts_with('-')) {
            if option == "--" {
                at += 1;
                break;
            }
            let name = option.split('=').next().unwrap_or(option);
            at += match (flags.contains(&name), valued.contains(&name)) {
                (true, _) => 1,
                (_, true) if option.contains('=') => 1,
                (_, true) => 2,
                // Its tool is where nobody knows.
                _ => return None,
            };
        }
        (at < words.len()).then_some(at)
    })
}

/// What a command runs, if it runs tests or checks; the framework is none where its words do not tell.
pub(super) fn of(words: &[String]) -> Option<Option<Framework>> {
    let words = unwrapped(words.to_vec());
    let names: Vec<&str> = words
        .iter()
        .enumerate()
        .map(|(at, word)| {
            if at == 0 {
                word.rsplit('/').next().unwrap_or(word)
            } else {
                word.as_str()
            }
        })
        .collect();
    by_name(&names, 0)
}

fn by_name(words: &[&str], depth: usize) -> Option<Option<Framework>> {
    let (first, rest) = words.split_first()?;
    let has = |name: &str| rest.contains(&name);
    // The first word that is no option: a subcommand.
    let sub = rest
        .iter()
        .find(|word| !word.starts_with(['-', '+']))
        .copied()
        .unwrap_or_default();
    let informs = rest.iter().any(|word| matches!(*word, "--version" | "--help" | "-V"));
    if informs {
        return None;
    }
    let known = |framework| Some(Some(framework));
    let framework = match *first {
        "pytest" | "py.test" => known(Framework::Pytest),
        "unittest" => known(Framework::Unittest),
        "ruff" if sub == "check" || (sub == "format" && has("--check")) => known(Framework::Ruff),
        "mypy" if !has("--install-types") || rest.len() > 2 => known(Framework::Mypy),
        "cargo" => match sub {
            "test" | "t" => known(Framework::Cargo),
            "nextest" => known(Framework::Nextest),
            "clippy" | "check" | "build" | "b" | "c" => known(Framework::Rustc),
            "fmt" | "hack" | "xtask" | "miri" | "deny" | "doc" | "llvm-cov" => Some(None),
            _ => None,
        },
        "go" if sub == "test" => known(Framework::Go),
        "go" if sub == "vet" => known(Framework::GoVet),
        "go" if sub == "build" => known(Framework::Compiler),
        "gotestsum" => known(Framework::Go),
        "node" if has("--test") => known(Framework::Node),
        "jest" => known(Framework::Jest),
        "vitest" => known(Framework::Vitest),
        "mocha" => known(Framework::Mocha),
        "bun" if sub == "test" => known(Framework::Bun),
        "tsc" | "vue-tsc" => known(Framework::Tsc),
        "eslint" => known(Framework::Eslint),
        "tap" | "ava" | "prove" | "playwright" | "cypress" | "karma" => Some(None),
        "mvn" | "mvnw" if jvm_phase(rest) => known(Framework::Maven),
        "gradle" | "gradlew" if rest.iter().any(|word| is_task(word) || *word == "build") => known(Framework::Gradle),
        "dotnet" if sub == "test" => known(Framework::Dotnet),
        "rspec" => known(Framework::Rspec),
        "rake" if rest.is_empty() || is_task(sub) => Some(None),
        "phpunit" | "pest" => known(Framework::Phpunit),
        "ctest" => known(Framework::Ctest),
        _ => of_project(first, rest, sub).then_some(None),
    };
    if framework.is_some() || depth > 3 {
        return framework;
    }
    if first.starts_with("python") && rest.first() == Some(&"-m") {
        return by_name(&rest[1..], depth + 1);
    }
    let inner = WRAPPERS
        .iter()
        .filter(|wrapper| words.starts_with(wrapper))
        .find_map(|wrapper| {
            let rest = &words[wrapper.len()..];
            let start = rest
                .iter()
                .position(|word| !word.starts_with('-') && !word.contains('='))?;
            by_name(&rest[start..], depth + 1)
        });
    // A script of the project's own that is called after what it does.
    let is_own = first.rsplit_once('.').map_or(*first, |(stem, _)| stem);
    inner.or_else(|| (words.len() == 1 && is_task(is_own) && is_own != "test").then_some(None))
}

/// Whether a command runs what a project calls its tests or checks, or a tool that does nothing else.
fn of_project(first: &str, rest: &[&str], sub: &str) -> bool {
    let has_task = rest.iter().any(|word| is_task(word));
    match first {
        "npm" | "pnpm" | "yarn" | "bun" => match sub {
            "test" | "t" | "tst" => true,
            "run" | "run-script" => {
                let after = rest.iter().skip_while(|word| **word != sub).skip(1);
                after.copied().find(|word| !word.starts_with('-')).is_some_and(is_task)
            }
            _ => false,
        },
        "make" | "just" | "task" | "composer" | "ninja" | "invoke" | "inv" | "hatch" | "mix" | "swift" | "sbt"
        | "lein" | "deno" | "zig" | "flutter" | "dart" | "bazel" | "rails" | "meson" => has_task,
        "tox" | "nox" | "flake8" | "pylint" | "pyright" | "black" | "isort" | "rubocop" | "golangci-lint"
        | "staticcheck" | "shellcheck" | "phpstan" | "biome" | "prettier" | "clang-tidy" | "pre-commit"
        | "stylelint" | "oxlint" | "trunk" => true,
        _ => false,
    }
}

/// Whether Maven is asked for a phase that runs tests.
fn jvm_phase(words: &[&str]) -> bool {
    let phases = ["test", "verify", "package", "integration-test"];
    let skips = words
        .iter()
        .any(|word| word.starts_with("-DskipTests") || word.starts_with("-Dmaven.test.skip"));
    // An installation without tests is for those who build on it.
    words.iter().any(|word| phases.contains(word) || *word == "install") && !skips
}

/// Whether the name of a script or target says that it tests or checks.
fn is_task(name: &str) -> bool {
    let mut parts = name.split([':', '-', '_', '.', '/']);
    TASKS.contains(&name) || parts.any(|part| TASKS.contains(&part)) || name.ends_with("Test")
}
