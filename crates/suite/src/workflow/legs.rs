//! Which job of a matrix is nearest to this machine: one that needs no service, may not fail, has this machine's Java, which
//! is not installed, and the newest released versions of the other tools.

use std::cmp::Reverse;
use std::path::Path;
use std::sync::LazyLock;

use super::expression::interpolate;
use super::node::Node;
use super::{JobMatch, matrix};

/// Words in the values of a matrix that name a service which the tests need.
pub(super) const SERVICES: [&str; 15] = [
    "cockroachdb",
    "elasticsearch",
    "kafka",
    "mariadb",
    "memcached",
    "mongo",
    "mongodb",
    "mssql",
    "mysql",
    "oracle",
    "postgres",
    "postgresql",
    "rabbitmq",
    "redis",
    "sqlserver",
];
/// Words that name a tool which runs the tests and which few machines have.
const TOOLS: [&str; 3] = ["qemu", "valgrind", "wine"];
/// Names of processors in the values of a matrix, with Rust's name.
const PROCESSORS: [(&str, &str); 16] = [
    ("386", "x86"),
    ("aarch64", "aarch64"),
    ("amd64", "x86_64"),
    ("arm", "arm"),
    ("arm64", "aarch64"),
    ("armv7", "arm"),
    ("i386", "x86"),
    ("i686", "x86"),
    ("ppc64le", "powerpc64"),
    ("riscv64", "riscv64"),
    ("s390x", "s390x"),
    ("win32", "x86"),
    ("x32", "x86"),
    ("x64", "x86_64"),
    ("x86", "x86"),
    ("32bit", "x86"),
];
/// Names of languages in those of a matrix' values.
const LANGUAGES: [&str; 13] = [
    "dotnet", "elixir", "go", "java", "jdk", "node", "nodejs", "otp", "php", "py", "python", "ruby", "scala",
];
/// Maximum number of steps that are looked at for versions.
const MAX_STEPS: usize = 30;

/// Where a job of a matrix comes in the order of all: the first is the smallest.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Distance {
    /// Whether it is for another processor, needs a service or a rare tool, and may fail.
    drawbacks: (bool, bool, bool),
    /// This machine most likely has a compiler's current release.
    is_not_current: bool,
    /// Others may have versions where this one has a name.
    lacks_versions: Reverse<usize>,
    /// Of each tool that is set up, in the order of the steps.
    versions: Vec<Version>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Version {
    is_of_other_machines: bool,
    is_unreleased: bool,
    number: Reverse<Vec<u32>>,
}

impl Version {
    fn new(name: &str, version: Option<Vec<u32>>, java: Option<u32>) -> Self {
        let is_java = name.split(['-', '_']).any(|word| matches!(word, "java" | "jdk"));
        let major = version.as_ref().and_then(|version| version.first().copied());
        Self {
            is_of_other_machines: is_java && java.is_some() && java != major,
            is_unreleased: version.is_none(),
            number: Reverse(version.unwrap_or_default()),
        }
    }
}

/// The major version of the machine's Java.
static JAVA: LazyLock<Option<u32>> = LazyLock::new(|| {
    let mut programs = ["/usr/bin/java", "/usr/local/bin/java", "/opt/java/openjdk/bin/java"].into_iter();
    let program = programs.find_map(|program| Path::new(program).canonicalize().ok())?;
    major_of_java(&std::fs::read_to_string(program.parent()?.parent()?.join("release")).ok()?)
});

/// The major version that a JDK's file `release` names, as in `JAVA_VERSION="17.0.13"` and `JAVA_VERSION="1.8.0_432"`.
fn major_of_java(release: &str) -> Option<u32> {
    let mut values = release.lines().filter_map(|line| line.strip_prefix("JAVA_VERSION="));
    let version = values.next()?.trim_matches('"');
    let version = version.strip_prefix("1.").unwrap_or(version);
    version.split(['.', '_', '-']).next()?.parse().ok()
}

/// How far a job of a matrix is from this machine.
pub(super) fn distance(leg: &JobMatch, job: &Node) -> Distance {
    distance_from(leg, job, *JAVA)
}

