//! What a CI job builds before its tests, taken from the lines of its scripts: tests of compiled sources load what a
//! build wrote. Only lines that plainly build something count; they run in the sandbox, before the tests.

use std::collections::BTreeMap;

use greenlight_anchor::RepoPath;
use serde::{Deserialize, Serialize};

use crate::ci_configure::is_configuring;
use crate::framework::Ecosystem;
use crate::shell::quoted;

/// Maximum number of words of a line.
const MAX_WORDS: usize = 20;
/// The first part of the names of scripts and targets that build something.
const BUILDS: [&str; 9] = [
    "build",
    "bundle",
    "bootstrap",
    "codegen",
    "compile",
    "gen",
    "generate",
    "prebuild",
    "prepare",
];
/// Words of lines that build something else, or do more.
const NOT_BUILDS: [&str; 16] = [
    "add",
    "ci",
    "clean",
    "deploy",
    "dlx",
    "docs",
    "install",
    "pack",
    "publish",
    "release",
    "site",
    "start",
    "storybook",
    "version",
    "watch",
    "website",
];
/// The script that configures a build in a directory beside the sources.
const OUT_OF_TREE: &str = "../configure";
/// Package managers whose plain `run` does the same as npm's.
pub(crate) const MANAGERS: [&str; 4] = ["npm", "pnpm", "yarn", "bun"];

/// A command that builds what the tests need.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildCommand {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The directory it runs in. `None` is the root.
    pub directory: Option<RepoPath>,
    /// The variables that CI sets for it alone, such as flags of a compiler.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
}

impl BuildCommand {
    /// The command of a line of a script. `None` if it does not plainly build something.
    pub(crate) fn of(words: &[String], directory: Option<RepoPath>) -> Option<Self> {
        if words.len() > MAX_WORDS {
            return None;
        }
        // A copy inside of the tree needs no other rights.
        let words = match words {
            [sudo, cp, ..] if sudo == "sudo" && cp == "cp" => &words[1..],
            words => words,
        };
        let names: Vec<&str> = words.iter().map(String::as_str).collect();
        let argv = match names.as_slice() {
            [manager, "run", script] | [manager, script] if MANAGERS.contains(manager) && is_build(script) => {
                vec!["npm".into(), "run".into(), (*script).into()]
            }
            [manager, rest @ ..] if MANAGERS.contains(manager) && has_target(rest) => words.to_vec(),
            [
                "lerna" | "nx" | "turbo" | "make" | "gmake" | "just" | "mise" | "task",
                rest @ ..,
            ] if has_target(rest) => words.to_vec(),
            ["npx", "lerna" | "nx" | "turbo", rest @ ..] if has_target(rest) => words.to_vec(),
            ["npx", "tsc", rest @ ..] | ["tsc", rest @ ..] if !rest.contains(&"--noEmit") => words.to_vec(),
            [python, "setup.py", "build_ext", ..] if python.starts_with("python") => words.to_vec(),
            [script, rest @ ..] | ["sh" | "bash", script, rest @ ..]
                if is_configure(script) && rest.iter().all(|word| word.starts_with('-')) =>
            {
                words.to_vec()
            }
            [script] | ["sh" | "bash", script] if is_build_script(script) => words.to_vec(),
            ["./configure" | OUT_OF_TREE, ..] => words.to_vec(),
            ["cmake", _, ..] if generates(words) || compiles(&names) => words.to_vec(),
            ["autoreconf" | "autoconf", rest @ ..] if rest.iter().all(|word| word.starts_with('-')) => words.to_vec(),
            ["cc" | "c++" | "clang" | "clang++" | "gcc" | "g++", rest @ ..] if links(rest) => words.to_vec(),
            ["cp", from, to] if is_plain_path(from) && is_plain_path(to) => words.to_vec(),
            ["rake", rest @ ..] | ["bundle", "exec", "rake", rest @ ..] if has_target(rest) => words.to_vec(),
            _ => return None,
        };
        Some(Self {
            argv,
            directory,
            env: BTreeMap::new(),
        })
    }

    /// The same with variables.
    pub(crate) fn with_variables(self, env: BTreeMap<String, String>) -> Self {
        Self { env, ..self }
    }

    /// What `make` alone builds, once something has written the Makefile.
    pub(crate) fn of_make(words: &[String], directory: Option<RepoPath>) -> Option<Self> {
        let is_plain = |word: &String| matches!(word.as_str(), "all" | "V=1" | "VERBOSE=1") || word.starts_with("-j");
        let (make, rest) = words.split_first()?;
        let rest = match rest {
            [option, path, rest @ ..] if option == "-C" && is_plain_path(path) => rest,
            rest => rest,
        };
        let is_make = matches!(make.as_str(), "make" | "gmake");
        (is_make && rest.iter().all(is_plain)).then(|| Self {
            argv: words.to_vec(),
            directory,
            env: BTreeMap::new(),
        })
    }

