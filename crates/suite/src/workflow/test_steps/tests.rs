//! Workflows, and the steps in them that test.

use super::*;

/// The steps of a single workflow with one job that are run, with their directories.
fn of_job(job: &str) -> Vec<(String, String)> {
    let path: RepoPath = format!("{WORKFLOWS}ci.yml").parse().unwrap();
    let text = format!("on: push\njobs:\n  test: {job}\n");
    let steps = test_steps([&path], &mut |_| Some(text.clone()));
    let directory = |step: &CiStep| step.directory.as_ref().map(ToString::to_string).unwrap_or_default();
    steps
        .iter()
        .filter(|step| !step.is_aside)
        .map(|step| (step.script.clone(), directory(step)))
        .collect()
}

#[test]
fn the_leg_with_the_current_release_comes_first() {
    let job = "{runs-on: ubuntu-latest, strategy: {matrix: {rust: ['1.74', nightly, stable]}}, steps: [{run: 'pytest ${{ matrix.rust }}'}]}";
    let scripts: Vec<String> = of_job(job).into_iter().map(|(script, _)| script).collect();
    assert_eq!(scripts, ["pytest stable", "pytest 1.74", "pytest nightly"]);
}

#[test]
fn a_step_that_is_skipped_on_this_leg_is_not_the_tests() {
    let steps = "[{run: pip install a, if: matrix.os == 'mac'}, {run: pytest windows, if: matrix.os == 'windows-latest'}, \
                 {run: pytest linux, if: matrix.os == 'ubuntu-latest'}]";
    let job = format!(
        "{{runs-on: '${{{{ matrix.os }}}}', strategy: {{matrix: {{os: [windows-latest, ubuntu-latest]}}}}, steps: {steps}}}"
    );
    assert_eq!(of_job(&job), [("pytest linux".into(), String::new())]);
}

/// Systems and versions make many jobs, and the one for this machine comes last.
#[test]
fn a_leg_for_this_machine_is_found_among_many() {
    let job = "{runs-on: '${{ matrix.os }}', strategy: {matrix: {os: [windows-latest, macos-latest, macos-13, ubuntu-latest], \
               node: [10, 12, 14, 16, 18, 20]}}, steps: [{uses: actions/setup-node@v4, with: {node-version: '${{ matrix.node }}'}}, \
               {run: npm test}]}";
    assert_eq!(of_job(job), [("npm test".into(), String::new())]);
}

#[test]
fn tests_count_before_checks_in_any_leg() {
    let job = "{runs-on: ubuntu-latest, strategy: {matrix: {rust: [1.85.0, stable]}}, steps: \
               [{run: cargo fmt --check}, {run: cargo clippy}, {run: cargo test, if: matrix.rust == 'stable'}]}";
    assert_eq!(of_job(job), [("cargo test".into(), String::new())]);
    let checks = "{runs-on: ubuntu-latest, steps: [{run: echo}, {run: uv run ruff check}, {run: black --check .}]}";
    assert_eq!(of_job(checks), [("uv run ruff check".into(), String::new())]);
}

#[test]
fn a_plain_line_for_windows_counts_where_there_is_nothing_else() {
    let job = |run: &str, more: &str| {
        let job = format!("{{runs-on: windows-latest, steps: [{{run: '{run}'}}]}}\n{more}");
        of_job(&job).into_iter().map(|(script, _)| script).collect::<Vec<_>>()
    };
    assert_eq!(job("dotnet test -c Release", ""), ["dotnet test -c Release"]);
    assert_eq!(job("dotnet test $env:A", ""), [""; 0]);
    let linux = "  linux: {runs-on: ubuntu-latest, steps: [{run: make test}]}\n";
    assert_eq!(job("dotnet test", linux), ["make test"]);
}

#[test]
fn tests_of_the_whole_program_count_if_they_need_no_more_than_node() {
    let job = "{runs-on: ubuntu-latest, steps: [{run: npm test}]}\n  \
               test-slow: {runs-on: ubuntu-latest, steps: [{run: npm run test:slow}]}\n  \
               smoke: {runs-on: ubuntu-latest, steps: [{run: npm run test:smoke}]}\n  \
               e2e: {runs-on: ubuntu-latest, steps: [{run: npm ci}, {run: node e2e/test.js}]}\n  \
               e2e-browser: {runs-on: ubuntu-latest, steps: [{run: node e2e/test.js --all}]}\n  \
               test-e2e: {runs-on: ubuntu-latest, steps: [{run: npm run test:e2e}]}\n  \
               unit: {runs-on: ubuntu-latest, steps: [{run: npm run unit}]}\n";
    let scripts: Vec<String> = of_job(job).into_iter().map(|(script, _)| script).collect();
    assert_eq!(
        scripts,
        [
            "npm test",
            "npm run unit",
            "npm run test:slow",
            "npm run test:smoke",
            "node e2e/test.js"
        ]
    );
}

