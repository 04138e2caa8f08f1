//! Projects whose CI builds something before the tests, or starts services for them.

use std::ffi::OsStr;

use tempfile::TempDir;

use super::{document, few_runs, fix, written};
use crate::doors::{Door, Ended};

const WORKFLOW: &str = "
on: [push]
jobs:
  test:
    runs-on: ubuntu-latest
    services:
      db: {image: 'postgres:16'}
    steps:
      - uses: actions/checkout@v5
      - run: npm run build
      - run: npm test
";
const PACKAGE: &str = r#"{"name": "fares", "scripts": {"build": "node build.js", "test": "node --test"}}"#;
const BUILD: &str = "const fs = require('fs');\nfs.mkdirSync('dist', { recursive: true });\nfs.copyFileSync('src/fare.js', 'dist/fare.js');\n";
const TESTS: &str = "const test = require('node:test');\nconst assert = require('node:assert');\n\
    const { fare } = require('./dist/fare.js');\n\
    test('none', () => assert.strictEqual(fare(0), 2));\ntest('three', () => assert.strictEqual(fare(3), 5));\n";
const RED: &str = "exports.fare = function (stops) {\n  return 2 - stops;\n};\n";
const GREEN: &str = "exports.fare = function (stops) {\n  return 2 + stops;\n};\n";

fn project(source: &str) -> TempDir {
    written(&[
        ("greenlight.toml", few_runs("").as_bytes()),
        (".github/workflows/ci.yml", WORKFLOW.as_bytes()),
        ("package.json", PACKAGE.as_bytes()),
        ("build.js", BUILD.as_bytes()),
        ("src/fare.js", source.as_bytes()),
        ("fare.test.js", TESTS.as_bytes()),
    ])
}

async fn tests(checkout: &TempDir) -> Ended {
    let arguments = [OsStr::new("tests"), checkout.path().as_os_str()];
    Door::new().run(arguments).await
}

/// Every patch is tested after the same build: what the tests load is what the patch says.
#[tokio::test]
async fn what_ci_builds_is_built_before_every_run() {
    let checkout = project(RED);
    let fixed = document(&fix(checkout.path(), &["--yes", "--json"]).await.with(0));
    assert_eq!(fixed["test_command"], "npm run build && node --test");
    assert_eq!(fixed["outcome"], "fixed");
    let now = std::fs::read_to_string(checkout.path().join("src/fare.js")).unwrap();
    assert_eq!(now, GREEN);
    assert!(!checkout.path().join("dist").exists());
}

#[tokio::test]
async fn a_build_that_fails_is_no_passing_test() {
    let checkout = project(GREEN);
    std::fs::write(
        checkout.path().join("build.js"),
        "console.log('no disk'); process.exit(3);\n",
    )
    .unwrap();
    let ended = tests(&checkout).await.with(1);
    assert!(ended.out.contains("no disk"), "{}", ended.out);
    assert!(!ended.out.contains("passed"), "{}", ended.out);
}

#[tokio::test]
async fn services_that_only_ci_has_are_named() {
    let ended = tests(&project(GREEN)).await.with(0);
    ended.saying("in CI, these tests have the services postgres:16; greenlight does not start services");
}