fn distance_from(leg: &JobMatch, job: &Node, java: Option<u32>) -> Distance {
    let values = matrix::display_names(&leg.scope.matrix);
    let names_service = |value: &String| {
        let value = value.to_ascii_lowercase();
        let mut words = value.split(|c: char| !c.is_ascii_alphabetic());
        words.any(|word| SERVICES.contains(&word) || TOOLS.contains(&word))
    };
    let names_processor = |value: &String| {
        let value = value.to_ascii_lowercase();
        let mut words = value.split(|c: char| !c.is_ascii_alphanumeric());
        words.any(|word| {
            PROCESSORS
                .iter()
                .any(|(name, arch)| word == *name && *arch != std::env::consts::ARCH)
        })
    };
    let says = |node: &Node| interpolate(&node.scalar()?, &leg.scope);
    let may_fail = job.get("continue-on-error").and_then(says);
    let steps = job.get("steps").map(Node::items).unwrap_or_default();
    let tools = steps.iter().take(MAX_STEPS).filter(|step| {
        let uses = step.get("uses").and_then(Node::text);
        uses.is_some_and(|uses| uses.split('@').next().is_some_and(|action| action.contains("setup")))
    });
    let inputs = tools.filter_map(|step| step.get("with")).flat_map(Node::entries);
    let versions = inputs.filter(|(name, _)| name.ends_with("version"));
    // Some scripts choose a version themselves. Of others, a number with parts is a version, and not one of several parts.
    let of_matrix = leg.scope.matrix.iter().filter_map(|(name, value)| {
        let is_of_language = name.split(['-', '_']).any(|word| LANGUAGES.contains(&word));
        let value = value.scalar().unwrap_or_default();
        let version = released(&value).filter(|_| is_of_language || value.contains('.'));
        (is_of_language || version.is_some()).then(|| Version::new(name, version, java))
    });
    let versions: Vec<Version> = versions
        .map(|(name, version)| Version::new(name, says(version).as_deref().and_then(released), java))
        .chain(of_matrix)
        .collect();
    Distance {
        drawbacks: (
            values.iter().any(names_processor),
            values.iter().any(names_service),
            may_fail.as_deref() == Some("true"),
        ),
        is_not_current: !values.iter().any(|value| value == "stable"),
        lacks_versions: Reverse(versions.len()),
        versions,
    }
}

/// A released version as numbers: `3.12`, `v20`, `22.x`. `None` for others, such as `3.15-dev`, `nightly` and `pypy3.11`.
fn released(version: &str) -> Option<Vec<u32>> {
    let version = version.trim().trim_start_matches('v');
    let version = version.strip_suffix(".x").unwrap_or(version);
    version.split('.').map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::test_steps;

    #[test]
    fn only_released_versions_are_numbers() {
        for (version, expected) in [
            ("3.12", Some(vec![3, 12])),
            ("v20", Some(vec![20])),
            ("22.x", Some(vec![22])),
            ("10.0.1", Some(vec![10, 0, 1])),
            ("3.15-dev", None),
            ("3.14t", None),
            ("pypy3.11", None),
            ("latest", None),
            ("", None),
        ] {
            assert_eq!(released(version), expected, "{version}");
        }
    }

    #[test]
    fn the_java_of_the_machine_comes_first() {
        assert_eq!(major_of_java("IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"17.0.13\"\n"), Some(17));
        assert_eq!(major_of_java("JAVA_VERSION=\"1.8.0_432\"\n"), Some(8));
        assert_eq!(major_of_java("17"), None);
        let nearest = |java: Option<u32>, name: &str| {
            let versions = [8, 11, 17, 21].map(|version| (Version::new(name, Some(vec![version]), java), version));
            versions.into_iter().min().map(|(_, version)| version)
        };
        assert_eq!(nearest(Some(17), "java-version"), Some(17));
        assert_eq!(nearest(Some(24), "jdk"), Some(21));
        assert_eq!(nearest(None, "java"), Some(21));
        assert_eq!(nearest(Some(17), "node-version"), Some(21));
    }

    #[track_caller]
    fn first(job: &str) -> String {
        let path = ".github/workflows/ci.yml".parse().unwrap();
        let text = format!("on: push\njobs:\n  test: {{runs-on: ubuntu-latest, {job}}}\n");
        test_steps([&path], &mut |_| Some(text.clone()))[0].script.clone()
    }

    #[test]
    fn the_newest_release_without_services_comes_first() {
        let steps = |action: &str, input: &str| {
            format!(
                "steps: [{{uses: '{action}@v4', with: {{{input}: '${{{{ matrix.v }}}}'}}}}, {{run: 'pytest ${{{{ matrix.v }}}}'}}]"
            )
        };
        let python = steps("actions/setup-python", "python-version");
        for (versions, expected) in [
            ("['3.9', '3.10', '3.13']", "pytest 3.13"),
            ("['3.9', '3.14t', '3.15-dev', pypy3.11, '3.10']", "pytest 3.10"),
            ("[3.x]", "pytest 3.x"),
        ] {
            assert_eq!(
                first(&format!("strategy: {{matrix: {{v: {versions}}}}}, {python}")),
                expected
            );
        }
        let node = steps("actions/setup-node", "node-version");
        assert_eq!(
            first(&format!("strategy: {{matrix: {{v: [10.x, 24.x, 9.x]}}}}, {node}")),
            "pytest 24.x"
        );
        let may_fail = "continue-on-error: '${{ matrix.v == 24 }}'";
        let job = format!("strategy: {{matrix: {{v: [20, 24, 22]}}}}, {may_fail}, {node}");
        assert_eq!(first(&job), "pytest 22");
        let processors = "strategy: {matrix: {arch: [x32, arm64, x64]}}, steps: [{run: 'pytest ${{ matrix.arch }}'}]";
        let own = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
        assert_eq!(first(processors), format!("pytest {own}"));
        let databases = "strategy: {matrix: {db: [postgres-16, mysql, sqlite, pglite]}}, steps: [{run: 'DB=${{ matrix.db }} pytest'}]";
        assert_eq!(first(databases), "DB=sqlite pytest");
        let tools =
            "strategy: {matrix: {with: [ENABLE_VALGRIND, NONE]}}, steps: [{run: 'WITH=${{ matrix.with }} pytest'}]";
        assert_eq!(first(tools), "WITH=NONE pytest");
    }
}
