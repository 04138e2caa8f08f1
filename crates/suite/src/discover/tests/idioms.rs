//! Lines of CI that real projects have, and which were once misread.

use super::*;

/// The commands of a project whose only job has these steps and variables.
pub(super) fn commands_of_job(job: &str, files: &[(&str, &str)]) -> Vec<TestCommand> {
    let workflow = format!("on: pull_request\njobs:\n  test: {{runs-on: ubuntu-latest, {job}}}\n");
    let all = [&[(".github/workflows/ci.yml", workflow.as_str())], files].concat();
    let (_directory, checkout) = tree(&all);
    find_all(&checkout, &TestSettings::default(), &hints(&checkout))
}

/// What is found for such a project, and what is not run.
#[track_caller]
fn check(job: &str, files: &[(&str, &str)], expected: &[&str], not_run: &[&str]) {
    let found = commands_of_job(job, files);
    let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(lines, expected, "{job}");
    let left_out: Vec<&String> = found.iter().flat_map(|command| &command.left_out).collect();
    assert_eq!(left_out, not_run, "{job}");
}

#[test]
fn a_script_that_runs_its_arguments_is_part_of_the_command() {
    let files = [
        ("Gemfile", ""),
        ("spec/a_spec.rb", ""),
        ("script/warn", "#!/bin/sh\nbundle exec \"$@\"\n"),
    ];
    let job = "steps: [{run: script/warn rspec spec/}]";
    check(job, &files, &["script/warn rspec spec/"], &[]);
}

#[test]
fn tools_that_are_not_read_run_where_nothing_else_is_known() {
    let composer = r#"{"scripts": {"tester": "tester tests -s"}}"#;
    let files = [("composer.json", composer), ("tests/a.phpt", "")];
    check(
        "steps: [{run: composer tester}]",
        &files,
        &["vendor/bin/tester tests -s"],
        &[],
    );
    let files = [
        ("Gemfile", ""),
        ("Rakefile", "task(:spec) { sh 'ruby spec/all.rb' }\n"),
        ("spec/all.rb", ""),
    ];
    check(
        "steps: [{run: bundle exec rake spec}]",
        &files,
        &["bundle exec rake spec"],
        &[],
    );
}

#[test]
fn other_tools_beside_what_is_found_are_named() {
    let files = [("go.mod", "module m\n"), ("a_test.go", "package m\n")];
    let ginkgo = "go run github.com/onsi/ginkgo/v2/ginkgo -r --race";
    check(
        &format!("steps: [{{run: '{ginkgo}'}}]"),
        &files,
        &["go test ./..."],
        &[ginkgo],
    );
}

#[test]
fn a_target_that_is_named_after_its_tool_is_read() {
    let files = [
        ("Makefile", "phpunit:\n\t@php -d a=1 vendor/bin/phpunit\n"),
        ("phpunit.xml", ""),
    ];
    check(
        "steps: [{run: make phpunit}]",
        &files,
        &["php -d 'a=1' vendor/bin/phpunit"],
        &[],
    );
    let files = [("go.mod", "module m\n"), ("a_test.go", "package m\n")];
    check(
        "steps: [{run: 'go test -race -run . ./...'}]",
        &files,
        &["go test -race ./..."],
        &[],
    );
}

#[test]
fn compilers_and_folders_of_the_machine_of_ci_stay_there() {
    let files = [("go.mod", "module m\n"), ("a_test.go", "package m\n")];
    let env = "env: {CC: clang-18, PKG_CONFIG_PATH: /opt, GOPROXY: 'https://a.b', LEVEL: high}";
    check(
        &format!("{env}, steps: [{{run: go test ./...}}]"),
        &files,
        &["LEVEL=high go test ./..."],
        &[],
    );
}

#[test]
fn a_package_that_its_workspace_does_not_name_is_no_suite() {
    let package = |name: &str| format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\n");
    let workspace = format!("[workspace]\nmembers = [\".\"]\nexclude = [\"fuzz\"]\n{}", package("a"));
    let (util, own) = (package("util"), package("own"));
    let files = [
        ("Cargo.toml", workspace.as_str()),
        ("src/lib.rs", ""),
        ("util/Cargo.toml", &util),
        ("fuzz/Cargo.toml", &own),
    ];
    check(
        "steps: [{run: cargo test}]",
        &files,
        &["cargo test", "cd fuzz && cargo test"],
        &[],
    );
}

#[test]
fn the_other_environments_of_tox_are_named() {
    let tox = "[tox]\nenvlist = py{312,313}-{crypto,plain}, lint\n[testenv]\ncommands = pytest tests\n";
    let files = [("tox.ini", tox), ("setup.py", ""), ("tests/test_a.py", "")];
    check(
        "steps: [{run: python -m tox}]",
        &files,
        &["python3 -m pytest tests"],
        &["tox -e py313-plain"],
    );
}

