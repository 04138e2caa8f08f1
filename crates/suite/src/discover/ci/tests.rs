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
        ("ci/branch_tests.sh", "if grep x y; then cargo test; fi\n"),
        (
            "composer.json",
            "{\"scripts\": {\"test\": [\"@types\", \"@unit\"], \"types\": \"phpstan\", \"unit\": \"phpunit --colors=always\", \"phpunit\": \"@unit\", \
             \"loop\": [\"@loop\", \"@loop\"]}}",
        ),
        ("again.sh", "./again.sh test\n./again.sh test\n"),
        (
            "ci/run_tests.sh",
            "for f in $FEATURES; do cargo test --features $f; done\n",
        ),
        (
            "ci/run_lint_tests.sh",
            "for f in $FEATURES; do cargo test --features $f; done\n",
        ),
        ("ci/docker_test.sh", "docker run a cargo test\n"),
        ("scripts/run-tests", "import subprocess\n"),
        ("scripts/test", "#!/bin/sh -e\ngo test -v ./...\n"),
        ("scripts/tests", "#!/usr/bin/env bash\ncd inner\ngo test -v ./...\n"),
        (
            "web/package.json",
            "{\"scripts\": {\"test:fewer\": \"vitest run a.test.js\", \"test:more\": \"vitest run a.test.js b.test.js\", \"unit\": \"vitest run unit\", \"test:ssr\": \"vitest run ssr\", \"test:again\": \"vitest run ssr -u\", \"test:counted\": \"c8 -c .c8rc --check-coverage npm run unit\", \
         \"test:node\": \"cd examples && npm test\", \"test:types\": \"cd types && npm test\"}}",
        ),
        ("pnpm-workspace.yaml", "packages: [packages/*]\n"),
        (
            "packages/a/package.json",
            "{\"name\": \"a\", \"scripts\": {\"test:all\": \"node a.js\", \"test:types\": \"tsc\"}}",
        ),
        (
            "packages/b/package.json",
            "{\"name\": \"b\", \"scripts\": {\"test:all\": \"node b.js\"}}",
        ),
        ("web/e2e/test-a.js", ""),
        ("web/e2e/test-b.js", "require('playwright')"),
        (
            "tool/package.json",
            "{\"scripts\": {\"test\": \"run-s lint test-node\", \"test-node:unit\": \"node bin/own.js unit\", \"test-node:slow\": \"node bin/own.js slow\", \
             \"test-browser\": \"node bin/own.js browser\", \"test-image\": \"docker run a\", \"test-changed\": \"nx affected -t test\", \"test-coverage\": \"c8 --lines 98 npm run test-node:unit\"}}",
        ),
        ("sharp/tools/builder/targets/Test.cs", ""),
        ("sharp/tools/builder/build.csproj", ""),
        ("sharp/plain/build/Program.cs", ""),
        (
            "common.mk",
            "GO ?= go\nFLAGS :=\nGOTEST := $(GO) test\nifneq ($(NOWHERE_SET),)\nGOTEST := gotestsum --\nendif\nifeq ($(shell uname -s),Linux)\n\
             \tFLAGS := -race\nendif\n\ncommon-test:\n\t$(GOTEST) $(FLAGS) ./...\n",
        ),
        ("inner/Makefile", "include ../common.mk\n\ntest: common-test\n"),
        ("auto/Makefile.am", "TESTS = a\n"),
        (
            "snake/tox.ini",
            "[testenv]\ncommands = pytest\n\n[testenv:unit]\nsetenv = MODE = fast\ncommands =\n    flake8 src\n    pytest -W error {posargs:tests}\n",
        ),
        ("snake/tests/test_a.py", "def test_a(): pass\n"),
        ("auto/Rakefile", ""),
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
        is_aside: false,
    });
    let found: Vec<String> = commands(&checkout, &steps.collect::<Vec<_>>())
        .known
        .iter()
        .map(|command| match command.env.get("CI") {
            Some(value) => format!("CI='{value}': {command}"),
            None => command.to_string(),
        })
        .collect();
    assert_eq!(found, expected, "{scripts:?}");
}

