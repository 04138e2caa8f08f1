//! Python projects of every kind, and members of Rust workspaces.

use super::*;

#[test]
fn the_projects_own_tool_says_what_runs() {
    let test = ("tests/test_a.py", "import unittest\nclass T(unittest.TestCase): pass");
    check(
        &[
            (
                "tox.ini",
                "[testenv]\ncommands = {envpython} -m unittest -v {posargs}\n",
            ),
            test,
        ],
        "python3 -m unittest [Unittest, .] from `tox.ini`",
    );
    check(
        &[
            (
                "tox.ini",
                "[testenv]\ndeps = pytest\ncommands =\n    py311: coverage run -m pytest --cov=shop {posargs:tests} \\\n      -m 'not slow'\n",
            ),
            test,
        ],
        "python3 -m pytest tests -m 'not slow' [Pytest, .] from `tox.ini`",
    );
    // A path inside a tox environment does not exist elsewhere.
    check(
        &[
            (
                "tox.ini",
                "[testenv]\ncommands = pytest --doctest-modules {envsitepackagesdir}/shop tests\n",
            ),
            test,
        ],
        "python3 -m pytest [Pytest, .] from `tox.ini`",
    );
    check(
        &[
            (
                "noxfile.py",
                "def tests(session):\n    session.install('pytest')\n    session.run(\n        'pytest', '-n', '4', \"tests\", *session.posargs)\n",
            ),
            test,
        ],
        "python3 -m pytest tests [Pytest, .] from `noxfile.py`",
    );
    check(
        &[
            (
                "pyproject.toml",
                "[tool.hatch.envs.default.scripts]\ntest = 'pytest {args:tests}'\n",
            ),
            test,
        ],
        "python3 -m pytest tests [Pytest, .] from `pyproject.toml`",
    );
    check(
        &[
            (
                "pyproject.toml",
                "[tool.tox.env_run_base]\ncommands = [['pytest', '-v', { replace = 'posargs', default = ['tests'] }]]\n",
            ),
            test,
        ],
        "python3 -m pytest tests [Pytest, .] from `pyproject.toml`",
    );
}

#[test]
fn django_and_lists_of_requirements_say_it_too() {
    let test = ("shop/tests.py", "from django.test import TestCase\n");
    check(
        &[("manage.py", "import django"), test],
        "python3 manage.py test [Unittest, .] from `manage.py`",
    );
    check(
        &[
            ("requirements-dev.txt", "pytest>=8\n"),
            ("tests/test_a.py", "import unittest"),
        ],
        "python3 -m pytest [Pytest, .] from `requirements-dev.txt`",
    );
    check(
        &[
            ("requirements.txt", "pytest-xdist\n"),
            ("tests/__init__.py", ""),
            ("tests/test_a.py", "import unittest"),
        ],
        "python3 -m unittest discover [Unittest, .] from `tests/test_a.py`",
    );
}

#[test]
fn what_fails_is_run_in_the_project_that_it_belongs_to() {
    #[track_caller]
    fn near(files: &[(&str, &str)], near: &str, expected: &str) {
        let (_directory, checkout) = tree(files);
        let hints = Hints {
            near: vec![near.parse().unwrap()],
            ..Hints::default()
        };
        let found = find(&checkout, &TestSettings::default(), &hints);
        assert_eq!(found.unwrap().to_string(), expected);
    }
    let python = [
        ("pyproject.toml", "[tool.pytest.ini_options]"),
        ("tests/conftest.py", ""),
        ("tests/test_a.py", "def test_a(): pass"),
        ("libs/one/pyproject.toml", "[tool.pytest.ini_options]"),
        ("libs/one/tests/test_b.py", "def test_b(): pass"),
    ];
    near(&python, "tests/test_a.py", "python3 -m pytest");
    near(&python, "libs/one/tests/test_b.py", "cd libs/one && python3 -m pytest");
    let rust = [
        (
            "Cargo.toml",
            "[workspace]\nmembers = ['crates/*']\nexclude = ['crates/out']",
        ),
        ("crates/one/Cargo.toml", "[package]\nname = 'one'"),
        ("crates/out/Cargo.toml", "[package]\nname = 'out'"),
    ];
    near(&rust, "crates/one/src/lib.rs", "cargo test -p one");
    near(&rust, "crates/out/src/lib.rs", "cd crates/out && cargo test");
    near(&rust, "README.md", "cargo test --workspace");
}

/// The commands of a project whose only job has this step.
fn of_ci(step: &str, files: &[(&str, &str)]) -> Vec<String> {
    lines_of_job(&format!("steps: [{{{step}}}]"), files)
}

#[test]
fn several_folders_of_tests_are_all_tests() {
    let tox =
        "[testenv]\nsetenv =\n    PART=tests/core\n    web: PART=tests/web\ncommands = pytest {posargs: {env:PART}}\n";
    let files = [
        ("tox.ini", tox),
        ("tests/core/test_a.py", "def test_a(): 0\n"),
        ("tests/web/test_b.py", "def test_b(): 0\n"),
    ];
    assert_eq!(
        of_ci("run: tox, env: {TOXENV: 'py,web'}", &files),
        [
            "PART=tests/core python3 -m pytest tests/core",
            "PART=tests/web python3 -m pytest tests/web"
        ]
    );
    // One folder may be a special case.
    assert_eq!(of_ci("run: tox -e py", &files), ["python3 -m pytest"]);
}

