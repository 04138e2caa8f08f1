//! Workflows as repositories contain them, and the names with which GitHub shows their jobs and steps.

use super::*;

const WORKFLOW: &str = r#"
name: CI
on: [pull_request]
env:
  LEVEL: workflow
  TOKEN: ${{ secrets.TOKEN }}
defaults:
  run:
    working-directory: py
jobs:
  lint:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v5
      - run: ruff check .
  test:
    runs-on: ${{ matrix.os }}
    strategy:
      matrix:
        python: ["3.11", "3.12"]
        os: [ubuntu-latest, windows-latest]
        include:
          - os: ubuntu-latest
            extra: -m slow
    env:
      LEVEL: job
    steps:
      - uses: actions/checkout@v5
      - name: Install on ${{ matrix.python }}
        run: pip install .
      - name: Tests
        run: |
          set -e
          pytest -q ${{ matrix.extra }} --python=${{ matrix.python }}
        env:
          PYTHONPATH: src
          KEY: ${{ secrets.KEY }}
          WHERE: ${{ env.LEVEL }}
      - run: pytest --again
        shell: bash -l {0}
        working-directory: ${{ github.workspace }}/docs
      - name: Snake
        shell: python
        run: import pytest
      - name: Hidden
        run: pytest ${{ steps.x.outputs.y }}
      - name: Remote
        uses: some/action@v1
  named:
    name: Named ${{ matrix.v }}
    runs-on: ubuntu-latest
    strategy: { matrix: { v: [1.0, 2.5] } }
    steps:
      - run: make test V=${{ matrix.v }}
      - name: twice
        run: pytest one
      - name: twice
        run: pytest two
  call:
    strategy: { matrix: { part: [a, b] } }
    uses: ./.github/workflows/called.yml
    with: { part: "${{ matrix.part }}" }
  local:
    runs-on: ubuntu-latest
    steps:
      - uses: ./.github/actions/tests
        with: { flags: -x }
"#;

const CALLED: &str = r#"
on:
  workflow_call:
    inputs:
      part: { type: string, required: true }
      how: { type: string, default: fast }
jobs:
  inner:
    runs-on: ubuntu-latest
    steps:
      - run: tox -e ${{ inputs.part }}-${{ inputs.how }}
"#;

const ACTION: &str = r#"
name: Tests
inputs: { flags: { default: "" }, where: { default: web } }
runs:
  using: composite
  steps:
    - run: npm ci
      shell: bash
    - run: npm test -- ${{ inputs.flags }}
      shell: bash
      working-directory: ./${{ inputs.where }}
"#;

fn read(path: &str) -> Option<String> {
    let text = match path {
        ".github/workflows/ci.yml" => WORKFLOW,
        ".github/workflows/called.yml" => CALLED,
        ".github/actions/tests/action.yaml" => ACTION,
        _ => return None,
    };
    Some(text.to_string())
}

fn ask(job: &str, steps: &[&str], failed: usize) -> Option<CiStep> {
    let steps: Vec<String> = steps.iter().map(ToString::to_string).collect();
    let workflow = ".github/workflows/ci.yml".parse().unwrap();
    let failed = Failed {
        workflow: &workflow,
        job,
        steps: &steps,
        failed,
    };
    failed_step(&failed, &mut read)
}

/// Script, directory and variables.
type Expected<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)]);

#[track_caller]
fn check(job: &str, step: &str, expected: Option<Expected<'_>>) {
    let found = ask(job, &["Set up job", step, "Complete job"], 1);
    let expected = expected.map(|(script, directory, env)| {
        let env: Vec<(String, String)> = env
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect();
        (script.to_string(), directory.to_string(), env)
    });
    let found = found.map(|step| {
        let directory = step.directory.map(|directory| directory.to_string());
        (
            step.script,
            directory.unwrap_or_default(),
            step.env.into_iter().collect(),
        )
    });
    assert_eq!(found, expected, "{job}: {step}");
}

#[test]
fn the_step_is_what_the_workflow_says() {
    let level = ("LEVEL", "workflow");
    check("lint", "Run ruff check .", Some(("ruff check .", "py", &[level])));
    let env: &[_] = &[("LEVEL", "job"), ("PYTHONPATH", "src"), ("WHERE", "job")];
    let tests = "set -e\npytest -q -m slow --python=3.11\n";
    check("test (3.11, ubuntu-latest, -m slow)", "Tests", Some((tests, "py", env)));
    let env: &[_] = &[("LEVEL", "job")];
    check(
        "test (3.12, ubuntu-latest, -m slow)",
        "Install on 3.12",
        Some(("pip install .", "py", env)),
    );
    let again = Some(("pytest --again", "docs", env));
    check("test (3.12, windows-latest)", "Run pytest --again", again);
    check("Named 1", "Run make test V=1", Some(("make test V=1", "py", &[level])));
    check(
        "Named 2.5",
        "Run make test V=2.5",
        Some(("make test V=2.5", "py", &[level])),
    );
    check(
        "call (b) / inner",
        "Run tox -e b-fast",
        Some(("tox -e b-fast", "", &[])),
    );
    check(
        "local",
        "Run ./.github/actions/tests",
        Some((
            "(\ncd \"$GITHUB_WORKSPACE\"\nnpm ci\n)\nnpm test -- -x",
            "web",
            &[level],
        )),
    );
}

