//! Finds the name of a program that a test command needs and the machine lacks, in the output of shells, make and
//! common launchers, and says how to get it.
//!
//! The output is that of the code under test, so a name is only ever shown, and only if it looks like one.

use super::Place;

/// A longer word is not the name of a program.
const MAX_NAME: usize = 40;
/// How to get some known programs. Those that come with a language are never a project's dependency.
const OF_LANGUAGES: [(&[&str], &str); 11] = [
    (&["cargo", "rustc"], "Rust: https://rustup.rs"),
    (&["go"], "Go: https://go.dev/dl"),
    (&["node", "npm", "npx"], "Node.js: https://nodejs.org"),
    (&["python", "python3", "pip"], "Python 3, from your package manager"),
    (&["java", "javac", "mvn", "gradle"], "a JDK, and Maven or Gradle"),
    (&["ruby", "bundle"], "Ruby, and `gem install bundler`"),
    (&["php", "composer"], "PHP, and Composer: https://getcomposer.org"),
    (&["dotnet"], ".NET: https://dotnet.microsoft.com"),
    (&["elixir", "mix"], "Elixir: https://elixir-lang.org"),
    (&["swift"], "Swift: https://swift.org"),
    (
        &["make", "gcc", "cc", "g++", "c++", "cmake", "ctest", "ninja"],
        "your package manager's build tools",
    ),
];
const OTHERS: [(&[&str], &str); 10] = [
    (
        &["pnpm", "yarn"],
        "`corepack enable`, with Node.js, or `npm install --global` and its name",
    ),
    (&["bun"], "Bun: https://bun.com"),
    (&["deno"], "Deno: https://deno.com"),
    (&["uv", "uvx"], "uv: https://docs.astral.sh/uv"),
    (&["pytest"], "`python3 -m pip install pytest`"),
    (&["tox", "nox", "hatch"], "`python3 -m pip install` and its name"),
    (&["meson"], "`python3 -m pip install meson ninja`"),
    (&["just"], "just: https://just.systems"),
    (&["rake", "rspec"], "`gem install` and its name"),
    (&["phpunit", "pest"], "PHP, and `composer install`"),
];

/// The program that a text reports as missing; if it names several, the last one, which ended the command.
pub fn missing(text: &str) -> Option<String> {
    text.lines().rev().find_map(|line| named(line.trim_end()))
}