    /// Whether it writes a Makefile.
    pub(crate) fn configures(&self) -> bool {
        let is_configure = |word: &String| {
            matches!(word.as_str(), "./configure" | OUT_OF_TREE | "autoreconf" | "autoconf") || is_configure(word)
        };
        generates(&self.argv) || self.argv.iter().take(2).any(is_configure)
    }

    /// Whether it is a `./configure`.
    pub(crate) fn runs_configure(&self) -> bool {
        self.argv.first().is_some_and(|program| program == "./configure")
    }

    /// The path of the file that it copies, in the tree.
    pub(crate) fn copied(&self) -> Option<String> {
        let [cp, from, _] = self.argv.as_slice() else {
            return None;
        };
        (cp == "cp").then(|| match &self.directory {
            Some(directory) => format!("{directory}/{from}"),
            None => from.clone(),
        })
    }

    /// Whether CMake configures or builds something. It may be anything, so only tests of no known framework are taken to
    /// need it.
    pub(crate) fn is_of_cmake(&self) -> bool {
        self.argv.first().is_some_and(|program| program == "cmake")
    }

    /// Whether make builds everything, as it does after CMake.
    pub(crate) fn is_plain_make(&self) -> bool {
        Self::of_make(&self.argv, None).is_some()
    }

    /// Whether it is a script of the tree that is named after a build. It may build anything, so only tests of no known
    /// framework are taken to need it.
    pub(crate) fn is_script(&self) -> bool {
        self.argv.last().is_some_and(|script| is_build_script(script)) && self.argv.len() <= 2
    }

    /// Whether it only copies a file that is no code, such as settings, so that no edit of code changes the copy.
    pub(crate) fn only_copies(&self) -> bool {
        const SETTINGS: [&str; 10] = [
            "cfg", "conf", "dist", "env", "example", "ini", "json", "toml", "yaml", "yml",
        ];
        let is_settings = |path: &String| {
            path.rsplit(['.', '/'])
                .next()
                .is_some_and(|end| SETTINGS.contains(&end))
        };
        matches!(self.argv.as_slice(), [cp, from, to] if cp == "cp" && is_settings(from) && is_settings(to))
    }

    /// The ecosystem whose tests need it.
    pub(crate) fn ecosystem(&self) -> Ecosystem {
        match self.argv.first().map_or("", String::as_str) {
            "npm" | "pnpm" | "yarn" | "bun" | "lerna" | "nx" | "turbo" | "npx" | "tsc" => Ecosystem::JavaScript,
            "rake" | "bundle" => Ecosystem::Ruby,
            program if program.starts_with("python") => Ecosystem::Python,
            _ => Ecosystem::Any,
        }
    }

    /// As a person would type it at the root of the tree.
    pub(crate) fn line(&self) -> String {
        let words = self.words();
        match &self.directory {
            None => words,
            Some(directory) => format!(
                "({}cd {} && {words})",
                self.makes(directory.as_str()),
                quoted(directory.as_str())
            ),
        }
    }

    /// The same in a directory from which `up` leads to the root.
    pub(crate) fn line_from(&self, up: &str) -> String {
        let directory = self.directory.as_ref().map_or("", |directory| directory.as_str());
        let to = format!("{up}/{directory}");
        let to = to.trim_end_matches('/');
        format!("({}cd {} && {})", self.makes(to), quoted(to), self.words())
    }

    /// In shell syntax, with its variables.
    fn words(&self) -> String {
        let env = self.env.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
        let words = self.argv.iter().map(|word| quoted(word).into_owned());
        env.chain(words).collect::<Vec<_>>().join(" ")
    }

    /// The command that creates the directory of an out-of-tree build.
    fn makes(&self, directory: &str) -> String {
        match self.argv.first().is_some_and(|program| program == OUT_OF_TREE) {
            true => format!("mkdir -p {} && ", quoted(directory)),
            false => String::new(),
        }
    }
}

/// Whether CMake configures a build.
fn generates(words: &[String]) -> bool {
    is_configuring(words) == Some("cmake")
}

/// Whether a compiler is told what to write, as for a module that tests load.
fn links(options: &[&str]) -> bool {
    let output = options.iter().position(|word| *word == "-o");
    output.is_some_and(|at| options.get(at + 1).is_some_and(|path| is_plain_path(path)))
}

/// Whether CMake builds, and does not install.
fn compiles(words: &[&str]) -> bool {
    words.contains(&"--build") && !words.contains(&"install")
}

/// Whether the name of a script or a target says that it builds something.
fn is_build(name: &str) -> bool {
    let first = name.split([':', '-']).next().unwrap_or_default();
    BUILDS.contains(&first) && !name.split([':', '-']).any(|part| NOT_BUILDS.contains(&part))
}

