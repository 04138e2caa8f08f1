//! Names of scripts and targets that say what they do.

/// Words that name tests and checks in the scripts and targets of a project.
const TASKS: [&str; 11] = [
    "test",
    "tests",
    "check",
    "lint",
    "spec",
    "unit",
    "typecheck",
    "type-check",
    "clippy",
    "verify",
    "vet",
];

/// Tools that run tests, and whose output is not read.
const OTHER_TOOLS: [&str; 14] = [
    "atoum",
    "ava",
    "behat",
    "codecept",
    "cucumber",
    "cypress",
    "ginkgo",
    "kahlan",
    "karma",
    "phpspec",
    "playwright",
    "prove",
    "tap",
    "tester",
];

/// Whether a program is such a tool.
pub(crate) fn is_other_tool(program: &str) -> bool {
    OTHER_TOOLS.contains(&program)
}

/// Whether the name of a script of `package.json` says that it tests, without a mark between its words, as in `testonly`
/// and `unittest`, or is that of a tool.
pub(super) fn has_tests_in_name(name: &str) -> bool {
    const TOOLS: [&str; 5] = ["ava", "jasmine", "jest", "mocha", "vitest"];
    const OTHERS: [&str; 4] = ["latest", "contest", "attest", "fastest"];
    // Tests of how parts work together, unless the script builds or starts something for them.
    const TOGETHER: [&str; 6] = ["acceptance", "cucumber", "e2e", "functional", "integration", "smoke"];
    const FOR_THEM: [&str; 14] = [
        "build", "clean", "compile", "deploy", "down", "install", "lint", "prepare", "report", "serve", "server",
        "setup", "start", "up",
    ];
    let name = name.to_ascii_lowercase();
    let parts = || name.split([':', '-', '_', '.']);
    let tests = |part: &str| {
        let tests = part.starts_with("test") || ["test", "tests", "testing"].iter().any(|end| part.ends_with(end));
        TOOLS.contains(&part) || tests && !OTHERS.iter().any(|other| part.ends_with(other))
    };
    if is_before_tests(&name) {
        return false;
    }
    let is_together = || parts().any(|part| TOGETHER.contains(&part)) && !parts().any(|part| FOR_THEM.contains(&part));
    parts().any(tests) || is_together()
}

/// Whether the name of a script or target says that it tests or checks.
pub(crate) fn is_task(name: &str) -> bool {
    let mut parts = name.split([':', '-', '_', '.', '/']);
    !is_before_tests(name)
        && (TASKS.contains(&name) || parts.any(|part| TASKS.contains(&part)) || name.ends_with("Test"))
}

/// Whether a task comes before the tests, as `db:test:prepare`, `test.setup` and `make-test` do.
fn is_before_tests(name: &str) -> bool {
    const BEFORE: [&str; 6] = ["create", "migrate", "prepare", "reset", "seed", "setup"];
    let last = name.rsplit([':', '-', '_', '.', '/']).next();
    name.starts_with("make-") || last.is_some_and(|last| BEFORE.contains(&last))
}

/// The folder of the build program that `dotnet run --project FOLDER` starts: <https://nuke.build>, <https://cakebuild.net>
pub(in crate::discover) fn build_project<'w>(arguments: &[&'w str]) -> Option<&'w str> {
    let at = arguments.iter().position(|word| *word == "--project")?;
    let path = arguments.get(at + 1)?.trim_start_matches("./").trim_end_matches('/');
    let folder = path
        .rsplit_once('/')
        .filter(|_| path.ends_with("proj"))
        .map_or(path, |(folder, _)| folder);
    let name = folder
        .rsplit('/')
        .next()
        .unwrap_or(folder)
        .trim_start_matches(['_', '.']);
    matches!(name, "build" | "builder" | "cake" | "targets").then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_before_tests_is_none() {
        for name in ["test", "test:unit", "check-types", "setup-test", "integrationTest"] {
            assert!(is_task(name), "{name}");
        }
        for name in ["make-test", "test.setup", "db:test:prepare", "latest", "tests/setup"] {
            assert!(!is_task(name), "{name}");
        }
    }

    #[test]
    fn tests_are_in_the_name_of_a_script() {
        for name in [
            "testonly",
            "unittest",
            "mocha",
            "test262",
            "runtests",
            "testing",
            "fast-jest",
            "e2e",
            "smoke:a",
        ] {
            assert!(has_tests_in_name(name), "{name}");
        }
        for name in [
            "e2e:build",
            "start-e2e",
            "latest",
            "publish:latest",
            "contest",
            "build",
            "detestable",
            "start",
        ] {
            assert!(!has_tests_in_name(name), "{name}");
        }
    }
}