#[test]
fn services_that_actions_and_scripts_start_are_known() {
    let workflow = "on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      \
                    - uses: ankane/setup-postgres@v1\n      - run: docker compose up -d\n      - run: go test ./...\n";
    let (_directory, checkout) = tree(&[
        (".github/workflows/ci.yml", workflow),
        ("go.mod", "module m\n"),
        ("a_test.go", "package m\n"),
    ]);
    let found = find_all(&checkout, &TestSettings::default(), &hints(&checkout));
    assert_eq!(found[0].services(), ["ankane/setup-postgres", "docker compose up -d"]);
}

#[test]
fn the_modules_that_gradle_and_maven_name_are_what_ci_tests() {
    let files = [
        ("gradlew", ""),
        ("settings.gradle.kts", "include(\":core\", \":cli\", \":it\")\n"),
        ("build.gradle.kts", ""),
    ];
    let modules = "./gradlew :core:test :cli:test -Pfast";
    check(&format!("steps: [{{run: '{modules}'}}]"), &files, &[modules], &[]);
    check(
        "steps: [{run: ./gradlew check}, {run: ./gradlew integrationTest}]",
        &files,
        &["./gradlew check"],
        &["./gradlew integrationTest"],
    );
    // All tests say more.
    check(
        "steps: [{run: './gradlew :core:test'}, {run: ./gradlew check}]",
        &files,
        &["./gradlew check"],
        &[],
    );
    let files = [("pom.xml", "<project/>\n")];
    check(
        "steps: [{run: mvn test -pl core -am}]",
        &files,
        &["mvn test -pl core -am"],
        &[],
    );
    check(
        "steps: [{run: \"mvn test -pl '!it'\"}]",
        &files,
        &["mvn test -pl '!it'"],
        &[],
    );
    check("steps: [{run: mvn test -Dtest=ATest}]", &files, &["mvn -B test"], &[]);
}

#[test]
fn the_workspaces_that_ci_names_are_tested_in_their_folders() {
    let files = [
        (
            "package.json",
            r#"{"workspaces": ["packages/*"], "scripts": {"test": "npm test --workspaces"}}"#,
        ),
        (
            "packages/a/package.json",
            r#"{"name": "a", "scripts": {"test": "mocha"}}"#,
        ),
        (
            "packages/b/package.json",
            r#"{"name": "b", "scripts": {"test": "jest --ci"}}"#,
        ),
    ];
    check(
        "steps: [{run: npm test -w a}, {run: npm run test --workspace=packages/b}]",
        &files,
        &["cd packages/a && npx mocha", "cd packages/b && npx jest --ci"],
        &[],
    );
}

/// A script that ends its shell would end what runs after it in the same one.
#[test]
fn a_script_that_exits_does_not_end_the_tests() {
    let files = [(
        "package.json",
        r#"{"scripts": {"test": "npm run types && npm run unit", "types": "exit 0; tsc", "unit": "mocha --exit"}}"#,
    )];
    check("steps: [{run: npm test}]", &files, &["npx mocha --exit"], &[]);
    let files = [(
        "package.json",
        r#"{"scripts": {"test": "npm run a && npm run b && mocha", "a": "tsc || exit 1", "b": ". ./env && exec tsc"}}"#,
    )];
    check(
        "steps: [{run: npm test}]",
        &files,
        &["sh -c 'npm run a && npm run b && mocha \"$@\"' sh"],
        &[],
    );
}

#[test]
fn what_is_left_out_decides_whether_all_tests_run() {
    let files = [("gradlew", ""), ("build.gradle.kts", "")];
    let line = "./gradlew build -x detekt";
    check(&format!("steps: [{{run: '{line}'}}]"), &files, &[line], &[]);
    check(
        "steps: [{run: ./gradlew build -x test}]",
        &files,
        &["./gradlew test"],
        &[],
    );
    let files = [("a.sln", ""), ("t/t.csproj", "<Project/>")];
    check(
        "steps: [{run: dotnet test -c Release --filter Category!=Slow}]",
        &files,
        &["dotnet test -c Release --filter 'Category!=Slow'"],
        &[],
    );
    let files = [("go.mod", "module m\n"), ("a_test.go", "package m\n")];
    check(
        "steps: [{run: go test ./... -cover -args -test.gocoverdir=/tmp/c}]",
        &files,
        &["go test ./..."],
        &[],
    );
    let files = [
        ("composer.json", "{}"),
        ("phpunit.xml.dist", ""),
        ("tests/ATest.php", ""),
    ];
    check(
        "steps: [{run: vendor/bin/phpunit --check-php-configuration}, {run: vendor/bin/phpunit -v}]",
        &files,
        &["vendor/bin/phpunit -v"],
        &[],
    );
}