/// `./ci/build.sh`
fn is_build_script(path: &str) -> bool {
    let name = path.rsplit_once('/').and_then(|(_, name)| name.strip_suffix(".sh"));
    name.is_some_and(is_build) && is_plain_path(path.trim_start_matches("./"))
}

/// Whether a word is a path inside of the tree, and no option: settings for tests are often a copy of a file of the tree.
fn is_plain_path(word: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._/-".contains(c);
    word.parse::<RepoPath>().is_ok() && !word.starts_with('-') && word.chars().all(is_plain)
}

/// `./autogen.sh`, `bootstrap.sh`: scripts that write `configure`, and often run it.
fn is_configure(path: &str) -> bool {
    let name = path.trim_start_matches("./");
    matches!(
        name,
        "autogen.sh" | "bootstrap.sh" | "bootstrap" | "autogen" | "buildconf" | "buildconf.sh"
    )
}

fn has_target(words: &[&str]) -> bool {
    words.iter().any(|word| is_build(word)) && !words.iter().any(|word| NOT_BUILDS.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Option<&str>) {
        let words = shlex::split(line).unwrap();
        let found = BuildCommand::of(&words, None).map(|build| build.line());
        assert_eq!(found.as_deref(), expected, "{line}");
    }

    #[test]
    fn lines_that_build_are_recognised() {
        check("npm run build", Some("npm run build"));
        check("pnpm build", Some("npm run build"));
        check("yarn run build:lib", Some("npm run build:lib"));
        check("pnpm -r build", Some("pnpm -r build"));
        check(
            "pnpm --filter ./packages/* run build",
            Some("pnpm --filter './packages/*' run build"),
        );
        check("npx lerna run build", Some("npx lerna run build"));
        check("npx tsc -b", Some("npx tsc -b"));
        check(
            "python setup.py build_ext --inplace",
            Some("python setup.py build_ext --inplace"),
        );
        check("bundle exec rake compile", Some("bundle exec rake compile"));
        check("make generate", Some("make generate"));
        check("sh bootstrap.sh", Some("sh bootstrap.sh"));
        check("./autogen.sh -s", Some("./autogen.sh -s"));
        check("./ci/build.sh", Some("./ci/build.sh"));
        check("bash scripts/build-all.sh", Some("bash scripts/build-all.sh"));
        check("./configure --enable-a", Some("./configure --enable-a"));
        let outside = BuildCommand::of(&["../configure".into()], Some("out".parse().unwrap())).unwrap();
        assert_eq!(outside.line(), "(mkdir -p out && cd out && ../configure)");
        assert!(
            outside.configures() && BuildCommand::of_make(&["make", "-C", "out"].map(String::from), None).is_some()
        );
        check("cp .env.example .env", Some("cp .env.example .env"));
        check(
            "gcc ext.c -fPIC -shared -o ext.so",
            Some("gcc ext.c -fPIC -shared -o ext.so"),
        );
        check("sudo cp tests/a.php tests/b.php", Some("cp tests/a.php tests/b.php"));
    }

    #[test]
    fn other_lines_are_not() {
        for line in [
            "npm ci",
            "sh bootstrap.sh all",
            "autoreconf ../other",
            "npm run build:docs",
            "npm run deploy",
            "npm run build -- --watch && npm publish",
            "pnpm publish build",
            "npx tsc --noEmit",
            "make",
            "make install",
            "curl https://example.org/build",
            "docker build .",
            "echo build",
            "python -m build",
            "cp -r a b",
            "./ci/build-docs.sh",
            "./ci/build.sh --release",
            "/opt/build.sh",
            "cp a ../b",
            "cp /etc/passwd a",
            "cp a b/$X",
            "gcc --version",
            "cc a.c -o /usr/lib/a.so",
        ] {
            check(line, None);
        }
    }

    #[test]
    fn a_copy_of_code_is_made_after_every_edit() {
        let only_copies = |line: &str| {
            BuildCommand::of(&shlex::split(line).unwrap(), None)
                .unwrap()
                .only_copies()
        };
        assert!(only_copies("cp .env.example .env") && only_copies("cp a.yml.dist a.yml"));
        assert!(!only_copies("cp tests/a.php tests/b.php") && !only_copies("npm run build"));
    }

    #[test]
    fn a_build_runs_where_ci_runs_it() {
        let directory = Some("packages/core".parse().unwrap());
        let words = ["npm", "run", "build"].map(String::from);
        let build = BuildCommand::of(&words, directory).unwrap();
        assert_eq!(build.line(), "(cd packages/core && npm run build)");
        assert_eq!(
            build.line_from("./../.."),
            "(cd ./../../packages/core && npm run build)"
        );
        let build = BuildCommand::of(&words, None).unwrap();
        assert_eq!(build.line_from("./.."), "(cd ./.. && npm run build)");
    }
}
