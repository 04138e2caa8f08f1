//! Rust, Go and Java: tools that only have to be told to fetch. What they build, they build when the tests run.

use std::collections::BTreeSet;

use super::plan::{Phase, Place, Plan, Project, Shown, Step};

pub(super) fn cargo(project: &Project<'_>) -> Option<Plan> {
    project.path("Cargo.toml")?;
    // `.cargo/config.toml` is not shown: it may name programs to run.
    let files = project.named(&["Cargo.toml", "Cargo.lock"]);
    // Cargo wants to see that its targets are there.
    let sources = project
        .checkout
        .paths()
        .into_iter()
        .filter(|path| path.as_str().ends_with(".rs"));
    let empty = sources.cloned().collect();
    let is_locked = files.iter().any(|path| path.as_str().ends_with("Cargo.lock"));
    let argv: &[&str] = if is_locked {
        &["cargo", "fetch", "--locked"]
    } else {
        &["cargo", "fetch"]
    };
    Some(Plan {
        tools: BTreeSet::from(["cargo"]),
        steps: vec![Step::new(
            Phase::Online,
            Place::Workspace(project.directory.clone()),
            argv,
        )],
        shown: Shown::Only { files, empty },
        modules: None,
    })
}

pub(super) fn go(project: &Project<'_>) -> Option<Plan> {
    project.path("go.mod").or_else(|| project.path("go.work"))?;
    // What is in the tree already is what Go takes.
    if project.path("vendor/modules.txt").is_some() {
        return None;
    }
    let files = project.named(&["go.mod", "go.sum", "go.work", "go.work.sum"]);
    Some(only("go", project, files, &["go", "mod", "download"]))
}

/// Maven's plugins load more when they run, as Surefire does for the framework it finds, so everything is run once, for
/// a class with nothing in it.
const EMPTY_BUILD: &str = r#"find . -name pom.xml | while read -r pom; do
tests="$(dirname "$pom")/src/test/java" && mkdir -p "$tests" && echo 'public class NothingTest {}' > "$tests/NothingTest.java"
done
exec mvn -B -ntp -DfailIfNoTests=false -Dmaven.test.failure.ignore=true test"#;

pub(super) fn maven(project: &Project<'_>) -> Option<Plan> {
    project.path("pom.xml")?;
    let argv = ["sh", "-c", EMPTY_BUILD];
    Some(only("mvn", project, project.named(&["pom.xml"]), &argv))
}

/// Gradle's build files are programs, and may be anywhere: it is shown everything.
pub(super) fn gradle(project: &Project<'_>) -> Option<Plan> {
    let files = [
        "build.gradle",
        "build.gradle.kts",
        "settings.gradle",
        "settings.gradle.kts",
    ];
    files.iter().find_map(|name| project.path(name))?;
    let argv = ["gradle", "--no-daemon", "--console=plain", "testClasses"];
    Some(Plan {
        shown: Shown::All,
        ..only("gradle", project, BTreeSet::new(), &argv)
    })
}

fn only(
    tool: &'static str,
    project: &Project<'_>,
    files: BTreeSet<crate::domain::id::RepoPath>,
    argv: &[&str],
) -> Plan {
    Plan {
        tools: BTreeSet::from([tool]),
        steps: vec![Step::new(
            Phase::Online,
            Place::Workspace(project.directory.clone()),
            argv,
        )],
        shown: Shown::Only {
            files,
            empty: BTreeSet::new(),
        },
        modules: None,
    }
}