#[test]
fn tox_runs_what_its_environment_says() {
    let unit = "CI='': cd snake && MODE=fast python3 -m pytest -W error tests";
    check(&["cd snake && tox -e unit"], &[unit]);
    check(&["cd snake && python -m tox -e unit"], &[unit]);
    check(
        &["cd snake && uv run --no-default-groups --only-group ci tox"],
        &["CI='': cd snake && python3 -m pytest"],
    );
    check(
        &["cd snake && tox run -e py311"],
        &["CI='': cd snake && python3 -m pytest"],
    );
    check(
        &["cd snake && uvx --with tox-uv tox run --installpkg `ls dist` -e unit"],
        &[unit],
    );
}

#[test]
fn jobs_for_a_part_of_the_tests_or_another_machine_do_not_count() {
    let all = "cargo test --all-features";
    for part in [
        "cargo test -p a",
        "cargo test --no-default-features",
        "cargo test --examples",
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
    let own = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    check(&[&format!("cargo test --target {own} -F a")], &["cargo test -F a"]);
    check(&[&format!("cargo test --target={own}")], &["cargo test"]);
    check(&[&format!("cargo test -Zbuild-std --target {own}")], &[]);
    check(&[&format!("cargo test -- --target {own}")], &[]);
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
    check(
        &["mvn verify javadoc:jar -B -Dmaven.main.skip=true", "mvn test"],
        &["mvn verify -B"],
    );
    check(&["vendor/bin/phpunit\nvendor/bin/pest"], &[all, "vendor/bin/pest"]);
    check(&["pytest -o addopts= tests/test_a.py tests/test_b.py"], &[]);
    check(
        &["go test -cover -covermode atomic -v -coverprofile=a.out ./... -coverpkg=./... -args -cover"],
        &["go test -v ./... -args -cover"],
    );
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
    let of_composer = "vendor/bin/phpunit --colors=always";
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

#[test]
fn scripts_that_cannot_be_taken_apart_run_as_they_are() {
    check(&["./ci/run_tests.sh"], &["./ci/run_tests.sh"]);
    check(
        &[
            "A=b bash ci/run_tests.sh --fast",
            "A=c bash ci/run_tests.sh --fast",
            "bash ci/run_tests.sh other",
        ],
        &["A=b bash ci/run_tests.sh --fast", "A=c bash ci/run_tests.sh --fast"],
    );
    check(&["python scripts/run-tests"], &["python scripts/run-tests"]);
    check(&["./ci/run_tests.sh", "cargo test -q"], &["cargo test -q"]);
    check(&["scripts/test", "test -d scripts"], &["scripts/test"]);
    check(&["scripts/tests"], &["cd inner && go test -v ./..."]);
    for other in [
        "./ci/run_lint_tests.sh",
        "./ci/docker_test.sh",
        "./ci/no_such_tests.sh",
        "bash ../ci/run_tests.sh",
        "sh /usr/bin/run_tests.sh",
    ] {
        check(&[other], &[]);
    }
    check(
        &["cd auto\n./configure\nmake check"],
        &["(cd auto && ./configure) && cd auto && make check"],
    );
    check(&["cd auto\nmake check"], &[]);
    check(
        &["cd auto && bundle exec rake", "bundle exec rake"],
        &["cd auto && bundle exec rake"],
    );
    check(&["cd auto && bundle exec rake check"], &[]);
    let features = "cargo hack test --feature-powerset";
    check(&[features], &[features]);
    check(&["cargo hack check --feature-powerset"], &[]);
}

#[test]
fn a_makefile_is_read_with_what_it_includes_for_this_machine() {
    check(&["make -C inner test"], &["cd inner && go test -race ./..."]);
    check(&["make -C ../inner test", "make -C inner nothing"], &[]);
}

/// One does not run what another runs, so all of them count.
#[test]
fn suites_with_different_tests_all_count() {
    check(
        &["cd tool && npm run test-coverage", "cd tool && npm run test-node:slow"],
        &["cd tool && npm run test-node:unit", "cd tool && npm run test-node:slow"],
    );
    check(
        &[
            "cd web && npm run unit",
            "cd web && npm run test:ssr\nnpm run test:again\nnpm run test:node\nnpm run test:types",
        ],
        &[
            "cd web && npx vitest run unit",
            "cd web && npx vitest run ssr",
            "cd web && npm run test:node",
        ],
    );
    check(
        &[
            "./phpunit --testsuite a",
            "./phpunit --testsuite b",
            "./phpunit --testsuite c --filter d",
        ],
        &["./phpunit --testsuite a", "./phpunit --testsuite b"],
    );
    check(
        &["cargo test --test a\ncargo test -p b", "cargo test -p c --lib"],
        &["cargo test --test a", "cargo test -p b"],
    );
    check(&["make nothing-test", "cargo test -p b"], &[]);
}

/// A script in which no framework is named runs as CI calls it, and so does a program for Node beside known tests.
#[test]
fn scripts_of_packages_and_programs_beside_tests_run_as_they_are() {
    check(
        &[
            "cd tool\nCOVERAGE= npm run test-node:unit",
            "cd tool\nCOVERAGE=1 npm run test-node:unit\nnpm run test-node:slow\nnpm run test-browser\nnpm run test-image\n\
             npm run test-changed",
            "cd tool && npm test && npm run test-nothing",
        ],
        &["cd tool && npm run test-node:unit", "cd tool && npm run test-node:slow"],
    );
    check(
        &[
            "cd web && npm run unit",
            "cd web\nnode e2e/test-a.js\nnode e2e/test-b.js\nnode e2e/test-c.js",
        ],
        &["cd web && npx vitest run unit", "cd web && node e2e/test-a.js"],
    );
    check(&["cd web && node e2e/test-a.js"], &[]);
    check(&["cd web && npm run test:counted"], &["cd web && npx vitest run unit"]);
}

/// `--filter` is followed by the name of a package, which is no script.
#[test]
fn scripts_of_other_packages_of_a_workspace_are_further_suites() {
    check(
        &[
            "cd web\nnpm run unit\npnpm --filter a --filter b run test:all\npnpm run --filter b test:all\npnpm --filter a test:types\n\
             pnpm --filter nothing test\npnpm --filter test run dev\npnpm -F a exec vitest run more",
        ],
        &[
            "cd web && npx vitest run unit",
            "cd packages/a && npx vitest run more",
            "cd packages/a && pnpm run test:all",
            "cd packages/b && pnpm run test:all",
        ],
    );
}

#[test]
fn a_line_that_names_more_files_stands_for_one_that_names_fewer() {
    let expected = "cd web && npx vitest run a.test.js b.test.js";
    let (fewer, more) = ("cd web && npm run test:fewer", "cd web && npm run test:more");
    check(&[fewer, more], &[expected]);
    check(&[more, fewer], &[expected]);
}

#[test]
fn code_for_python_loads_other_tests_than_a_module() {
    let code = "python3 -c 'import a; import test.__main__' test_a -v";
    check(
        &[
            "python -We -m unittest test_b.py\npython -c 'import a; import test.__main__' test_a -v\npython -m unittest c",
        ],
        &["python3 -We -m unittest test_b.py", code, "python3 -m unittest c"],
    );
    check(&["python -c 'import test_a' -v\npython -c 'print(1)' unittest"], &[]);
}

/// What it does not say that it tests, or does in part, is no test.
#[test]
fn a_build_program_of_the_tree_runs_the_tests() {
    let all = "cd sharp && dotnet run --project tools/builder -- BuildAll --timing";
    check(&[all], &[all]);
    check(
        &["cd sharp && dotnet run --project tools/builder/build.csproj"],
        &["cd sharp && dotnet run --project tools/builder/build.csproj"],
    );
    for other in [
        "cd sharp && dotnet run --project tools/builder -- Packages",
        "cd sharp && dotnet run --project plain/build",
        "cd sharp && dotnet run --project ../build -- All",
        "cd sharp && dotnet run -- test",
    ] {
        check(&[other], &[]);
    }
}

/// GitHub sets no such variable, and if an earlier step does, the project's files would not know it either.
#[test]
fn what_no_step_sets_is_empty_and_what_the_line_sets_is_kept() {
    check(&["cargo test $FLAGS --all-features"], &["cargo test --all-features"]);
    check(&["go test -C inner -race ./..."], &["cd inner && go test -race ./..."]);
    check(&["cargo test --no-run\ncargo test"], &["cargo test"]);
    check(
        &["go test -list . ./...\ngo test -c ./...\ngo test ./..."],
        &["go test ./..."],
    );
    check(&["timeout -k 5 60s go test ./..."], &["go test ./..."]);
    check(&["nice -n 5 go test ./..."], &["go test ./..."]);
    check(&["env A=1 SIZE=2 go test ./..."], &["A=1 SIZE=2 go test ./..."]);
    check(&["cargo test --features \"$FEATURES\""], &["cargo test --features ''"]);
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
