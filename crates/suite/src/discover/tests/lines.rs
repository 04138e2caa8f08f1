//! Lines of CI that were once read in a wrong way.

use super::chosen::{commands, steps};

/// The commands of a job of these lines.
fn run(lines: &[&str], more: &[(&str, &str)]) -> Vec<String> {
    let lines: Vec<String> = lines.iter().map(|line| format!("      - run: {line}\n")).collect();
    steps(&lines.concat(), more)
}

/// The first of them.
fn first(line: &str, more: &[(&str, &str)]) -> String {
    run(&[line], more).swap_remove(0)
}

#[test]
fn dotnet_builds_what_ci_has_built_before() {
    let project = "<Project Sdk=\"Microsoft.NET.Sdk\"><PackageReference Include=\"xunit\" /></Project>";
    let projects = [
        ("a/A.Tests/A.Tests.csproj", project),
        ("a/A.Tests.Web/A.Tests.Web.csproj", project),
    ];
    assert_eq!(
        first("dotnet test a/A.Tests --no-restore --no-build -c Release", &projects),
        "dotnet test a/A.Tests -c Release"
    );
    let both = run(
        &["dotnet test a/A.Tests -f net8.0", "dotnet test a/A.Tests.Web -f net8.0"],
        &projects,
    );
    assert_eq!(
        both[..2],
        ["dotnet test a/A.Tests -f net8.0", "dotnet test a/A.Tests.Web -f net8.0"]
    );
    let twice = [
        "dotnet test -p:A=a/b --results-directory out/a",
        "dotnet test --results-directory out/b",
    ];
    let once = run(&twice, &projects);
    assert_eq!(once[0], twice[0]);
    assert!(!once.iter().any(|command| command == twice[1]), "{once:?}");
}

#[test]
fn cargo_tests_what_ci_tests_with_plugins_and_in_other_packages() {
    let package = [("Cargo.toml", "[package]\nname = 'a'\n"), ("src/lib.rs", "")];
    for (line, expected) in [
        (
            "cargo nextest run --locked --profile ci -j 4 --retries=2 --no-fail-fast --features x --cargo-profile fast",
            "cargo test --locked --features x --profile fast",
        ),
        ("cargo nextest run -E 'test(a)'", "cargo test"),
        ("cargo nextest run -Pci --all-features", "cargo test"),
        (
            "cargo nextest run --fail-fast --all-features",
            "cargo test --all-features",
        ),
        (
            "cargo nextest run --no-tests pass --workspace",
            "cargo test --workspace",
        ),
        ("cargo test --test a -- --ignored", "cargo test"),
        ("cargo -V", "cargo test"),
    ] {
        assert_eq!(first(line, &package), expected, "{line}");
    }
    let workspace = [
        ("Cargo.toml", "[package]\nname = 'a'\n[workspace]\nmembers = ['b']\n"),
        ("b/Cargo.toml", "[package]\nname = 'b'\n"),
        ("src/lib.rs", ""),
    ];
    let all = run(
        &["cargo test --features x", "cargo test -p b", "cargo test -p a --lib"],
        &workspace,
    );
    assert_eq!(all[..2], ["cargo test --features x", "cargo test -p b"]);
    let all = run(&["cargo test", "cargo nextest run -p a -p b"], &workspace);
    assert_eq!(all[..2], ["cargo test", "cargo test -p a -p b"]);
    let all = run(&["cargo test --workspace", "cargo test -p b"], &workspace);
    assert_eq!(all[0], "cargo test --workspace");
    assert!(!all.contains(&"cargo test -p b".into()), "{all:?}");
}

