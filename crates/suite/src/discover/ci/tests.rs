//! Lines of workflows, and the commands that count.

use std::collections::BTreeMap;

use super::*;

/// The commands that count, of jobs that run these scripts in a tree with a `Cargo.toml`, a `go.mod`, and scripts.
#[track_caller]
fn check(scripts: &[&str], expected: &[&str]) {
    let tree = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("Cargo.toml", ""),
        ("go.mod", ""),
        ("inner/go.mod", ""),
        (
            "Makefile",
            "test: generate\n\tgo test -race ./...\n\tcd inner && go test -v ./...\n\
             loop: loop\n\tmake loop\n\tmake loop\nall:\n\tbash ci/run.sh test\n",
        ),
        (
            "ci/run.sh",
            "set -e\ncargo fmt --check\ncargo \"${1:-test}\" --all-features\n",
        ),
        ("ci/branch_tests.sh", "if true; then cargo test; fi\n"),
        (
            "composer.json",
            "{\"scripts\": {\"test\": [\"@types\", \"@unit\"], \"types\": \"phpstan\", \"unit\": \"phpunit --colors=always\", \"phpunit\": \"@unit\", \
             \"loop\": [\"@loop\", \"@loop\"]}}",
        ),
        ("again.sh", "./again.sh test\n./again.sh test\n"),
    ] {
        let path = tree.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let checkout = Checkout::open(tree.path()).unwrap();
    let steps = scripts.iter().map(|script| CiStep {
        workflow: "ci.yml".parse().unwrap(),
        job: "test".into(),
        name: "Test".into(),
        script: (*script).into(),
        directory: None,
        env: BTreeMap::new(),
        own_env: BTreeSet::new(),
        shows: None,
        before: Vec::new(),
        versions: BTreeMap::new(),
        services: Vec::new(),
    });
    let found: Vec<String> = commands(&checkout, &steps.collect::<Vec<_>>())
        .known
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(found, expected, "{scripts:?}");
}

#[test]
fn jobs_for_a_part_of_the_tests_or_another_machine_do_not_count() {
    let all = "cargo test --all-features";
    for part in [
        "cargo test -p a",
        "cargo test --no-default-features",
        "cargo test --verbose byte_order -- --nocapture",
        "RUSTFLAGS='-C target-feature=-sse' cargo test",
        "cargo test --target i586-unknown-linux-gnu",
        "cargo test --target=wasm32-wasip1",
        "cargo clippy",
    ] {
        check(&[part, all], &[all]);
    }
    let all = "cargo test --features a -j 2 -- --nocapture b";
    check(&[all], &[all]);
    for all in ["go test -parallel 1 -race -tags a ./...", "go test -timeout 60s ."] {
        check(&[all], &[all]);
    }
    check(&["go test ./inner"], &[]);
    let all = "vendor/bin/phpunit";
    for part in [
        "vendor/bin/phpunit src/Component/A",
        "php ./phpunit tests/unit",
        "vendor/bin/phpunit --testsuite a",
        "./phpunit install",
    ] {
        check(&[part, all], &[all]);
    }
    check(&["php ./phpunit -v", all], &["php ./phpunit -v"]);
    check(&["mvn verify javadoc:jar -B", "mvn test"], &["mvn verify -B"]);
    check(&["vendor/bin/phpunit\nvendor/bin/pest"], &[all, "vendor/bin/pest"]);
    check(&["pytest -o addopts= tests/test_a.py tests/test_b.py"], &[]);
    let all = "go test -race ./...";
    for part in [
        "go test -run TestA ./...",
        "go test -short ./...",
        "GOARCH=mips go test ./...",
    ] {
        check(&[part, all], &[all]);
    }
}

/// Scripts and targets are read, not run, so those that call themselves end.
#[test]
fn the_scripts_and_targets_that_ci_calls_are_read() {
    let of_make = ["go test -race ./...", "cd inner && go test -v ./..."];
    check(&["make test"], &of_make);
    check(&["go test -race ./...\ncd inner && go test -v ./..."], &of_make);
    check(&["bash ci/run.sh test"], &["cargo test --all-features"]);
    check(&["./ci/run.sh test", "cargo test"], &["cargo test --all-features"]);
    check(&["./ci/run.sh check test", "cargo test"], &["cargo test"]);
    check(&["make test-all all"], &["cargo test --all-features"]);
    let of_composer = "vendor/bin/phpunit '--colors=always'";
    check(&["composer test"], &[of_composer]);
    check(&["composer phpunit"], &[of_composer]);
    check(&["composer run-script unit-test", "composer run test"], &[of_composer]);
    check(&["composer loop tests"], &[]);
    check(&["bash ci/branch_tests.sh", "cargo test -q"], &["cargo test -q"]);
    check(
        &["make test loop", "./again.sh test", "cargo test"],
        &[&of_make[..], &["cargo test"]].concat(),
    );
}

/// GitHub sets no such variable, and if an earlier step does, the project's files would not know it either.
#[test]
fn what_no_step_sets_is_empty_and_what_the_line_sets_is_kept() {
    check(&["cargo test $FLAGS --all-features"], &["cargo test --all-features"]);
    check(
        &["export SIZE=1\nBUFFER=4096 go test ./..."],
        &["BUFFER=4096 SIZE=1 go test ./..."],
    );
}

/// What cannot be resolved may be all tests, so that what follows may be a part of them.
#[test]
fn nothing_after_an_unknown_command_counts() {
    check(&["cargo test a$FLAGS\ncargo test --all-features"], &[]);
    check(
        &["cargo fmt $FLAGS\ncargo test --all-features"],
        &["cargo test --all-features"],
    );
}

/// What is left out cannot be tested together with the rest, or not at all.
#[test]
fn the_packages_that_ci_leaves_out_are_left_out() {
    let line = "cargo test --workspace --exclude a --exclude b";
    check(&[line, "cargo test -p a"], &[line]);
}
