//! Checks as people write them, and the commands that fix what they find.

use super::*;

#[track_caller]
fn check(line: &str, expected: Option<&str>) {
    let part = CommandPart {
        argv: line.split_whitespace().map(ToString::to_string).collect(),
        directory: None,
        env: std::collections::BTreeMap::new(),
        has_pattern: false,
    };
    let found = remedy(&part).map(|remedy| remedy.fix.argv.join(" "));
    assert_eq!(found.as_deref(), expected, "{line}");
}

#[test]
fn a_check_becomes_its_fix() {
    check("cargo fmt --check", Some("cargo fmt"));
    check("cargo fmt --all -- --check", Some("cargo fmt --all --"));
    check("cargo +nightly fmt --check", Some("cargo +nightly fmt"));
    check(
        "rustfmt --check --edition 2024 src/lib.rs",
        Some("rustfmt --edition 2024 src/lib.rs"),
    );
    check("black --check --diff src tests", Some("black src tests"));
    check("python -m black --check .", Some("python -m black ."));
    check("isort --check-only --profile black .", Some("isort --profile black ."));
    check("ruff format --check .", Some("ruff format ."));
    check(
        "ruff check --select E .",
        Some("ruff check --fix --no-unsafe-fixes --select E ."),
    );
    check("ruff check --unsafe-fixes", Some("ruff check --fix --no-unsafe-fixes"));
    check("uv lock --check", Some("uv lock --offline"));
    check(
        "npx --no-install eslint --max-warnings 0 .",
        Some("npx --no-install eslint --fix --max-warnings 0 ."),
    );
    check("node_modules/.bin/eslint .", Some("node_modules/.bin/eslint --fix ."));
    check("prettier -c src", Some("prettier --write src"));
    check(
        "yarn prettier --list-different=true src",
        Some("yarn prettier --write src"),
    );
    check("biome ci .", Some("biome check --write ."));
    check("biome lint src", Some("biome lint --write src"));
    check("stylelint **/*.css", Some("stylelint --fix **/*.css"));
    check("gofmt -s -l .", Some("gofmt -w -s ."));
    check("golangci-lint run ./...", Some("golangci-lint run --fix ./..."));
    check("go mod tidy -diff", Some("go mod tidy"));
    check("go test ./...", Some("go mod tidy"));
    check("cargo test --locked", Some("cargo update --workspace --offline"));
    check("shfmt -d scripts", Some("shfmt -w scripts"));
    check("terraform fmt -check=true -recursive", Some("terraform fmt -recursive"));
    check("mix format --check-formatted", Some("mix format"));
    check("bundle exec rubocop lib", Some("bundle exec rubocop --autocorrect lib"));
    check("php-cs-fixer fix --dry-run --diff", Some("php-cs-fixer fix"));
    check("./gradlew :app:spotlessCheck", Some("./gradlew :app:spotlessApply"));
    check("mvn -B spotless:check", Some("mvn -B spotless:apply"));
}

#[test]
fn what_checks_nothing_or_mended_already_is_left_alone() {
    for line in [
        "",
        "npx",
        "black .",
        "cargo fmt",
        "cargo test",
        "cargo",
        "prettier src",
        "eslint --fix .",
        "ruff check --fix",
        "ruff check --fix=true",
        "ruff",
        "biome",
        "rubocop --autocorrect",
        "mypy .",
        "./gradlew test",
        "echo black --check",
        "env",
        "env A=b",
    ] {
        check(line, None);
    }
}