#[test]
fn of_steps_with_one_name_the_failed_one_is_taken() {
    let steps = ["Set up job", "Run make test V=1", "twice", "twice"];
    assert_eq!(ask("Named 1", &steps, 2).unwrap().script, "pytest one");
    assert_eq!(ask("Named 1", &steps, 3).unwrap().script, "pytest two");
    assert_eq!(ask("Named 1", &steps[..3], 2), None, "nothing says which one it is");
}

#[test]
fn what_is_not_written_down_is_not_guessed() {
    let job = "test (3.12, ubuntu-latest, -m slow)";
    for step in [
        "Snake",
        "Hidden",
        "Remote",
        "Absent",
        "Run actions/checkout@v5",
        "Set up job",
    ] {
        check(job, step, None);
    }
    check("test (3.12, windows-latest)", "Tests", None);
    check("test (3.13, ubuntu-latest)", "Tests", None);
    check("test", "Tests", None);
    check("call (c) / inner", "Run tox -e c-fast", None);
    check("", "", None);
}

#[test]
fn hostile_files_are_bounded() {
    let workflow: RepoPath = "a.yml".parse().unwrap();
    let steps = ["x".to_string()];
    let failed = Failed {
        workflow: &workflow,
        job: "a",
        steps: &steps,
        failed: 0,
    };
    let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_string();
    for level in 1..12 {
        let above = format!("*a{},", level - 1).repeat(9);
        bomb.push_str(&format!("a{level}: &a{level} [{above}]\n"));
    }
    for text in [
        bomb,
        "[".repeat(100_000),
        "a: ".repeat(100_000),
        "- ".repeat(100_000),
        format!("jobs: {{a: {{name: \"{}\"}}}}", "${{".repeat(50_000)),
        "jobs:\n  a:\n    uses: ./a.yml\n".into(),
        "jobs:\n  a:\n    steps: [{uses: ./a}, {run: [1]}, {name: {}}]\n".into(),
        "\u{0}\u{feff}%YAML 9\n---\n".into(),
        String::new(),
    ] {
        assert_eq!(failed_step(&failed, &mut |_| Some(text.clone())), None);
    }
    // Workflows and actions that call themselves.
    let call = "jobs: {a: {uses: ./a.yml}}";
    let failed = Failed {
        job: "a / a / a / a / a / a / a / a",
        ..failed
    };
    assert_eq!(failed_step(&failed, &mut |_| Some(call.into())), None);
    let own = "jobs: {a: {steps: [{name: x, uses: ./a}]}}\nruns: {using: composite, steps: [{name: x, uses: ./a}, {name: x, uses: ./a}]}";
    let failed = Failed { job: "a", ..failed };
    assert_eq!(failed_step(&failed, &mut |_| Some(own.into())), None);
}

/// The search through files that name each other many times over is given up, however many steps it would reach.
#[test]
fn files_that_multiply_are_bounded() {
    let workflow: RepoPath = "a.yml".parse().unwrap();
    let steps = ["x".to_string()];
    let read = |job: &str, text: &str| {
        let mut reads = 0;
        let failed = Failed {
            workflow: &workflow,
            job,
            steps: &steps,
            failed: 0,
        };
        let found = failed_step(&failed, &mut |_| {
            reads += 1;
            Some(text.to_string())
        });
        assert!(reads <= 100, "{reads}");
        found
    };
    let numbers: Vec<String> = (0..256).map(|number| number.to_string()).collect();
    let matrix = format!("strategy: {{matrix: {{v: [{}]}}}}", numbers.join(","));
    // Each of 256 jobs calls 256 jobs, and so on.
    let calls = format!("jobs: {{a: {{name: a, {matrix}, uses: ./a.yml}}}}");
    assert_eq!(read("a / a / a / a / a", &calls), None);
    // Each of a thousand steps runs an action of a thousand steps.
    let own = "{name: y, uses: ./a}, ".repeat(1_000);
    let actions =
        format!("jobs: {{a: {{steps: [{{name: x, uses: ./a}}]}}}}\nruns: {{using: composite, steps: [{own}]}}");
    assert_eq!(read("a", &actions), None);
    // Many jobs with the same name and many steps each, which all agree.
    let fillers = "{run: z}, ".repeat(2_000);
    let alike = format!("jobs: {{a: {{name: a, {matrix}, steps: [{fillers}{{name: x, run: pytest}}]}}}}");
    assert_eq!(read("a", &alike), None);
    let alike = format!("jobs: {{a: {{name: a, {matrix}, steps: [{{name: x, run: pytest}}]}}}}");
    assert_eq!(read("a", &alike).unwrap().script, "pytest");
}