#[test]
fn a_checkout_below_the_workspace_is_the_tree() {
    let steps = |directory: &str| {
        format!(
            "{{runs-on: ubuntu-latest, steps: [{{uses: actions/checkout@v4, with: {{repository: a/b, path: other}}}}, \
             {{uses: actions/checkout@v4, with: {{path: go/src/yaml}}}}, {{run: go test ., working-directory: '{directory}'}}]}}"
        )
    };
    let found = |directory: &str| of_job(&steps(directory));
    assert_eq!(
        found("${{ github.workspace }}/go/src/yaml"),
        [("go test .".into(), String::new())]
    );
    assert_eq!(found("go/src/yaml/inner"), [("go test .".into(), "inner".into())]);
    assert_eq!(found("go/src/yaml2"), [], "outside of the checkout");
    assert_eq!(found("other"), []);
}

#[test]
fn a_called_workflow_tests_with_the_inputs_of_its_caller() {
    let ci = "on: push\njobs:\n  test:\n    strategy: {matrix: {part: [unit, slow]}}\n    uses: ./.github/workflows/run.yml\n    \
              with: {script: 'test:${{ matrix.part }}'}\n  again:\n    uses: ./.github/workflows/ci.yml\n";
    let run = "on:\n  workflow_call: {inputs: {script: {type: string}, tool: {default: npm}}}\njobs:\n  run:\n    \
               runs-on: ubuntu-latest\n    steps: [{run: '${{ inputs.tool }} run ${{ inputs.script }}'}]\n";
    let paths: Vec<RepoPath> = ["ci.yml", "run.yml"]
        .iter()
        .map(|name| format!("{WORKFLOWS}{name}").parse().unwrap())
        .collect();
    let steps = test_steps(&paths, &mut |path| {
        Some(if path.ends_with("ci.yml") { ci } else { run }.to_string())
    });
    let scripts: Vec<&str> = steps.iter().map(|step| step.script.as_str()).collect();
    assert_eq!(scripts.first(), Some(&"npm run test:unit"), "{scripts:?}");
}

#[test]
fn jobs_that_test_come_first() {
    let ci = "on: [push]\njobs:\n  lint:\n    runs-on: ubuntu-latest\n    steps: [{run: ruff check .}]\n  \
              test:\n    runs-on: ${{ matrix.os }}\n    strategy:\n      matrix:\n        os: [windows-latest, ubuntu-latest]\n    \
              steps:\n      - uses: actions/checkout@v4\n      - run: pip install -r requirements/ci.txt\n      - run: echo\n      \
              - name: Tests\n        run: pytest tests\n";
    let nightly =
        "on: {schedule: [{cron: x}]}\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps: [{run: pytest slow}]\n";
    let release = "on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps: [{run: pytest released}]\n  build:\n    \
                   runs-on: macos-latest\n    steps: [{run: pytest}]\n";
    let paths = ["ci.yml", "nightly.yml", "release.yaml", "deep/ci.yml"];
    let paths: Vec<RepoPath> = paths
        .iter()
        .map(|name| format!("{WORKFLOWS}{name}").parse().unwrap())
        .collect();
    let mut read = |path: &str| {
        let texts = [("ci.yml", ci), ("nightly.yml", nightly), ("release.yaml", release)];
        let (_, text) = texts
            .into_iter()
            .find(|(name, _)| path == format!("{WORKFLOWS}{name}"))?;
        Some(text.to_string())
    };
    let steps = test_steps(&paths, &mut read);
    let shown: Vec<(&str, &str)> = steps
        .iter()
        .map(|step| (step.job.as_str(), step.script.as_str()))
        .collect();
    assert_eq!(shown, [("test", "pytest tests"), ("lint", "ruff check .")]);
    assert_eq!(steps[0].name, "Tests");
    assert_eq!(steps[0].before[0].script, "pip install -r requirements/ci.txt");
    assert_eq!(steps[0].before.len(), 1);
}