#[test]
fn tasks_for_other_tests_are_named() {
    let files = [("Gemfile", ""), ("Rakefile", ""), ("spec/a_spec.rb", "")];
    check(
        "steps: [{run: bundle exec rake spec}, {run: bundle exec rake features}]",
        &files,
        &["bundle exec rspec"],
        &["bundle exec rake features"],
    );
    let files = [
        (
            "package.json",
            r#"{"scripts": {"test": "mocha", "test:umd": "node umd.js", "test:cov": "nyc npm test"}}"#,
        ),
        ("umd.js", ""),
    ];
    check(
        "steps: [{run: npm test}, {run: npm run test:cov}, {run: npm run test:umd}]",
        &files,
        &["npx mocha", "npm run test:umd"],
        &[],
    );
    let files = [
        ("CMakeLists.txt", "project(a)\nenable_testing()\nadd_test(a a)\n"),
        ("Makefile", "all:\n"),
    ];
    check(
        "steps: [{run: make test-integration}, {run: cmake -B b && ctest --test-dir b}]",
        &files,
        &[
            "cmake -S . -B .greenlight-build && cmake --build .greenlight-build --parallel 2 && cd .greenlight-build && ctest --output-on-failure",
        ],
        &["make test-integration"],
    );
}

#[test]
fn targets_that_one_job_makes_in_turn_all_run() {
    let files = [("Makefile", "test: test_a test_b\ntest_a:\n\t./a\ntest_b:\n\t./b\n")];
    check(
        "steps: [{run: make test_a}, {run: make test_b}, {run: make test_formatted}]",
        &files,
        &["make test_a", "make test_b"],
        &[],
    );
}

#[test]
fn folders_that_ci_never_mentions_run_only_after_changes() {
    let files = [
        ("Cargo.toml", "[package]\nname = 'a'\n"),
        ("src/lib.rs", "#[test]\nfn a() {}\n"),
        ("bindings/Cargo.toml", "[package]\nname = 'b'\n"),
        ("bindings/src/lib.rs", "#[test]\nfn b() {}\n"),
        (
            ".github/workflows/ci.yml",
            "on: push\njobs: {t: {runs-on: ubuntu-latest, steps: [{run: cargo test}]}}\n",
        ),
    ];
    let selected = |changed: &[&str], files: &[(&str, &str)]| {
        let (_directory, checkout) = tree(files);
        let changed: Vec<greenlight_anchor::RepoPath> = changed.iter().map(|path| path.parse().unwrap()).collect();
        let found = find_all(&checkout, &TestSettings::default(), &hints(&checkout));
        let found = select(&checkout, found, &changed);
        let lines =
            |commands: Vec<TestCommand>| commands.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        (lines(found.wanted), lines(found.unaffected))
    };
    let (own, other) = ("cargo test", "cd bindings && cargo test");
    assert_eq!(selected(&[], &files), (own.into(), other.into()));
    assert_eq!(selected(&["bindings/src/lib.rs"], &files), (other.into(), own.into()));
    // Without a workflow that says what counts, all of it does.
    assert_eq!(selected(&[], &files[..4]), (format!("{own}; {other}"), String::new()));
}

#[test]
fn a_script_that_is_not_named_after_tests_is_read_for_them() {
    let files = [
        ("Cargo.toml", "[package]\nname = 'a'\n"),
        ("src/lib.rs", ""),
        (
            "ci/build.sh",
            "#!/bin/sh\nset -e\ncargo build\ncargo test --locked --features \"$FEATURES\"\n",
        ),
        ("ci/install.sh", "cargo test --no-run\ncargo test -p other\n"),
        ("ci/image.sh", "docker build .\n"),
    ];
    let steps = "steps: [{run: ci/install.sh}, {run: ./ci/image.sh}, {run: 'FEATURES=a bash ./ci/build.sh'}]";
    check(
        steps,
        &files,
        &["FEATURES=a cargo test --locked --features a"],
        &["cargo build"],
    );
}

#[test]
fn what_a_composite_action_installs_and_sets_up_is_part_of_the_job() {
    let action = "runs:\n  using: composite\n  steps:\n    - {uses: 'actions/setup-python@v5', with: {python-version: '3.12'}}\n    \
                  - {run: 'pip install -r ${{ inputs.file }}', shell: bash}\n    - {run: docker compose up -d, shell: bash}\n\
                  inputs: {file: {default: a.txt}}\n";
    let workflow =
        "on: push\njobs: {t: {runs-on: ubuntu-latest, steps: [{uses: ./.github/actions/up}, {run: pytest}]}}\n";
    let (_directory, checkout) = tree(&[
        (".github/actions/up/action.yml", action),
        (".github/workflows/ci.yml", workflow),
        ("tests/test_a.py", "def test_a(): pass\n"),
    ]);
    let found = find_all(&checkout, &TestSettings::default(), &hints(&checkout));
    let [command] = found.as_slice() else {
        panic!("{found:?}");
    };
    assert_eq!(command.ci_install.services, ["docker compose up -d"]);
    assert_eq!(command.ci_install.versions["python"], "3.12");
    assert!(
        format!("{:?}", command.ci_install.files).contains("a.txt"),
        "{:?}",
        command.ci_install
    );
}

#[test]
fn variables_of_a_call_of_rake_are_kept() {
    let files = [
        ("Gemfile", ""),
        ("Rakefile", "Rake::TestTask.new(:test)\n"),
        ("test/test_a.rb", ""),
    ];
    let job = "steps: [{run: bundle exec rake, env: {FULL_TEST: 1}}]";
    check(job, &files, &["FULL_TEST=1 bundle exec rake"], &[]);
}
