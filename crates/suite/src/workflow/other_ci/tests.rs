//! Files of other CI systems, and the steps found in them.

use super::*;
use crate::workflow::test_steps as all_test_steps;

fn steps_of(files: &[(&str, &str)]) -> Vec<CiStep> {
    let paths: Vec<RepoPath> = files.iter().map(|(path, _)| path.parse().unwrap()).collect();
    let mut read = |path: &str| {
        let found = files.iter().find(|(name, _)| *name == path)?;
        Some(found.1.to_string())
    };
    all_test_steps(&paths, &mut read)
}

#[track_caller]
fn only(path: &str, text: &str) -> CiStep {
    let mut steps = steps_of(&[(path, text)]);
    assert_eq!(steps.len(), 1, "{steps:?}");
    steps.remove(0)
}

fn env(step: &CiStep) -> Vec<String> {
    step.env.iter().map(|(name, value)| format!("{name}={value}")).collect()
}

#[test]
fn files_of_gitlab_include_and_refer_to_others() {
    let main = "
include:
  - /ci/base.yml
  - local: ci/more.yml
  - https://example.org/a.yml
unit:
  extends: .base
  before_script: [!reference [.setup, script]]
  script:
    - !reference [.setup, script]
    - pytest -v tests
";
    let base = ".base: {variables: {MODE: ci}}\n.setup: {script: [old]}\nmore: {script: [pytest base]}\n";
    let more = ".setup: {script: [pip install -e .]}\nmore: {variables: {A: b}}\n";
    let wide = "unit: {script: [!reference [a, b]]}\na: {b: [!reference [a, b], !reference [a, b], pytest]}\n";
    let steps = steps_of(&[(".gitlab-ci.yml", main), ("ci/base.yml", base), ("ci/more.yml", more)]);
    let shown: Vec<(&str, &str)> = steps.iter().map(|step| (&step.job[..], &step.script[..])).collect();
    assert_eq!(
        shown,
        [
            ("unit", "pip install -e .\npip install -e .\npytest -v tests"),
            ("more", "pytest base")
        ]
    );
    assert_eq!(
        (env(&steps[0]), steps[0].own_env.len()),
        (vec!["MODE=ci".to_string()], 1)
    );
    assert_eq!(env(&steps[1]), ["A=b"]);
    assert!(only(".gitlab-ci.yml", wide).script.len() < 1_000);
    assert!(steps_of(&[(".gitlab-ci.yml", "include: .gitlab-ci.yml\n")]).is_empty());
}

#[test]
fn jobs_that_may_fail_count_only_alone() {
    let gitlab = "a: {script: pytest a, allow_failure: true}\n";
    assert_eq!(only(".gitlab-ci.yml", gitlab).job, "a");
    assert_eq!(
        only(".gitlab-ci.yml", &format!("{gitlab}b: {{script: pytest b}}\n")).job,
        "b"
    );
    let steps = "steps: [{command: pytest a, label: a, soft_fail: true}, {command: pytest b, label: b}]\n";
    assert_eq!(only(".buildkite/pipeline.yml", steps).job, "b");
    let azure = "steps: [{script: pytest a, condition: false}, {script: pytest b}]\n";
    assert_eq!(only("azure-pipelines.yml", azure).script, "pytest b");
}

#[test]
fn gitlab() {
    let text = "
stages: [test, deploy]
variables:
  LEVEL: '1'
  TOKEN: $SECRET
default:
  before_script: [python -V]
.common: &common
  services: [postgres:16, {name: 'redis:7', alias: cache}]
  before_script:
    - pip install -r requirements/test.txt
lint:
  script: ruff check .
unit tests:
  <<: *common
  variables: {LEVEL: 2}
  script:
    - - echo begin
      - [pytest -v tests]
deploy:
  script: pytest deployed
";
    let steps = steps_of(&[(".gitlab-ci.yml", text)]);
    let jobs: Vec<&str> = steps.iter().map(|step| step.job.as_str()).collect();
    assert_eq!(jobs, ["unit tests", "lint"]);
    assert_eq!(
        steps[0].script,
        "pip install -r requirements/test.txt\necho begin\npytest -v tests"
    );
    assert_eq!(env(&steps[0]), ["LEVEL=2"]);
    assert_eq!(steps[0].services, ["postgres:16", "redis:7"]);
}

#[test]
fn templates_of_gitlab_are_extended() {
    let text = ".base:\n  script: [go test ./...]\n.middle:\n  extends: .base\n  variables: {A: b}\ntest:\n  extends: [.other, .middle]\n\
                loop:\n  extends: loop\n";
    let step = only(".gitlab-ci.yml", text);
    assert_eq!(
        (step.script.as_str(), env(&step)),
        ("go test ./...", vec!["A=b".to_string()])
    );
}

#[test]
fn circle() {
    let text = "
version: 2.1
jobs:
  build-and-test:
    docker: [{image: 'cimg/ruby:3.2'}, {image: 'cimg/postgres:16.0'}]
    working_directory: ~/repo
    environment: {RAILS_ENV: test}
    steps:
      - checkout
      - restore_cache: {keys: [a]}
      - run: {name: Install, command: npm ci}
      - run:
          command: |
            npm test
          working_directory: web
";
    let step = only(".circleci/config.yml", text);
    assert_eq!((step.job.as_str(), step.script.trim()), ("build-and-test", "npm test"));
    assert_eq!(step.directory.as_ref().map(RepoPath::as_str), Some("web"));
    assert_eq!(step.before[0].script, "npm ci");
    assert_eq!(step.services, ["cimg/postgres:16.0"]);
    assert_eq!(env(&step), ["RAILS_ENV=test"]);
}

