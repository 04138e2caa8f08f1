//! Test names as arguments, including hostile names.

use super::*;
use crate::framework::Framework;
use crate::test_command::Source;

#[track_caller]
fn check(framework: Framework, command: &str, only: &[&str], expected: &str) {
    let command = TestCommand::new(shlex::split(command).unwrap(), framework, Source::Settings);
    let only: Vec<String> = only.iter().map(ToString::to_string).collect();
    assert_eq!(argv(&command, &only).join(" "), expected);
}

#[test]
fn names_are_handed_to_their_framework() {
    use Framework::{Cargo, Go, Gradle, Jest, Maven, Node, Other, Pytest, Unittest};
    check(
        Cargo,
        "cargo test --workspace",
        &["a::b"],
        "cargo test --workspace --tests -- --exact -- a::b",
    );
    check(
        Cargo,
        "cargo test --lib -- --test-threads=1",
        &["it:tests/it.rs a::b", "c"],
        "cargo test --lib -- --test-threads=1 --exact -- a::b c",
    );
    check(
        Cargo,
        "cargo test",
        &["src/lib.rs - add #2"],
        "cargo test --doc -- -- src/lib.rs",
    );
    check(
        Cargo,
        "cargo test",
        &["src/lib.rs - add", "a"],
        "cargo test -- -- a src/lib.rs",
    );
    check(
        Pytest,
        "python3 -m pytest -q tests -n 4",
        &["tests/test_a.py::T::test_b[x y]"],
        "python3 -m pytest -q -n 4 tests/test_a.py::T::test_b[x y]",
    );
    check(
        Unittest,
        "python3 -m unittest discover -v",
        &["t.T.a"],
        "python3 -m unittest -v t.T.a",
    );
    check(
        Go,
        "go test -json ./...",
        &["TestA/sub", "m/p TestB"],
        r"go test -run=^TestA$/^sub$|^TestB$ -json ./...",
    );
    check(
        Go,
        "go test ./...",
        &["m/p TestB/a+b", "m/q TestB"],
        r"go test -run=^TestB$|^TestB$/^a\+b$ m/p m/q",
    );
    check(
        Maven,
        "mvn -B test",
        &["com.x.ATest#one", "com.x.ATest#two(int)[1]", "com.x.BTest$In#a"],
        "mvn -Dtest=com.x.ATest#one+two*,com.x.BTest$In#a -Dsurefire.failIfNoSpecifiedTests=false -DfailIfNoTests=false -B test",
    );
    check(
        Gradle,
        "./gradlew test",
        &["com.x.ATest.one"],
        "./gradlew test --tests com.x.ATest.one",
    );
    check(
        Node,
        "node --test test/",
        &["a > b (c|d)"],
        r"node --test --test-name-pattern=/(^| )b \(c\|d\)$/ test/",
    );
    check(
        Jest,
        "npx jest --ci",
        &["src/a.test.ts > basket > sums (a|b)", "src/a.test.ts > adds"],
        r"npx jest --ci --testNamePattern=^(adds|basket sums \(a\|b\))$ --runTestsByPath ./src/a.test.ts",
    );
    check(Other, "make check", &["a"], "make check");
    check(Cargo, "cargo test", &[], "cargo test");
}

#[test]
fn a_step_is_run_with_the_test_that_it_belongs_to() {
    check(
        Framework::Deno,
        "deno test -A",
        &["shop_test.ts > basket > sums (a|b)"],
        r"deno test --filter=/^(basket|basket > sums \(a\|b\))$/ ./shop_test.ts -A",
    );
}

#[test]
fn ids_stand_in_place_of_the_directories_that_pytest_was_given() {
    check(
        Framework::Pytest,
        "pytest pkg -k fast -x other --cov shop",
        &["pkg/test_a.py::b"],
        "pytest -k fast -x --cov shop pkg/test_a.py::b",
    );
}