#[test]
fn maven_and_gradle_are_told_what_ci_tells_them() {
    let maven = [("pom.xml", "<project/>"), ("mvnw", "")];
    assert_eq!(first("./mvnw -B -V verify", &maven), "./mvnw -B -V verify");
    let gradle = [
        ("settings.gradle", "rootProject.name = 'a'\n"),
        ("build.gradle", ""),
        ("gradlew", ""),
        ("old/build.gradle", ""),
    ];
    let unknown =
        "\"./gradlew -Pa=${{ steps.a.outputs.b }} -Pb=${{ steps.a.outputs.b }}-x -Pos=${{ runner.os }} check\"";
    let all = run(&[unknown], &gradle);
    assert_eq!(all[0], "./gradlew -Pos=Linux check");
    assert!(!all.iter().any(|command| command.contains("old")), "{all:?}");
}

#[test]
fn python_tests_what_its_tools_name() {
    let tox = "[testenv]\ncommands = pytest tests/unit -x\n[testenv:lint]\ncommands = ruff check\n";
    let files = [("tox.ini", tox), ("tests/unit/test_c.py", "")];
    assert_eq!(first("tox -e lint,py", &files), "python3 -m pytest tests/unit");
    assert_eq!(
        first("pytest tests/api", &[("tests/api/test_d.py", "")]),
        "python3 -m pytest"
    );
    // Where CI tests folders one after the other, none is left out.
    let both = [("tests/unit/test_c.py", ""), ("tests/api/test_d.py", "")];
    assert_eq!(
        run(&["pytest tests/unit", "pytest tests/api"], &both)[..2],
        ["python3 -m pytest tests/unit", "python3 -m pytest tests/api"]
    );
    let module = [("a/test/__main__.py", ""), ("a/test/case.py", "")];
    assert_eq!(first("python -bb -m a.test", &module), "python3 -bb -m a.test");
    assert_eq!(first("python -m b.test", &module), "python3 -m pytest");
}

#[test]
fn several_packages_of_go_are_all_there_is() {
    let go = [
        ("go.mod", "module example.com/m\n"),
        ("a/a_test.go", ""),
        ("b/b_test.go", ""),
        ("c/c_test.go", ""),
    ];
    let all = run(
        &["go test -tags x example.com/m/a example.com/m/b example.com/m/c"],
        &go,
    );
    assert!(all.contains(&"go test -tags x ./a ./b ./c".into()), "{all:?}");
    let lists = run(&["go test ./a ./b", "go test ./b/ ./c"], &go);
    assert!(lists.contains(&"go test ./a ./b ./c".into()), "{lists:?}");
    let inner = [
        ("go.mod", "module m\n"),
        ("sub/go.mod", "module m/sub // inner\n"),
        ("sub/a_test.go", ""),
    ];
    let entered = run(&["go test -C sub m/sub/..."], &inner);
    assert!(entered.contains(&"cd sub && go test ./...".into()), "{entered:?}");
    let one = run(&["go test example.com/m/a"], &go);
    assert!(one.contains(&"go test ./...".into()), "{one:?}");
}

#[test]
fn the_job_of_the_sources_comes_before_that_of_what_it_packs() {
    let package = [("package.json", "{\"scripts\": {\"test\": \"vitest --run\"}}")];
    let jobs = "  build:\n    steps:\n      - run: npm test\n  test-dist:\n    env: {TEST_DIST: '1'}\n    steps:\n      \
                - uses: actions/download-artifact@v4\n      - run: npm test\n";
    assert_eq!(commands(jobs, &package)[0], "npx vitest --run");
}

#[test]
fn a_build_beside_the_checkout_is_configured_as_in_ci() {
    let cmake = [
        ("CMakeLists.txt", "project(a)\nenable_testing()\nadd_test(a a)\n"),
        ("a.cpp", ""),
    ];
    let inside = "        working-directory: ${{ runner.workspace }}\n";
    let lines =
        format!("      - run: cmake -Bbuild -H$GITHUB_WORKSPACE -DTESTS=ON\n{inside}      - run: ctest -V\n{inside}");
    let found = steps(&lines, &cmake);
    assert!(found.iter().any(|command| command.contains("-DTESTS=ON")), "{found:?}");
}