#[test]
fn tests_of_how_parts_work_together_are_named_and_not_run() {
    let files = [
        (
            "ci.yml",
            "{test: {runs-on: ubuntu-latest, steps: [{run: pytest}]}, \
                     integration: {runs-on: ubuntu-latest, steps: [{run: pytest --live}]}, \
                     deploy: {runs-on: ubuntu-latest, steps: [{run: pytest deployed}]}}",
        ),
        (
            "integration.yml",
            "{build: {runs-on: ubuntu-latest, steps: [{run: pytest tests/servers}]}}",
        ),
        (
            "release.yml",
            "{build: {runs-on: ubuntu-latest, steps: [{run: pytest released}]}}",
        ),
    ];
    let paths: Vec<RepoPath> = files
        .iter()
        .map(|(name, _)| format!("{WORKFLOWS}{name}").parse().unwrap())
        .collect();
    let steps = test_steps(&paths, &mut |path| {
        let (_, jobs) = files.iter().find(|(name, _)| path.ends_with(&format!("/{name}")))?;
        Some(format!("on: push\njobs: {jobs}\n"))
    });
    let steps: Vec<(&str, bool)> = steps.iter().map(|step| (step.script.as_str(), step.is_aside)).collect();
    assert_eq!(
        steps,
        [
            ("pytest", false),
            ("pytest --live", true),
            ("pytest tests/servers", true)
        ]
    );
}

#[test]
fn a_workflow_that_tests_on_macos_alone_tests_here() {
    let found = |name: &str, jobs: &str| {
        let path: RepoPath = format!("{WORKFLOWS}{name}.yml").parse().unwrap();
        let text = format!("on: push\njobs:\n{jobs}");
        let steps = test_steps([&path], &mut |_| Some(text.clone()));
        steps.into_iter().map(|step| step.script).collect::<Vec<_>>()
    };
    let mac = "  unit: {runs-on: macos-latest, steps: [{run: npm run unit}]}\n";
    let linux = "  test: {runs-on: ubuntu-latest, steps: [{run: npm test}]}\n";
    assert_eq!(found("ci", mac), ["npm run unit"]);
    assert_eq!(found("ci", &format!("{mac}{linux}")), ["npm test"]);
    // Its name says that it is for that system.
    for name in ["ci-macos", "build_ios", "osx"] {
        assert_eq!(found(name, mac), [""; 0], "{name}");
    }
}

#[test]
fn an_action_of_the_project_sets_variables_for_later_steps() {
    let path: RepoPath = format!("{WORKFLOWS}ci.yml").parse().unwrap();
    let workflow = "on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      \
                    - {uses: ./setup, with: {flags: -x}}\n      - {uses: ./setup, if: github.actor == 'a'}\n      \
                    - {run: pytest $FLAGS}\n";
    let action = "inputs: {flags: {default: -y}}\nruns:\n  using: composite\n  steps:\n    \
                  - {shell: bash, run: 'echo \"FLAGS=${{ inputs.flags }}\" >> $GITHUB_ENV'}\n    \
                  - {shell: bash, run: 'echo \"MODE=$FLAGS-fast\" >> $GITHUB_ENV'}\n";
    let env = |workflow: &str| {
        let steps = test_steps([&path], &mut |file| match file {
            "setup/action.yml" => Some(action.to_owned()),
            _ => file.ends_with("ci.yml").then(|| workflow.to_owned()),
        });
        steps[0].env.clone()
    };
    let certain = workflow.replace("      - {uses: ./setup, if: github.actor == 'a'}\n", "");
    let set = [("FLAGS", "-x"), ("MODE", "-x-fast")].map(|(name, value)| (name.to_string(), value.to_string()));
    assert_eq!(env(&certain), set.into());
    // The second call may be skipped.
    assert_eq!(env(workflow), [].into());
}

#[test]
fn a_job_for_another_repository_tests_nothing_here() {
    let job = |with: &str| {
        of_job(&format!(
            "{{runs-on: ubuntu-latest, steps: [{{uses: actions/checkout@v4, with: {{{with}}}}}, {{run: make test}}]}}"
        ))
        .len()
    };
    assert_eq!(job("repository: other/one, ref: main"), 0);
    for with in [
        "ref: main",
        "repository: '${{ github.event.head }}'",
        "repository: other/one, path: other",
    ] {
        assert_eq!(job(with), 1, "{with}");
    }
}