#[test]
fn a_hostile_name_never_becomes_an_option() {
    use Framework::{Cargo, Deno, Go, Gradle, Jest, Maven, Mocha, Node, Pytest, Unittest};
    // The harness takes everything after the last `--` as a name.
    check(
        Cargo,
        "cargo test",
        &["--config=x"],
        "cargo test --tests -- --exact -- --config=x",
    );
    check(
        Cargo,
        "cargo test",
        &["x --nocapture"],
        "cargo test --tests -- --exact -- --nocapture",
    );
    check(Pytest, "pytest", &["--rootdir=/ .py::x"], "pytest ./--rootdir=/ .py::x");
    check(Pytest, "pytest", &["@evil.py"], "pytest ./@evil.py");
    check(Pytest, "pytest", &["-pevil"], "pytest");
    check(Unittest, "python3 -m unittest", &["-f"], "python3 -m unittest");
    check(Unittest, "python3 -m unittest", &["*"], "python3 -m unittest");
    check(Go, "go test ./...", &["-exec=evil"], "go test ./...");
    check(Go, "go test ./...", &["TestA|.*"], "go test ./...");
    check(
        Node,
        "node --test",
        &["--require=evil"],
        r"node --test --test-name-pattern=/(^| )--require=evil$/",
    );
    check(
        Deno,
        "deno test",
        &["--allow-all"],
        "deno test --filter=/^(--allow-all)$/",
    );
    check(Jest, "npm test", &["$(evil)"], "npm test");
    check(Mocha, "npm test", &["a'; evil"], "npm test");
    check(Go, "go test ./...", &["-exec=evil TestA"], "go test ./...");
    check(Maven, "mvn test", &["a,b#c -Dx=y"], "mvn test");
    check(Gradle, "gradle test", &["--init-script=x"], "gradle test");
    check(Cargo, "cargo test", &["a\nb"], "cargo test");
    check(Cargo, "cargo test", &["a\0b"], "cargo test");
    check(Cargo, "cargo test", &[&"x".repeat(40_000)], "cargo test");
}

#[track_caller]
fn check_words(framework: Framework, command: &[&str], only: &[&str], expected: &str) {
    let command = TestCommand::new(
        command.iter().map(ToString::to_string).collect(),
        framework,
        Source::Settings,
    );
    let only: Vec<String> = only.iter().map(ToString::to_string).collect();
    assert_eq!(argv(&command, &only).join(" "), expected);
}

#[test]
fn names_are_handed_to_frameworks_of_other_languages() {
    use Framework::{Ctest, Dotnet, Minitest, Phpunit, Rspec};
    check_words(
        Ctest,
        &["sh", "-c", "cmake -S . -B b && cd b && ctest --output-on-failure"],
        &["a/b", "odd (a|b) 100%"],
        "sh -c cmake -S . -B b && cd b && ctest --output-on-failure -R '^(a/b|odd [(]a[|]b[)] 100[%])$'",
    );
    check_words(Ctest, &["ctest"], &["a.b"], "ctest -R ^(a[.]b)$");
    check_words(
        Rspec,
        &["bundle", "exec", "rspec", "spec/a_spec.rb"],
        &["./spec/b_spec.rb[1:2]", "./spec/c_spec.rb:4"],
        "bundle exec rspec ./spec/b_spec.rb[1:2] ./spec/c_spec.rb:4",
    );
    check_words(
        Minitest,
        &["rake", "test"],
        &["A::B#test_c"],
        "rake test TESTOPTS='--name=A::B#test_c'",
    );
    check_words(
        Minitest,
        &["ruby", "a.rb"],
        &["A#b", "A#c"],
        "ruby a.rb --name=/^(A#b|A#c)$/",
    );
    check_words(
        Phpunit,
        &["vendor/bin/phpunit", "tests"],
        &["A\\B::testC with data set #1"],
        r"vendor/bin/phpunit --filter=/^(A\\B\:\:testC with data set \#1)$/ tests",
    );
    check_words(
        Dotnet,
        &["dotnet", "test"],
        &["A.B.C(x: 1)", "A.B.C(x: 2)"],
        "dotnet test --filter FullyQualifiedName=A.B.C",
    );
}

