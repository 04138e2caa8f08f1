//! Recognises, by name alone, files that are tests or that decide how tests run. No repair changes them. Contents are
//! not read.

/// Everything in such a folder serves the tests, or takes part in every build.
const FOLDERS: &[&str] = &[
    "test",
    "tests",
    "testing",
    "testdata",
    "__tests__",
    "spec",
    "specs",
    "e2e",
    "snapshots",
    "__snapshots__",
    "benches",
    "examples",
    ".cargo",
    ".mvn",
    "buildsrc",
    "node_modules",
];
/// Build scripts, and settings files that test runners and build tools look for.
const FILES: &[&str] = &[
    "conftest.py",
    "sitecustomize.py",
    "usercustomize.py",
    "setup.py",
    "noxfile.py",
    "pytest.ini",
    ".pytest.ini",
    "pytest.toml",
    ".pytest.toml",
    "tox.ini",
    "tox.toml",
    ".coveragerc",
    "build.rs",
    "rust-toolchain",
    "rust-toolchain.toml",
    "nextest.toml",
    "makefile",
    "gnumakefile",
    "justfile",
    ".justfile",
    "pom.xml",
    "mvnw",
    "mvnw.cmd",
    "gradlew",
    "gradlew.bat",
    "gradle.properties",
    "gradle-wrapper.jar",
    "gradle-wrapper.properties",
    ".npmrc",
    ".babelrc",
    ".swcrc",
    ".taprc",
    "bunfig.toml",
    "jasmine.json",
    ".rspec",
    "rakefile",
    "phpunit.xml",
    "phpunit.xml.dist",
    "testng.xml",
    "junit-platform.properties",
    ".runsettings",
    "xunit.runner.json",
    ".pnpmfile.cjs",
];
/// JavaScript tools accept settings as `.js`, `.cjs`, `.mts`, `.json`, `.yml` and more. Vitest falls back to Vite's.
const BEGINNINGS: &[&str] = &[
    "jest.",
    "vitest.",
    "vite.config.",
    "karma.conf",
    "ava.config.",
    "babel.config.",
    "playwright.config.",
    "cypress.config.",
    "wdio.conf",
    ".mocharc",
    ".eslintrc",
    "eslint.config.",
    ".yarnrc",
    "setuptests.",
];
/// Endings of file names: Python executes `.pth` files at every start.
const ENDS: &[&str] = &[".pth", ".snap", ".gradle", ".gradle.kts"];
/// Endings of names without their extension.
const STEM_ENDS: &[&str] = &["_test", "_tests", "_spec", ".test", ".tests", ".spec"];
/// Modules that Python would import from the repository instead of the real ones.
const PYTHON_TOOLS: &[&str] = &[
    "unittest",
    "doctest",
    "pytest",
    "_pytest",
    "pluggy",
    "iniconfig",
    "hypothesis",
    "nose",
    "nose2",
];

/// Whether a file contains tests, expected values, or settings of a test run. Ignores case, because some file systems
/// do.
pub fn is_test_path(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let name = path.rsplit('/').next().unwrap_or(&path);
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    // Prose about tests is not a test.
    let by_stem = !matches!(extension, "" | "md" | "txt")
        && (matches!(stem, "test" | "tests")
            || stem.starts_with("test_")
            || STEM_ENDS.iter().any(|end| stem.ends_with(end)));
    let by_class = matches!(extension, "java" | "kt" | "scala" | "cs" | "php" | "swift")
        && (stem.ends_with("test") || stem.ends_with("tests"));
    // A link or a script may have the name of such a folder.
    path.split('/').any(|part| FOLDERS.contains(&part))
        || is_installed_package(&path)
        || FILES.contains(&name)
        || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || ENDS.iter().any(|end| name.ends_with(end))
        || by_stem
        || by_class
}

/// Whether a file decides how tests are found, built or run, and contains no tests. `conftest.py` is not one of them:
/// it is code, and is checked like tests.
pub fn decides_how_tests_run(path: &str) -> bool {
    const RUN: [&str; 5] = [".cargo", ".mvn", "buildsrc", "node_modules", "gradle"];
    let path = path.to_ascii_lowercase();
    let name = path.rsplit('/').next().unwrap_or(&path);
    path.split('/').any(|part| RUN.contains(&part)) && is_test_path(&path)
        || is_installed_package(&path)
        || (FILES.contains(&name) && name != "conftest.py")
        || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || ENDS.iter().any(|end| *end != ".snap" && name.ends_with(end))
}

/// Whether a file describes an installed Python package. Packages in a folder on the import path count as installed,
/// and pytest loads the plugins that their entry points name.
/// <https://packaging.python.org/en/latest/specifications/entry-points/>
fn is_installed_package(path: &str) -> bool {
    path.contains(".egg-info/") || path.contains(".dist-info/")
}