#[test]
fn tests_of_wheels_count_unless_they_are_published() {
    let found = |name: &str, with: &str| {
        let path: RepoPath = format!("{WORKFLOWS}{name}.yml").parse().unwrap();
        let text = format!(
            "on: push\njobs:\n  build:\n    runs-on: ubuntu-latest\n    steps: [{{uses: pypa/cibuildwheel@v3{with}}}]\n"
        );
        test_steps([&path], &mut |_| Some(text.clone())).len()
    };
    assert_eq!(found("test", ""), 1);
    assert_eq!(found("test", ", with: {package-dir: other}"), 0);
    for name in ["pypi_upload", "release", "build-wheels"] {
        assert_eq!(found(name, ""), 0, "{name}");
    }
}

/// A line of a few bytes can set a variable of some thousand.
#[test]
fn the_variables_of_a_job_are_bounded() {
    let path: RepoPath = format!("{WORKFLOWS}ci.yml").parse().unwrap();
    let long = "x".repeat(3_900);
    let sets: String = (0..50)
        .map(|step| {
            let lines: String = (0..60)
                .map(|line| format!("echo A{step}_{line}=$B >> $GITHUB_ENV\\n"))
                .collect();
            format!("      - run: \"{lines}\"\n")
        })
        .collect();
    let text = format!(
        "on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    env: {{B: {long}}}\n    steps:\n{sets}      - run: pytest $B\n"
    );
    let steps = test_steps([&path], &mut |_| Some(text.clone()));
    let size: usize = steps[0].env.iter().map(|(name, value)| name.len() + value.len()).sum();
    assert!((long.len()..=64 << 10).contains(&size), "{size}");
}

#[test]
fn a_checkout_in_a_folder_that_only_the_runner_knows_is_the_root() {
    let found = |path: &str, directory: &str| {
        let steps = of_job(&format!(
            "{{runs-on: ubuntu-latest, steps: [{{uses: actions/checkout@v4, with: {{path: '{path}'}}}}, {{run: make \
             test, working-directory: '{directory}'}}]}}"
        ));
        steps.into_iter().next().map(|(_, directory)| directory)
    };
    let path = "src/${{ github.repository }}";
    assert_eq!(found(path, path).as_deref(), Some(""));
    assert_eq!(found(path, &format!("{path}/sub")).as_deref(), Some("sub"));
    for (path, directory) in [("src", path), (path, "src/a"), ("src", "src/${{ steps.a.outputs.b }}")] {
        assert_eq!(found(path, directory), None, "{path} {directory}");
    }
}

#[test]
fn another_system_on_linux_comes_before_macos() {
    let (github, circle) = (format!("{WORKFLOWS}ci.yml"), ".circleci/config.yml".to_owned());
    let paths: Vec<RepoPath> = [&github, &circle].map(|path| path.parse().unwrap()).into();
    let found = |runner: &str| {
        let steps = test_steps(&paths, &mut |path| {
            Some(match path == circle {
                true => "jobs: {test: {steps: [{run: pytest linux}]}}\n".to_owned(),
                false => format!("on: push\njobs:\n  test: {{runs-on: {runner}, steps: [{{run: pytest github}}]}}\n"),
            })
        });
        steps.into_iter().map(|step| step.script).collect::<Vec<_>>()
    };
    assert_eq!(found("macos-latest"), ["pytest linux"]);
    assert_eq!(found("ubuntu-latest"), ["pytest github"]);
}

/// A script of the tree may do anything else without the word.
#[test]
fn unknown_words_are_left_out_where_a_tool_then_tests_everything() {
    let found = |line: &str| {
        let steps = of_job(&format!(
            "{{runs-on: ubuntu-latest, strategy: {{matrix: {{suite: '${{{{ a() }}}}'}}}}, steps: [{{run: '{line}'}}]}}"
        ));
        steps.into_iter().map(|(script, _)| script).collect::<Vec<_>>()
    };
    assert_eq!(found("pytest ${{ matrix.suite }} -q"), ["pytest -q"]);
    for other in ["./run_tests.sh ${{ matrix.suite }}", "go test ${{ matrix.suite }}"] {
        assert_eq!(found(other), [""; 0], "{other}");
    }
}