#[test]
fn a_hostile_name_runs_everything() {
    use Framework::{Ctest, Dotnet, Minitest, Phpunit, Rspec};
    check_words(Ctest, &["sh", "-c", "ctest"], &["a'; evil '"], "sh -c ctest");
    check_words(Ctest, &["sh", "-c", "ctest | tee log"], &["a"], "sh -c ctest | tee log");
    check_words(Rspec, &["rspec"], &["--require ./evil.rb"], "rspec");
    check_words(Rspec, &["rspec"], &["-r./evil:1"], "rspec");
    check_words(Minitest, &["rake", "test"], &["A#b'; evil"], "rake test");
    check_words(Minitest, &["rake", "test"], &["A#b$(evil)"], "rake test");
    check_words(Dotnet, &["dotnet", "test"], &["A|B"], "dotnet test");
    check_words(
        Phpunit,
        &["phpunit"],
        &["a)|(.*"],
        r"phpunit --filter=/^(a\)\|\(\.\*)$/",
    );
}

#[test]
fn each_runner_takes_names_in_its_own_form() {
    use Framework::{Exunit, Googletest, Meson, Pest, Swift};
    check_words(
        Pest,
        &["vendor/bin/pest"],
        &["Tests\\ShopTest::it sums (a|b)"],
        r"vendor/bin/pest --filter=/(^|\\)(Tests\\ShopTest\:\:it sums \(a\|b\))$/",
    );
    let meson = "meson setup b && meson test -C b";
    check_words(
        Meson,
        &["sh", "-c", meson],
        &["adds", "sums (a|b) 100%"],
        "sh -c meson setup b && meson test -C b 'adds' 'sums (a|b) 100%'",
    );
    check_words(Meson, &["meson", "test"], &["adds"], "meson test adds");
    check_words(
        Googletest,
        &["./shop", "--gtest_color=no"],
        &["Shop.Adds", "Values/Table.AddsOne/0"],
        "./shop --gtest_color=no --gtest_filter=Shop.Adds:Values/Table.AddsOne/0",
    );
    check_words(
        Exunit,
        &["mix", "test"],
        &["ShopTest test basket sums (a|b)", "ShopTest doctest Shop.add/2 (1)"],
        "mix test --only test:test basket sums (a|b) --only test:doctest Shop.add/2 (1)",
    );
    check_words(
        Swift,
        &["swift", "test"],
        &["ShopTests.testAdds", "addsOne(_:)"],
        r"swift test --filter (^|\.)ShopTests/testAdds$ --filter [./]addsOne\(_:\)$",
    );
}

#[test]
fn a_hostile_name_of_these_runs_everything() {
    use Framework::{Catch2, Exunit, Googletest, Meson, Pest, Swift};
    for name in ["a'; evil '", "--setup=evil", "*", "a:b"] {
        check_words(Meson, &["sh", "-c", "meson test"], &[name], "sh -c meson test");
    }
    check_words(
        Meson,
        &["sh", "-c", "meson test | tee log"],
        &["a"],
        "sh -c meson test | tee log",
    );
    for name in ["Shop.*", "Shop.Adds:-Shop.Later", "--gtest_output=x", "Adds"] {
        check_words(Googletest, &["./shop", "--gtest_x"], &[name], "./shop --gtest_x");
    }
    check_words(Exunit, &["mix", "test"], &["ShopTest --require evil"], "mix test");
    for name in ["Shop.*/a", "a(b)|(.*", "\"a title\"", "-Xevil"] {
        check_words(Swift, &["swift", "test"], &[name], "swift test");
    }
    check_words(
        Pest,
        &["vendor/bin/pest"],
        &["a)|(.*"],
        r"vendor/bin/pest --filter=/(^|\\)(a\)\|\(\.\*)$/",
    );
    check_words(Catch2, &["./shop"], &["adds"], "./shop");
}