#[test]
fn tests_of_wheels_are_set_by_variables_of_the_job() {
    let files = [
        ("tests/test_a.py", "def test_a(): 0\n"),
        ("pyproject.toml", "[project]\nname = 'a'\n"),
    ];
    let step = "uses: pypa/cibuildwheel@v3, env: {CIBW_TEST_COMMAND: 'pytest -m \"not slow\" {project}/tests'}";
    assert_eq!(of_ci(step, &files), ["python3 -m pytest -m 'not slow' ./tests"]);
}

#[test]
fn one_folder_with_all_tests_is_all_there_is() {
    let step = "run: python -m unittest discover -s src/deep, env: {MODE: fast}";
    let mut files = vec![
        ("src/deep/test_a.py", "import unittest\n"),
        ("setup.py", ""),
        ("tox.ini", "[testenv]\ncommands = pytest\n"),
    ];
    let expected = "MODE=fast python3 -m unittest discover -s src/deep";
    assert_eq!(of_ci(step, &files), [expected]);
    files.push(("other/test_b.py", "import unittest\n"));
    assert_eq!(of_ci(step, &files), ["python3 -m pytest"]);
}

#[test]
fn the_tests_of_another_repository_do_not_count() {
    let files = [("tests/test_a.py", "def test_a(): 0\n"), ("setup.py", "")];
    let other = "{uses: actions/checkout@v4, with: {repository: a/b}}";
    let own = "{uses: actions/checkout@v4, with: {path: vendor/own}}";
    let test = "{run: pytest --strict-markers}";
    for steps in [format!("{other}, {own}, {test}"), format!("{own}, {other}, {test}")] {
        let found = lines_of_job(&format!("steps: [{steps}]"), &files);
        assert_eq!(found, ["python3 -m pytest"], "{steps}");
    }
}

#[test]
fn strangers_have_no_secrets() {
    let files = [("tests/test_a.py", "def test_a(): 0\n"), ("setup.py", "")];
    for condition in [
        "[ -n \"${{ secrets.KEY }}\" ]",
        "[[ '${{secrets.KEY}}' != '' ]]",
        "test -n '${{ secrets.KEY }}'",
    ] {
        let script = format!("if {condition}; then pytest -m all; else pytest -m 'not slow'; fi");
        let steps = format!("run: {script:?}");
        assert_eq!(
            of_ci(&steps, &files),
            ["python3 -m pytest -m 'not slow'"],
            "{condition}"
        );
    }
}

#[test]
fn the_first_checkout_is_the_one_that_is_tested() {
    let files = [("tests/test_a.py", "def test_a(): 0\n"), ("setup.py", "")];
    let test = "{run: pytest --strict-markers}";
    let other = "{uses: actions/checkout@v4, with: {path: '${{ github.sha }}', ref: main}}";
    for steps in [
        format!("{{uses: actions/checkout@v4}}, {other}, {test}"),
        format!("{other}, {{uses: actions/checkout@v4, with: {{path: .}}}}, {test}"),
        "{uses: actions/checkout@v4, with: {path: '${{ github.repository }}'}}, {run: pytest --strict-markers, \
         working-directory: '${{ github.repository }}'}"
            .to_owned(),
    ] {
        let found = lines_of_job(&format!("steps: [{steps}]"), &files);
        assert_eq!(found, ["python3 -m pytest --strict-markers"], "{steps}");
    }
}

#[test]
fn a_script_that_starts_unittest_runs_as_in_ci() {
    let test = ("tests/test_a.py", "def test_a(): 0\n");
    let files = [("runtests.py", "import unittest\nunittest.main('tests')\n"), test];
    let step = "run: python runtests.py --user=root -v2, env: {BACKEND: sqlite}";
    assert_eq!(of_ci(step, &files), ["BACKEND=sqlite python3 runtests.py"]);
    // What another one prints is not known.
    let files = [("runtests.py", "import own\nown.main()\n"), test];
    assert_eq!(of_ci(step, &files)[0], "python3 -m pytest");
}

#[test]
fn tests_of_django_run_with_its_settings() {
    let files = [
        ("tests/test_a.py", "def test_a(): 0\n"),
        ("manage.py", "import django\n"),
    ];
    for (line, expected) in [
        (
            "python -W error -m coverage run -m django test -v2 tests --settings=tests.settings",
            "python3 -W error -m django test tests --settings=tests.settings",
        ),
        ("django-admin test --parallel 2", "python3 -m django test"),
        ("./manage.py test --tag fast", "python3 ./manage.py test --tag fast"),
    ] {
        assert_eq!(of_ci(&format!("run: {line}"), &files)[0], expected, "{line}");
    }
}

#[test]
fn a_module_with_all_tests_runs_as_in_ci() {
    let files = [
        ("tests/__main__.py", "import unittest\n"),
        ("tests/test_a.py", "def test_a(): 0\n"),
    ];
    assert_eq!(of_ci("run: python -m tests", &files), ["python3 -m tests"]);
    let own = [("tests/__main__.py", "import pytest\npytest.main()\n"), files[1]];
    assert_eq!(of_ci("run: python -m tests", &own)[0], "python3 -m pytest");
    // That is Python's own.
    assert_eq!(of_ci("run: python -m test", &files)[0], "python3 -m pytest");
    assert_eq!(of_ci("run: python -m tests", &files[1..])[0], "python3 -m pytest");
}
