//! Which of the commands in a project's CI run.

use super::*;

/// The commands of a project with this workflow.
pub(super) fn commands(jobs: &str, more: &[(&str, &str)]) -> Vec<String> {
    let workflow = format!("on: [push, pull_request]\njobs:\n{jobs}");
    let mut files = vec![
        (".github/workflows/ci.yml", workflow.as_str()),
        ("setup.py", ""),
        ("tests/test_a.py", "def test_a(): pass\n"),
        ("live/test_b.py", "def test_b(): pass\n"),
    ];
    files.extend(more);
    let (_directory, checkout) = tree(&files);
    let all = find_all(&checkout, &TestSettings::default(), &hints(&checkout));
    all.iter().map(ToString::to_string).collect()
}

/// The commands of a project with one job of these steps.
pub(super) fn steps(steps: &str, more: &[(&str, &str)]) -> Vec<String> {
    commands(
        &format!("  test:\n    runs-on: ubuntu-latest\n    steps:\n{steps}"),
        more,
    )
}

#[test]
fn folders_that_are_tested_apart_are_all_tested() {
    let both = ["python3 -m pytest live", "python3 -m pytest tests"];
    let tested = |script: &str| steps(&format!("      - run: |\n{script}"), &[]);
    assert_eq!(tested("          pytest live\n          pytest tests -x\n"), both);
    assert_eq!(
        tested("          pytest tests\n          pytest tests/unit\n"),
        [both[1]]
    );
    let go = [("go.mod", "module m\n"), ("a/a_test.go", ""), ("b/b_test.go", "")];
    let lines = "      - run: go test ./a/...\n      - run: go test -race ./b/...\n      - run: go test ./a/c/...\n";
    let found = steps(lines, &go);
    assert_eq!(found[..2], ["go test ./a/...", "go test -race ./b/..."], "{found:?}");
}

#[test]
fn what_does_not_run_for_a_change_does_not_count() {
    let only = ["python3 -m pytest tests"];
    for condition in [
        "github.event_name == 'schedule'",
        "failure()",
        "false",
        "${{ github.event_name == 'workflow_dispatch' && github.ref == 'x' }}",
        "github.ref == 'x'",
    ] {
        let job = format!("  a:\n    if: {condition}\n    steps: [{{run: pytest live}}]\n");
        let other = "  test:\n    steps: [{run: pytest tests}]\n";
        assert_eq!(commands(&format!("{job}{other}"), &[]), only, "{condition}");
        let step = format!("      - run: pytest live\n        if: {condition}\n      - run: pytest tests\n");
        assert_eq!(steps(&step, &[]), only, "{condition}");
    }
    for condition in [
        "github.event_name == 'push'",
        "github.ref != 'x'",
        "github.event_name != 'push'",
    ] {
        let step = format!("      - run: pytest tests\n        if: {condition}\n");
        assert_eq!(steps(&step, &[]), only, "{condition}");
    }
}

#[test]
fn what_may_fail_does_not_count_beside_what_may_not() {
    let only = ["python3 -m pytest tests"];
    let step = "      - run: pytest live\n        continue-on-error: true\n";
    assert_eq!(steps(&format!("{step}      - run: pytest tests\n"), &[]), only);
    assert_eq!(steps(step, &[]), ["python3 -m pytest live"]);
    assert_eq!(
        steps(
            "      - run: |\n          pytest live || true\n          pytest tests\n",
            &[]
        ),
        only
    );
    assert_eq!(
        steps("      - run: pytest live || true\n", &[]),
        ["python3 -m pytest live"]
    );
    let travis = [(".travis.yml", "script: pytest tests\n")];
    let alone = "  ci:\n    continue-on-error: true\n    steps: [{run: pytest live}]\n";
    assert_eq!(commands(alone, &travis), ["python3 -m pytest live"]);
    let job = "  ci:\n    continue-on-error: true\n    steps: [{run: pytest live}]\n";
    assert_eq!(
        commands(&format!("{job}  other:\n    steps: [{{run: pytest tests}}]\n"), &[]),
        only
    );
}

#[test]
fn tasks_pass_on_their_variables() {
    let line = |run: &str| format!("      - run: {run}\n");
    let makefile = "ci: lint check\nlint:\n\truff check .\ncheck:\n\tMODE=$(MODE) pytest $(DIR) $(ARGS)\n";
    // The Makefile is also found.
    let made = |run: &str| steps(&line(run), &[("Makefile", makefile)])[..1].to_vec();
    assert_eq!(
        made("make -C . ci DIR=tests MODE=a"),
        ["MODE=a python3 -m pytest tests"]
    );
    assert_eq!(made("make check"), ["MODE='' python3 -m pytest"]);
    let nox =
        "import nox\n@nox.session\ndef test(session):\n    session.run(\"pytest\", \"tests\", env={\"MODE\": 'a b'})\n";
    assert_eq!(
        steps(&line("nox -s test"), &[("noxfile.py", nox)]),
        ["MODE='a b' python3 -m pytest tests"]
    );
    let hatch = "[envs.default]\nenv-vars.MODE = 'a b'\n[envs.default.scripts]\ntest = 'pytest tests'\n";
    assert_eq!(
        steps(&line("hatch run test"), &[("hatch.toml", hatch)]),
        ["MODE='a b' python3 -m pytest tests"]
    );
    assert_eq!(
        steps(&line("pytest -k 'not live'"), &[]),
        ["python3 -m pytest -k 'not live'"]
    );
    assert_eq!(
        steps(&line("pytest -k 'not live and api'"), &[])[..1],
        ["python3 -m pytest"]
    );
    let short = [("go.mod", "module m\n"), ("a/a_test.go", "")];
    let found = steps(&line("go test -short ./a"), &short);
    assert_eq!(found[1..], ["go test ./..."], "{found:?}");
    let twice = "      - run: go test -short -coverprofile=x ./...\n      - run: go test -short -race ./...\n";
    assert_eq!(steps(twice, &short)[..1], ["go test -short ./..."]);
}
