//! Recognises tools that run tests or checks, also behind wrappers.

mod cargo;
mod go;
mod java;
mod names;
mod own_script;
mod passive;
mod php;
mod python;

pub(in crate::discover) use self::java::names_no_goal;
pub(in crate::discover) use self::names::build_project;
use self::names::has_tests_in_name;
pub(crate) use self::names::{is_other_tool, is_task};
use self::own_script::{is_own_script, script};
use self::passive::runs_nothing;
pub(in crate::discover) use self::python::{inline_tests, is_test_module};
use crate::framework::Framework;
use crate::frameworks::spec::CommandLine;
use crate::shell;

/// Tools that run another one in their own environment, with their options that take no value and those that take
/// one. In the sandbox, the installed packages replace that environment.
const RUNNERS: [(&[&str], &[&str], &[&str]); 11] = [
    (
        &["sudo"],
        &["-E", "-H", "-n", "--preserve-env"],
        &["-u", "--preserve-env"],
    ),
    (&["uvx"], &["--isolated"], &["--with", "--python", "-p"]),
    (&["uv", "tool", "run"], &["--isolated"], &["--with", "--python", "-p"]),
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
            "--no-default-groups",
            "--no-project",
        ],
        &[
            "--extra",
            "--group",
            "--with",
            "--python",
            "-p",
            "--no-group",
            "--only-group",
            "--package",
            "--directory",
            "--project",
            "--with-requirements",
        ],
    ),
    (&["time"], &["-p", "-v"], &[]),
    (&["nice"], &[], &["-n"]),
    (
        &["timeout"],
        &["--foreground", "--preserve-status", "-v"],
        &["-k", "-s", "--kill-after", "--signal"],
    ),
];
/// Words that may precede a tool and are kept.
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
/// What people call the task for all that CI does.
const CI: &str = "ci";

/// The words without the runners before the tool, however many there are.
pub(in crate::discover) fn unwrapped(mut words: Vec<String>) -> Vec<String> {
    let mut start = 0;
    while let Some(length) = runner(&words[start..]) {
        start += length;
    }
    let words = words.split_off(start);
    let inner = of_composer(&words).or_else(|| passive::of_coverage(&words));
    let inner = inner.or_else(|| cargo::plain(&words)).or_else(|| php::plain(&words));
    let inner = inner.or_else(|| go::plain(&words));
    inner.unwrap_or(words)
}

/// What `composer exec -v phpunit -- --group a` runs, where Composer puts the programs of packages:
/// <https://getcomposer.org/doc/03-cli.md#exec>
fn of_composer(words: &[String]) -> Option<Vec<String>> {
    let [composer, exec, arguments @ ..] = words else {
        return None;
    };
    if composer != "composer" || exec != "exec" {
        return None;
    }
    let at = arguments.iter().position(|word| !word.starts_with('-'))?;
    let (program, rest) = arguments[at..].split_first()?;
    let rest = rest
        .split_first()
        .filter(|(first, _)| *first == "--")
        .map_or(rest, |(_, rest)| rest);
    Some(
        [format!("vendor/bin/{program}")]
            .into_iter()
            .chain(rest.iter().cloned())
            .collect(),
    )
}

/// The number of words that a runner and its options take, if a tool follows.
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
                // An unknown option: the tool's position cannot be determined.
                _ => return None,
            };
        }
        // How long it may take comes before the command.
        let is_duration = |word: &&String| runner == &["timeout"] && word.starts_with(|c: char| c.is_ascii_digit());
        at += usize::from(words.get(at).filter(is_duration).is_some());
        (at < words.len()).then_some(at)
    })
}

/// Tools that check and never run tests.
const CHECKS: [&str; 22] = [
    "cspell",
    "depcheck",
    "dprint",
    "flake8",
    "knip",
    "oxfmt",
    "size-limit",
    "pylint",
    "pyright",
    "black",
    "isort",
    "rubocop",
    "golangci-lint",
    "staticcheck",
    "shellcheck",
    "phpstan",
    "biome",
    "prettier",
    "clang-tidy",
    "pre-commit",
    "stylelint",
    "oxlint",
];