/// How to get a program, as sentences without the last full stop.
pub fn advice(program: &str, place: Place) -> String {
    // `vendor/bin/phpunit` is installed by what installs `phpunit`.
    let name = program.rsplit('/').next().unwrap_or(program);
    let among = |known: &[(&[&str], &'static str)]| {
        let found = known.iter().find(|(names, _)| names.contains(&name));
        found.map(|(_, from)| *from)
    };
    if let Some(from) = among(&OF_LANGUAGES) {
        return format!("Install it where greenlight runs ({from})");
    }
    let from = among(&OTHERS).map_or_else(String::new, |from| format!(" ({from})"));
    let how = match place {
        Place::Terminal => "`--install` installs it for the tests",
        Place::GitHub => {
            "greenlight can install it for the tests: `network = [\"registries\"]` under `[sandbox]`, and if \
                          needed `install` under `[test]`, in `greenlight.toml` on the base branch"
        }
    };
    format!("Install it where greenlight runs{from}. If it is a dependency of the project, {how}")
}

fn named(line: &str) -> Option<String> {
    let found = from_shell(line)
        .or_else(|| from_make(line))
        .or_else(|| from_launcher(line))
        .or_else(|| from_python(line))?;
    let name = found.trim_matches(['\'', '"', '`', '‘', '’']);
    let is_name = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    // Package managers put programs there. Another path is a file of the repository.
    let installed = ["vendor/bin/", "node_modules/.bin/"];
    let own = installed
        .iter()
        .find_map(|directory| name.strip_prefix(directory))
        .unwrap_or(name);
    let is_program =
        name.len() <= MAX_NAME && own.starts_with(|c: char| c.is_ascii_alphanumeric()) && own.chars().all(is_name);
    is_program.then(|| name.to_string())
}

/// `sh: 1: exec: cargo: not found`, `bash: line 1: cargo: command not found`, `zsh: command not found: cargo`.
fn from_shell(line: &str) -> Option<&str> {
    if let Some((_, name)) = line.split_once(": command not found: ") {
        return Some(name);
    }
    let prefix = line
        .strip_suffix(": command not found")
        .or_else(|| line.strip_suffix(": Command not found"));
    let prefix = prefix.or_else(|| line.strip_suffix(": not found").filter(|prefix| is_from_shell(prefix)))?;
    Some(prefix.rsplit_once(": ").map_or(prefix, |(_, name)| name))
}

/// Many programs print `: not found`. A shell also prints its name and the line number.
fn is_from_shell(prefix: &str) -> bool {
    let (shell, rest) = prefix.split_once(": ").unwrap_or((prefix, ""));
    let name = shell.rsplit('/').next().unwrap_or(shell);
    let is_numbered = rest
        .trim_start_matches("line ")
        .starts_with(|c: char| c.is_ascii_digit());
    matches!(name, "sh" | "dash" | "bash" | "ash" | "ksh") || name.ends_with(".sh") || is_numbered
}

/// `make[1]: protoc: No such file or directory`. A name with a path is a file of the repository.
fn from_make(line: &str) -> Option<&str> {
    let prefix = line.strip_suffix(": No such file or directory")?;
    let (make, name) = prefix.rsplit_once(": ")?;
    let make = make.split('[').next().unwrap_or(make);
    let make = make.rsplit('/').next().unwrap_or(make);
    matches!(make, "make" | "gmake").then_some(name)
}

/// `env: 'node': No such file or directory`, `exec: "go": executable file not found in $PATH`, `spawn node ENOENT`.
fn from_launcher(line: &str) -> Option<&str> {
    if let Some((_, rest)) = line.split_once("env: ") {
        let name = rest.strip_suffix(": No such file or directory")?;
        return Some(name);
    }
    if let Some((before, _)) = line.split_once(": executable file not found in $PATH") {
        return before.rsplit([' ', ':']).next();
    }
    let (_, rest) = line.split_once("spawn ")?;
    rest.strip_suffix(" ENOENT")
}

/// `/usr/bin/python3: No module named pytest`. Python prints this for a module that it should run as a program. In a
/// traceback, code imports the module.
fn from_python(line: &str) -> Option<&str> {
    let (python, module) = line.split_once(": No module named ")?;
    let python = python.rsplit('/').next().unwrap_or(python);
    python.starts_with("python").then_some(module)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_with_a_language_is_no_dependency() {
        insta::assert_snapshot!(advice("dotnet", Place::Terminal), @"Install it where greenlight runs (.NET: https://dotnet.microsoft.com)");
        insta::assert_snapshot!(advice("vendor/bin/phpunit", Place::Terminal), @"Install it where greenlight runs (PHP, and `composer install`). If it is a dependency of the project, `--install` installs it for the tests");
    }

    #[test]
    fn the_program_is_named_by_every_kind_of_message() {
        for (text, expected) in [
            ("sh: 58: exec: cargo: not found", "cargo"),
            (
                "/bin/sh: 1: protoc: not found\nmake: *** [Makefile:2: test] Error 127",
                "protoc",
            ),
            ("./run.sh: line 3: shellcheck: command not found", "shellcheck"),
            ("bash: foo: command not found", "foo"),
            ("zsh: command not found: foo", "foo"),
            ("sh: 82: exec: vendor/bin/phpunit: not found", "vendor/bin/phpunit"),
            (
                "make: foo: No such file or directory\nmake: *** [Makefile:2: test] Error 127",
                "foo",
            ),
            ("make[2]: g++-14: No such file or directory", "g++-14"),
            ("/usr/bin/env: ‘node’: No such file or directory", "node"),
            (
                "exec: \"golangci-lint\": executable file not found in $PATH",
                "golangci-lint",
            ),
            ("Error: spawn python ENOENT", "python"),
            ("/usr/bin/python3: No module named pytest", "pytest"),
            ("/opt/venv/bin/python: No module named tox", "tox"),
        ] {
            assert_eq!(missing(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_only_looks_like_it_names_nothing() {
        for text in [
            "AssertionError: 404 not found",
            "ModuleNotFoundError: No module named 'six'",
            "user 7: not found",
            "make: ./tests/run.sh: No such file or directory",
            "Makefile:3: rules.mk: No such file or directory",
            "cat: notes.txt: No such file or directory",
            "sh: 1: $(id)`x`: not found",
            "sh: 1: @everyone: not found",
            "FileNotFoundError: [Errno 2] No such file or directory: 'a'",
            "",
        ] {
            assert_eq!(missing(text), None, "{text}");
        }
        let long = format!("sh: 1: {}: not found", "a".repeat(100));
        assert_eq!(missing(&long), None);
    }
}