#[test]
fn azure() {
    let text = "
pool: {vmImage: ubuntu-latest}
stages:
  - stage: One
    jobs:
      - job: windows_test
        pool: {vmImage: windows-latest}
        steps: [{script: dotnet test}]
      - job: unit
        variables: {MODE: fast}
        steps:
          - task: UsePythonVersion@0
          - bash: pip install pytest
          - script: python -m pytest
            displayName: Tests
            workingDirectory: src
";
    let step = only("azure-pipelines.yml", text);
    assert_eq!((step.job.as_str(), step.script.as_str()), ("unit", "python -m pytest"));
    assert_eq!(step.directory.as_ref().map(RepoPath::as_str), Some("src"));
    assert_eq!(env(&step), ["MODE=fast"]);
    let flat = only("azure-pipelines.yml", "steps: [{script: mvn -B test}]\n");
    assert_eq!(flat.script, "mvn -B test");
}

#[test]
fn a_task_of_azure_may_test_on_windows_alone() {
    let task = "
variables: [{name: Configuration, value: Release}]
pool: {vmImage: windows-latest}
steps:
  - script: dotnet test other
  - task: DotNetCoreCLI@2
    inputs: {command: test, projects: PROJECTS, arguments: --no-build -c $(configuration) -v $(Other), workingDirectory: src}
";
    for (projects, expected) in [
        ("a.slnx", "dotnet test a.slnx -c Release -v $(Other)"),
        ("'**/*.csproj'", "dotnet test -c Release -v $(Other)"),
        (
            "'my tests\\a.csproj'",
            "dotnet test 'my tests/a.csproj' -c Release -v $(Other)",
        ),
    ] {
        let step = only("azure-pipelines.yml", &task.replace("PROJECTS", projects));
        assert_eq!(step.script, expected);
        assert_eq!(step.directory.as_ref().map(RepoPath::as_str), Some("src"));
    }
    assert!(steps_of(&[("azure-pipelines.yml", &task.replace("command: test", "command: pack"))]).is_empty());
}

#[test]
fn values_of_variables_do_not_multiply_a_script() {
    let script = "$(A)".repeat(10_000);
    let text = format!(
        "variables: {{A: {}}}\nsteps: [{{script: 'make test {script}'}}]\n",
        "a".repeat(4_000)
    );
    let steps = steps_of(&[("azure-pipelines.yml", &text)]);
    assert!(steps.iter().all(|step| step.script.len() < 50_000));
}

#[test]
fn buildkite_and_travis() {
    let text =
        "env: {A: '1'}\nsteps:\n  - label: ':go: Test'\n    commands: ['go vet ./...', 'go test ./...']\n  - wait\n";
    let step = only(".buildkite/pipeline.yml", text);
    assert_eq!(step.script, "go vet ./...\ngo test ./...");
    let text = "language: ruby\nservices: redis-server\ninstall: bundle install\nscript:\n  - bundle exec rspec\n";
    let step = only(".travis.yml", text);
    assert_eq!(
        (step.script.as_str(), step.services.as_slice()),
        ("bundle exec rspec", &["redis-server".to_string()][..])
    );
}

#[test]
fn the_variables_of_the_first_job_of_travis() {
    for (env, expected) in [
        ("[A=1 B='2 3', A=2]", "A=1 B=2 3"),
        ("A=1", "A=1"),
        ("{A: 1}", "A=1"),
        ("{global: [B=2, {secure: abc}], jobs: [A=1, A=2]}", "A=1 B=2"),
        ("{global: {B: 2}, matrix: [A=1]}", "A=1 B=2"),
        ("['A=$HOME B=2', A=1]", "B=2"),
        ("[\"A='1\"]", ""),
    ] {
        let step = only(".travis.yml", &format!("env: {env}\nscript: pytest\n"));
        let shown: Vec<String> = step.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(shown.join(" "), expected, "{env}");
    }
}

/// Workflows of GitHub count before everything else.
#[test]
fn other_systems_count_only_without_github_actions() {
    let ours = "on: push\njobs: {test: {runs-on: ubuntu-latest, steps: [{run: pytest ours}]}}\n";
    let theirs = "test: {script: pytest theirs}\n";
    let steps = steps_of(&[(".github/workflows/ci.yml", ours), (".gitlab-ci.yml", theirs)]);
    assert_eq!(
        steps.iter().map(|step| step.script.as_str()).collect::<Vec<_>>(),
        ["pytest ours"]
    );
}

/// The files may be a stranger's.
#[test]
fn nonsense_and_bombs_yield_nothing() {
    let bomb: String = (0..20)
        .map(|n| format!("a{}: &a{} [*a{n}, *a{n}, *a{n}]\n", n + 1, n + 1))
        .collect();
    let deep = format!("test: {{script: {}pytest{}}}\n", "[".repeat(200), "]".repeat(200));
    for text in [
        "",
        "[]",
        "test: 3",
        "test: {script: }",
        "steps: x",
        &format!("a0: &a0 x\n{bomb}test: {{script: *a20}}\n"),
        &deep,
    ] {
        for (path, _) in SYSTEMS {
            assert!(steps_of(&[(path, text)]).is_empty(), "{path}: {text}");
        }
    }
    for outside in ["../../etc", "/etc", "~/other"] {
        let outside =
            format!("jobs: {{test: {{steps: [{{run: {{working_directory: {outside}, command: pytest}}}}]}}}}\n");
        assert!(steps_of(&[(".circleci/config.yml", &outside)]).is_empty());
    }
}