/// Whether a command that runs tests or checks only checks.
pub(in crate::discover) fn is_check(words: &[String]) -> bool {
    let plain = unwrapped(words.to_vec());
    let mut names = plain.iter().filter(|word| !word.starts_with(['-', '+']));
    let of_cargo = ["fmt", "deny", "doc"];
    let (first, second) = (names.next(), names.next());
    match of(words) {
        Some(Some(framework)) => framework.is_linter(),
        _ => match (first.map(String::as_str), second.map(String::as_str)) {
            (Some("cargo"), Some(sub)) => of_cargo.contains(&sub),
            (Some("make" | "gmake"), Some(target)) => target
                .split(['-', '_'])
                .any(|part| matches!(part, "format" | "formatted" | "fmt" | "lint" | "style")),
            (Some(first), _) => CHECKS.contains(&first.rsplit('/').next().unwrap_or(first)),
            _ => false,
        },
    }
}

/// What a command runs, if it runs tests or checks. The inner `None` means that its words do not tell which
/// framework.
pub(in crate::discover) fn of(words: &[String]) -> Option<Option<Framework>> {
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
    // `test` alone is a command of every shell, but `scripts/test` is one of the project.
    let is_own =
        || words.first().is_some_and(|word| word.contains('/')) && names.first().is_some_and(|name| is_task(name));
    // `script/fail_if_warnings rspec spec/`: a script of the tree that runs its arguments.
    let inner = || {
        let is_script = words.first().is_some_and(|word| word.contains('/')) && names.len() > 1;
        let known = is_script.then(|| by_name(&names[1..], 1))??;
        known.map(Some)
    };
    by_name(&names, 0).or_else(inner).or_else(|| is_own().then_some(None))
}

fn by_name(words: &[&str], depth: usize) -> Option<Option<Framework>> {
    let (first, rest) = words.split_first()?;
    if matches!(*first, "npm" | "pnpm" | "yarn") && depth == 0 && rest.iter().any(|word| FOR_PACKAGES.contains(word)) {
        let plain: Vec<&str> = [*first].into_iter().chain(without_packages(rest)).collect();
        return by_name(&plain, depth + 1);
    }
    // The first word that is not an option: a subcommand.
    let sub = rest
        .iter()
        .find(|word| !word.starts_with(['-', '+']))
        .copied()
        .unwrap_or_default();
    // `-V` only makes some tools say more.
    let is_version = |word: &str| word == "-V" && !matches!(*first, "ctest" | "mvn" | "mvnw");
    let informs = rest
        .iter()
        .any(|word| matches!(*word, "--version" | "--help") || is_version(word));
    if informs || runs_nothing(first, rest, sub) {
        return None;
    }
    let known = Framework::ALL
        .iter()
        .find(|known| (known.spec().is_check)(CommandLine(words)));
    let framework = match (known, *first) {
        (Some(framework), _) => Some(Some(*framework)),
        (None, "cargo") => {
            // `cargo hack --remove-dev-deps` only prepares.
            let is_for_others = matches!(sub, "hack" | "miri");
            let names_task = rest.iter().any(|word| is_task(word) || *word == "nextest");
            let is_check = ["fmt", "xtask", "deny", "doc"].contains(&sub) || is_for_others && names_task;
            (is_check || has_tests_in_name(sub)).then_some(None)
        }
        (None, first) if is_other_tool(first) => Some(None),
        (None, "rake") if rest.is_empty() || is_task(sub) || matches!(sub, "features" | "cucumber") => Some(None),
        (None, first) => of_project(first, rest, sub).then_some(None),
    };
    if framework.is_some() || depth > 3 {
        return framework;
    }
    if *first == "go" && sub == "run" {
        // `go run github.com/onsi/ginkgo/v2/ginkgo -r`
        let at = rest
            .iter()
            .position(|word| word.contains('/') && !word.starts_with(['-', '.']))?;
        let name = rest[at].split('@').next().and_then(|path| path.rsplit('/').next())?;
        let tool: Vec<&str> = [name].into_iter().chain(rest[at + 1..].iter().copied()).collect();
        return by_name(&tool, depth + 1).filter(|_| name == "ginkgo");
    }
    if first.starts_with("python") {
        if let Some(at) = shell::python_module(rest) {
            return match is_test_module(rest[at]) {
                true => Some(Some(Framework::Unittest)),
                false => by_name(&rest[at..], depth + 1),
            };
        }
        let script = script(first, rest).filter(|at| rest[*at].rsplit('/').next() == Some("manage.py"));
        if script.is_some_and(|at| rest.get(at + 1) == Some(&"test")) || inline_tests(rest).is_some() {
            return Some(Some(Framework::Unittest));
        }
    }
    if matches!(*first, "php" | "ruby" | "node" | "perl") {
        // A tool that is part of the project: `php ./phpunit`, `ruby -Ilib exe/rake`, `node bin/mocha.js`.
        let script = script(first, rest)?;
        let name = rest[script].rsplit('/').next().unwrap_or_default();
        let stem = name.strip_suffix(".js").or(name.strip_suffix(".cjs")).unwrap_or(name);
        let as_tool: Vec<&str> = [stem].into_iter().chain(rest[script + 1..].iter().copied()).collect();
        let tool = by_name(&as_tool, depth + 1).filter(|tool| tool.is_some() || stem == "rake");
        return tool.or_else(|| is_own_script(first, &rest[script..]).then_some(None));
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
    inner.or_else(|| is_own_script(first, rest).then_some(None))
}

/// Options of package managers that name packages with the word after them: <https://pnpm.io/filtering>
const FOR_PACKAGES: [&str; 6] = ["--filter", "-F", "--workspace", "-w", "--dir", "--prefix"];
/// Those that name all packages: <https://docs.npmjs.com/cli/using-npm/workspaces>
const FOR_ALL_PACKAGES: [&str; 4] = ["--workspaces", "-ws", "-r", "--recursive"];

/// Whether a line of a package manager is for other packages than that of its directory. npm takes its options anywhere
/// before `--`. With the others, what follows the first word may be options of the program that they run.
pub(in crate::discover) fn is_for_packages(words: &[&str]) -> bool {
    let Some((tool, rest)) = words.split_first() else {
        return false;
    };
    let is_npm = *tool == "npm";
    let own = rest
        .iter()
        .take_while(|word| **word != "--" && (is_npm || word.starts_with('-')));
    let mut names = own.map(|word| word.split('=').next().unwrap_or(word));
    names.any(|name| FOR_PACKAGES.contains(&name) || FOR_ALL_PACKAGES.contains(&name))
}

fn without_packages<'w>(words: &[&'w str]) -> impl Iterator<Item = &'w str> {
    let mut is_value = false;
    words.iter().copied().filter(move |word| {
        let is_option = FOR_PACKAGES.contains(word);
        let is_dropped = is_option || is_value;
        is_value = is_option;
        !is_dropped
    })
}

