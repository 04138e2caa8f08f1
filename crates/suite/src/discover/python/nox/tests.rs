//! Sessions of nox as scripts.

use super::*;
use crate::discover::tests::tree;

const FILE: &str = r#"
import nox

nox.options.sessions = ["lint", "unit"]
DEPS = ["mock"]


def ready(session, extra="x"):
    session.install("-r", "requirements/test.txt", *DEPS)  # mock
    session.install("-e", f".[{extra}]", "six>=1")


@nox.session
def lint(session):
    session.run("ruff", "check")


@nox.session(
    python=["3.11", "3.12"],
    name="unit",
)
@nox.parametrize("django", [4, 5])
def tests(
    session: nox.Session,
    django,
) -> None:
    """session.run("not this")"""
    # session.run("nor", "this")
    ready(session, extra="test")
    session.run_always("pdm", "install", "-G", "test", external=True)
    session.run(
        "coverage", "run", "-m",  # measured
        "pytest",
        "tests",
        *session.posargs,
        env={"COVERAGE_FILE": ".coverage", "X": f"{django}"},
        success_codes=[0, 1],
    )
    session.run(which(session), "x")
    if session.posargs:
        session.chdir('docs')
"#;

fn of(arguments: &str) -> Option<Vec<String>> {
    in_file(FILE, arguments)
}

fn in_file(file: &str, arguments: &str) -> Option<Vec<String>> {
    let (_directory, checkout) = tree(&[("noxfile.py", file)]);
    let place = Directory {
        checkout: &checkout,
        directory: None,
    };
    scripts(&place, &shlex::split(arguments).unwrap())
}

#[test]
fn a_session_installs_and_runs_what_is_written_down() {
    let lint = "ruff check\n".to_string();
    let unit = "pip install -r requirements/test.txt\npip install 'six>=1'\npdm install -G test\n\
                COVERAGE_FILE=.coverage coverage run -m pytest tests\ncd docs\n"
        .to_string();
    let given = unit.replace("tests\n", "tests -k x\n");
    assert_eq!(of("-s unit-3.12"), Some(vec![unit.clone()]));
    assert_eq!(of("-rs 'unit(django=5)' -- -k x"), Some(vec![lint.clone(), given]));
    assert_eq!(of("--session=lint -v"), Some(vec![lint.clone()]));
    assert_eq!(of("-e lint unit --verbose"), Some(vec![lint.clone(), unit.clone()]));
    assert_eq!(of(""), Some(vec![lint, unit]));
    assert_eq!(of("-s docs"), None);
    assert_eq!(of("-t unit"), None);
}

#[test]
fn a_session_of_that_very_name_comes_before_versions_of_another() {
    let file = "@nox.session\ndef tests(session):\n    session.run('pytest')\n\n\n\
                @nox.session(name='tests-slow')\ndef slow(session):\n    session.run('pytest', '--slow')\n";
    assert_eq!(in_file(file, "-s tests-slow"), Some(vec!["pytest --slow\n".into()]));
    assert_eq!(in_file(file, "-s tests-3.12"), Some(vec!["pytest\n".into()]));
}

#[test]
fn hostile_files_stay_within_bounds() {
    let many = "def f(session):\n    f(session)\n    f(session)\n\n@nox.session\ndef g(session):\n    f(session)\n";
    assert_eq!(commands(many), Vec::<String>::new());
    let calls = "@nox.session\ndef g(session):\n".to_string() + &"    session.run('a')\n".repeat(1_000);
    assert_eq!(commands(&calls).len(), MAX_CALLS);
    let open = "@nox.session\ndef g(session):\n    session.run(".to_string() + &"(".repeat(100_000);
    assert_eq!(commands(&open), Vec::<String>::new());
    let quotes = "@nox.session\ndef g(session):\n    session.run('a', '$(id)', 'b c')\n";
    assert_eq!(commands(quotes), ["a '$(id)' 'b c'"]);
}

#[test]
fn words_after_two_dashes_reach_the_commands() {
    let file = "@nox.session\ndef a(session):\n    session.install(*session.posargs)\n    session.run('pytest', *session.posargs, '-q')\n\
                @nox.session\ndef b(session):\n    session.run('pytest', *(session.posargs or [\"tests\", '-x']))\n\
                @nox.session\ndef c(session):\n    session.run('pytest', *(session.posargs if session.posargs else []))\n\
                @nox.session\ndef d(session):\n    session.run('pytest', *(session.posargs or default()), *OTHER)\n\
                @nox.session\ndef e(session):\n    args: list = session.posargs if session.posargs else [\"tests\"]\n    session.run('pytest', *args)\n\
                @nox.session\ndef f(session):\n    args = session.posargs or ['a']\n    args = args + ['b']\n    session.run('pytest', *args)\n";
    let of = |arguments: &str| in_file(file, arguments).unwrap().concat();
    assert_eq!(of("-s a"), "pytest -q\n");
    assert_eq!(of("-s a -- -k 'b c' --cov"), "pytest -k 'b c' --cov -q\n");
    assert_eq!(of("-s b"), "pytest tests -x\n");
    assert_eq!(of("-s b -- one"), "pytest one\n");
    assert_eq!(of("-s c -- -s d"), "pytest -s d\n");
    assert_eq!(of("-s d -- one"), "pytest\n");
    assert_eq!(of(&format!("-s a -- {}", "x ".repeat(2_000))), "pytest -q\n");
    assert_eq!(of("-s e"), "pytest tests\n");
    assert_eq!(of("-s e -- one"), "pytest one\n");
    assert_eq!(of("-s f -- one"), "pytest\n");
}
