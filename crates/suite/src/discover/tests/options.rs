//! Options of CI's lines that decide which tests run, and lines around them.

use super::*;

/// What is found for a project whose only job has these steps. What is not run does not matter.
#[track_caller]
fn check(job: &str, files: &[(&str, &str)], expected: &[&str]) {
    let found = idioms::commands_of_job(job, files);
    let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(lines, expected, "{job}");
}

#[test]
fn tags_and_the_like_are_no_packages() {
    let files = [("go.mod", "module m\n"), ("a_test.go", "package m\n")];
    let line = "go test -race --tags batch ./...";
    check(&format!("steps: [{{run: '{line}'}}]"), &files, &[line]);
}

#[test]
fn programs_that_run_the_tests_as_another_user_or_by_their_path_are_read() {
    let files = [("Cargo.toml", "[package]\nname = 'a'\n"), ("src/lib.rs", "")];
    check(
        "steps: [{run: sudo --preserve-env=HOME $(which cargo) test --locked}]",
        &files,
        &["cargo test --locked"],
    );
}

#[test]
fn some_tests_of_elixir_are_not_all() {
    let files = [("mix.exs", ""), ("test/a_test.exs", "")];
    check("steps: [{run: mix test --only slow}]", &files, &["mix test"]);
    check("steps: [{run: mix test test/a_test.exs}]", &files, &["mix test"]);
    check(
        "steps: [{run: mix test --warnings-as-errors}]",
        &files,
        &["mix test --warnings-as-errors"],
    );
}

#[test]
fn documents_in_variables_of_a_job_are_not_for_the_tests() {
    let files = [("go.mod", "module m\n"), ("a_test.go", "package m\n")];
    let env = "env: {LIST: \"[\\n1,\\n2]\", KIND: fast}";
    check(
        &format!("{env}, steps: [{{run: go test ./...}}]"),
        &files,
        &["KIND=fast go test ./..."],
    );
    let own = "steps: [{run: go test ./..., env: {LIST: \"1\\n2\"}}]";
    check(own, &files, &["LIST='1\n2' go test ./..."]);
}

/// What only the runner knows leaves the other lines of a script as they are.
#[test]
fn lines_without_what_only_the_runner_knows_are_read() {
    let files = [("Cargo.toml", "[package]\nname = 'a'\n"), ("src/lib.rs", "")];
    let unknown = "${{ steps.a.outputs.b }}";
    let job = |lines: &str| format!("steps: [{{run: \"{lines}\"}}]");
    check(
        &job(&format!("./notify {unknown}\\ncargo test --locked")),
        &files,
        &["cargo test --locked"],
    );
    check(
        &job(&format!("cargo test --features {unknown}")),
        &files,
        &["cargo test"],
    );
    check(
        &job(&format!("X={unknown}\\ncargo test --features $X\\ncargo test -q")),
        &files,
        &["cargo test"],
    );
}

#[test]
fn suites_that_need_services_are_named_beside_those_that_need_none() {
    let workflow = "on: push\njobs:\n  db: {runs-on: ubuntu-latest, services: {redis: {image: 'redis:7'}}, steps: [{run: cd db && npx mocha}]}\n  \
                    core: {runs-on: ubuntu-latest, steps: [{run: cd core && npx mocha}]}\n";
    let found = |workflow: &str| {
        let (_directory, checkout) = tree(&[
            (".github/workflows/ci.yml", workflow),
            ("core/package.json", "{}"),
            ("db/package.json", "{}"),
        ]);
        let found = find_all(&checkout, &TestSettings::default(), &hints(&checkout));
        let shown = |command: &TestCommand| format!("{command} {:?}", command.left_out);
        found.iter().map(shown).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(found(workflow), "cd core && npx mocha [\"cd db && npx mocha\"]");
    let alone = workflow.replace("cd core && npx mocha", "make");
    assert_eq!(found(&alone), "cd db && npx mocha []");
}