/// Whether a command runs what a project names as its tests or checks, or a tool that does nothing else.
fn of_project(first: &str, rest: &[&str], sub: &str) -> bool {
    let has_task = rest.iter().any(|word| is_task(word));
    match first {
        "npm" | "pnpm" | "yarn" | "bun" => match sub {
            "test" | "t" | "tst" => true,
            "run" | "run-script" => {
                let after = rest.iter().skip_while(|word| **word != sub).skip(1);
                let name = after.copied().find(|word| !word.starts_with('-'));
                name.is_some_and(|name| is_task(name) || name == CI || has_tests_in_name(name))
            }
            // They also run scripts without `run`.
            _ => matches!(first, "pnpm" | "yarn") && is_task(sub),
        },
        "composer" => {
            let is_runner = |word: &&str| ["phpunit", "pest", "tester"].iter().any(|tool| word.contains(tool));
            // `composer check-platform-reqs` is a command of Composer.
            sub != "check-platform-reqs" && (has_task || rest.iter().any(is_runner))
        }
        // `pixi run -e test pip install a` installs, no matter what the environment is called.
        "pixi" if rest.contains(&"install") => false,
        "make" | "gmake" | "just" | "mise" | "pixi" | "poe" | "task" => {
            let is_tool = |word: &&str| matches!(*word, "jest" | "phpunit" | "pest" | "pytest" | "rspec" | "vitest");
            has_task || rest.contains(&CI) || rest.iter().any(is_tool)
        }
        // `mix deps.get --only test` installs.
        "mix" => is_task(sub) || sub == "do" && has_task,
        "ninja" | "invoke" | "inv" | "hatch" | "swift" | "sbt" | "lein" | "deno" | "zig" | "flutter" | "dart"
        | "bake" | "bazel" | "rails" | "meson" | "wasm-pack" => has_task,
        "dotnet" if sub == "run" => build_project(rest).is_some(),
        "mvn" | "mvnw" => names_no_goal(rest) && !rest.is_empty(),
        "tox" | "nox" | "trunk" | "cibuildwheel" => true,
        other => CHECKS.contains(&other),
    }
}