/// Whether a file configures CI.
/// <https://docs.github.com/en/actions/concepts/workflows-and-actions/workflows>
pub fn is_ci_path(path: &str) -> bool {
    const NAMES: [&str; 12] = [
        ".gitlab-ci.yml",
        ".travis.yml",
        "azure-pipelines.yml",
        "appveyor.yml",
        ".appveyor.yml",
        "jenkinsfile",
        "codecov.yml",
        ".codecov.yml",
        ".coveralls.yml",
        "bitbucket-pipelines.yml",
        "greenlight.toml",
        ".pre-commit-config.yaml",
    ];
    let path = path.to_ascii_lowercase();
    let name = path.rsplit('/').next().unwrap_or(&path);
    [".github/", ".circleci/", ".buildkite/", ".gitea/", ".forgejo/", ".ci/"]
        .iter()
        .any(|folder| path.starts_with(folder))
        || NAMES.contains(&name)
}

/// Whether a new file could be imported instead of a tool that runs Python's tests. Import roots are set in many
/// places, so every folder counts as one.
pub fn shadows_test_tool(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let is_python = [".py", ".pyc", ".so"].iter().any(|end| path.ends_with(end));
    is_python
        && path
            .split('/')
            .any(|part| PYTHON_TOOLS.contains(&part.split('.').next().unwrap_or(part)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(paths: &[&str], rule: fn(&str) -> bool, expected: bool) {
        for path in paths {
            assert_eq!(rule(path), expected, "{path}");
        }
    }

    #[test]
    fn tests_are_known_by_their_names() {
        let tests = [
            "tests/api.rs",
            "crates/x/tests/it/main.rs",
            "src/a/tests.rs",
            "pkg/test_x.py",
            "pkg/x_test.go",
            "src/a.test.ts",
            "src/a.spec.tsx",
            "src/__snapshots__/a.txt",
            "app/tests.py",
            "src/test/java/A.java",
            "src/FooTest.java",
            "x/a.snap",
            "spec/models/user_spec.rb",
            "Tests/a.py",
            "numpy/testing/util.py",
            "examples/a.rs",
            "benches/a.rs",
            "tests",
        ];
        check(&tests, is_test_path, true);
    }

    #[test]
    fn what_decides_how_tests_run_is_known_by_its_name() {
        let settings = [
            "conftest.py",
            "pkg/Conftest.py",
            "sitecustomize.py",
            "src/usercustomize.py",
            "x.pth",
            "setup.py",
            "noxfile.py",
            "pytest.ini",
            ".pytest.ini",
            "tox.ini",
            ".coveragerc",
            ".mocharc.yml",
            "jest.config.ts",
            "jest.setup.js",
            "web/vitest.config.mts",
            "vite.config.js",
            "karma.conf.js",
            "build.rs",
            "crates/a/build.rs",
            ".cargo/config.toml",
            ".Cargo/config",
            "rust-toolchain",
            "rust-toolchain.toml",
            ".config/nextest.toml",
            "Makefile",
            "GNUmakefile",
            "justfile",
            "pom.xml",
            "build.gradle",
            "build.gradle.kts",
            "gradlew",
            "gradle/wrapper/gradle-wrapper.properties",
            ".mvn/jvm.config",
            ".npmrc",
            ".eslintrc.json",
            "node_modules/jest/index.js",
        ];
        check(&settings, is_test_path, true);
    }

    #[test]
    fn other_code_is_not_taken_for_tests() {
        let code = [
            "src/lib.rs",
            "src/contest.py",
            "latest.py",
            "src/attest.rs",
            "src/attests/a.py",
            "testimony.py",
            "src/protest.java.rs",
            "docs/writing_tests.md",
            "docs/test_plan.md",
            "src/builder.rs",
            "setup.cfg",
            "Cargo.toml",
            "package.json",
            "pyproject.toml",
            "src/makefile.rs",
            "src/pytest.py",
        ];
        check(&code, is_test_path, false);
    }

    #[test]
    fn a_new_module_must_not_stand_in_for_a_test_tool() {
        let shadows = [
            "unittest.py",
            "src/pytest.py",
            "Pluggy.py",
            "unittest/__init__.py",
            "lib/_pytest/config/x.py",
            "pytest.cpython-311-x86_64-linux-gnu.so",
        ];
        check(&shadows, shadows_test_tool, true);
        let others = ["src/unit.py", "docs/pytest.md", "pytest_like.py", "unittest/notes.txt"];
        check(&others, shadows_test_tool, false);
    }
}
