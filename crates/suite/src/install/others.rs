//! Rust, Go and Java: these tools only fetch packages here. Anything that must be built is built when the tests run.

use std::collections::BTreeSet;

use greenlight_anchor::RepoPath;

use super::maven_distribution;
use super::steps::{Phase, Plan, Project, Step, StepDirectory, VisibleFiles};

pub(super) fn cargo(project: &Project<'_>) -> Option<Plan> {
    project.path("Cargo.toml")?;
    // `.cargo/config.toml` is hidden: it may name programs to run.
    let files = project.named(&["Cargo.toml", "Cargo.lock"]);
    // Cargo checks that the files of its targets exist.
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
    let here = StepDirectory::Workspace(project.directory.clone());
    let mut plan = Plan {
        tools: BTreeSet::from(["cargo"]),
        steps: vec![Step::new(Phase::Online, here, argv)],
        shown: VisibleFiles::Only { files, empty },
        ..Plan::default()
    };
    if tests_features(project) {
        // It only starts other programs, so it need not be fast, and builds sooner.
        let words = [
            "cargo",
            "install",
            "--debug",
            "--locked",
            "--root",
            CARGO_TOOLS,
            "cargo-hack",
        ];
        let fetch = Step::new(Phase::Online, StepDirectory::Workspace(None), &words);
        plan.steps.push(fetch.optional());
        plan.path.push(format!("{CARGO_TOOLS}/bin"));
    }
    Some(plan)
}

/// Where plugins of Cargo are installed.
const CARGO_TOOLS: &str = "/installed/cargo-tools";

/// Whether the tests need `cargo hack`: the command, or the script of the tree that it runs, calls it.
fn tests_features(project: &Project<'_>) -> bool {
    let says = |text: &str| text.contains("cargo hack");
    says(&project.argv.join(" "))
        || project.argv.iter().take(2).any(|word| {
            let script = project.text(word.trim_start_matches("./"));
            script.is_some_and(|text| says(&text))
        })
}

pub(super) fn go(project: &Project<'_>) -> Option<Plan> {
    project.path("go.mod").or_else(|| project.path("go.work"))?;
    // Go uses a vendored tree as it is.
    if project.path("vendor/modules.txt").is_some() {
        return None;
    }
    let files = project.named(&["go.mod", "go.sum", "go.work", "go.work.sum"]);
    Some(only("go", project, files, &["go", "mod", "download"]))
}

/// Maven's plugins download more when they run, as Surefire does for the framework it finds. So everything runs once,
/// for an empty test class, which has a name because a project may set filters for more than Surefire. Plugins that
/// check style or licences have nothing to check and may fail; the second attempt skips them.
const EMPTY_BUILD: &str = r#"find . -name pom.xml | while read -r pom; do
tests="$(dirname "$pom")/src/test/java" && mkdir -p "$tests" && echo 'public class NothingTest {}' > "$tests/NothingTest.java"
done
build() {
mvn -B -ntp --fail-at-end "$@" -Dtest=NothingTest -Dit.test=NothingTest -DfailIfNoTests=false \
-Dsurefire.failIfNoSpecifiedTests=false -Dfailsafe.failIfNoSpecifiedTests=false -Dmaven.test.failure.ignore=true
}
build "$@" || build "$@" -Dcheckstyle.skip -Dspotless.check.skip -Drat.skip -Dlicense.skip -Dpmd.skip -Dcpd.skip \
-Dspotbugs.skip -Danimal.sniffer.skip -Dspring-javaformat.validate.skip -Dformatter.skip -Dfmt.skip"#;

pub(super) fn maven(project: &Project<'_>) -> Option<Plan> {
    project.path("pom.xml")?;
    let script = ["sh", "-c", EMPTY_BUILD, "sh"];
    let argv: Vec<&str> = script.into_iter().chain(maven_goals(project.argv)).collect();
    let paths = project.checkout.paths().into_iter();
    let (files, rest): (BTreeSet<&RepoPath>, BTreeSet<_>) = paths.partition(|path| shapes_maven(path.as_str()));
    let empty = rest.into_iter().filter_map(|path| stand_in(path.as_str())).collect();
    let files = files.into_iter().cloned().collect();
    // A build may need hidden files, such as a script or a class to shrink.
    let mut plan = Plan {
        may_see_all: true,
        shown: VisibleFiles::Only { files, empty },
        ..only("mvn", project, BTreeSet::new(), &argv)
    };
    if let Some((fetch, programs)) = maven_distribution::step(project) {
        plan.steps.insert(0, fetch);
        plan.path.push(programs);
    } else if let Some(build) = plan.steps.pop() {
        let (newer, programs) = maven_distribution::or_newer(build, &argv);
        plan.steps.push(newer);
        plan.path.push(programs);
    }
    Some(plan)
}

/// The goals and options of a command, which determine the plugins and profiles that are needed; `test` if it is not
/// Maven.
fn maven_goals(argv: &[String]) -> Vec<&str> {
    let is_maven = argv
        .first()
        .is_some_and(|tool| matches!(tool.rsplit('/').next(), Some("mvn" | "mvnw")));
    if !is_maven {
        return vec!["test"];
    }
    let is_kept = |word: &&str| {
        !matches!(
            *word,
            "-o" | "--offline" | "-ff" | "--fail-fast" | "-fn" | "--fail-never"
        )
    };
    argv.iter().skip(1).map(String::as_str).filter(is_kept).collect()
}

/// Files that only need to exist, because profiles check for them. A source is replaced by an empty file that creates
/// its directory and that no plugin reads.
fn stand_in(path: &str) -> Option<RepoPath> {
    let parts: Vec<&str> = path.split('/').collect();
    let Some(at) = sources(&parts) else {
        return path.parse().ok();
    };
    let directory = parts.get(..at + 3).filter(|directory| directory.len() < parts.len())?;
    format!("{}/.gitignore", directory.join("/")).parse().ok()
}

/// The index in a path at which `src/main`, `src/test` or `src/it` begins.
fn sources(parts: &[&str]) -> Option<usize> {
    parts
        .windows(2)
        .position(|pair| pair[0] == "src" && matches!(pair[1], "main" | "test" | "it"))
}

/// Whether a file configures the build: poms, Maven's extensions and options, and the rules and headers that plugins
/// use.
fn shapes_maven(path: &str) -> bool {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    let parts: Vec<&str> = directory.split('/').collect();
    if name == "pom.xml" || parts.contains(&".mvn") {
        return true;
    }
    let is_source = sources(&parts).is_some();
    let is_rule = [".xml", ".properties"].iter().any(|ending| name.ends_with(ending));
    let is_header = ["header", "license", "notice"]
        .iter()
        .any(|word| name.to_ascii_lowercase().starts_with(word));
    !is_source && !parts.contains(&"node_modules") && (is_rule || is_header)
}

/// Gradle's build files are programs and may be anywhere, so it sees everything.
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
        shown: VisibleFiles::All,
        ..only("gradle", project, BTreeSet::new(), &argv)
    })
}

fn only(tool: &'static str, project: &Project<'_>, files: BTreeSet<RepoPath>, argv: &[&str]) -> Plan {
    Plan {
        tools: BTreeSet::from([tool]),
        steps: vec![Step::new(
            Phase::Online,
            StepDirectory::Workspace(project.directory.clone()),
            argv,
        )],
        shown: VisibleFiles::Only {
            files,
            empty: BTreeSet::new(),
        },
        ..Plan::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maven_is_shown_what_shapes_the_build() {
        let shown = [
            "pom.xml",
            "core/pom.xml",
            "src/test/projects/a/pom.xml",
            ".mvn/extensions.xml",
            ".mvn/maven.config",
            "src/checkstyle/rules.xml",
            "etc/header.txt",
            "LICENSE.txt",
            "build.properties",
        ];
        let hidden = [
            "src/main/java/A.java",
            "core/src/test/resources/a.xml",
            "README.md",
            "src/main/resources/a.properties",
        ];
        assert_eq!(shown.map(shapes_maven), [true; 9]);
        assert_eq!(hidden.map(shapes_maven), [false; 4]);
    }

    #[test]
    fn what_profiles_ask_for_is_there() {
        #[track_caller]
        fn check(path: &str, expected: Option<&str>) {
            assert_eq!(stand_in(path).as_ref().map(RepoPath::as_str), expected);
        }
        check("src/main/java/a/B.java", Some("src/main/java/.gitignore"));
        check("core/src/test/resources/x", Some("core/src/test/resources/.gitignore"));
        check(
            "src/site/resources/profile.jacoco",
            Some("src/site/resources/profile.jacoco"),
        );
        check("src/main/A.java", None);
    }

    #[test]
    fn maven_installs_for_the_goals_of_the_command() {
        #[track_caller]
        fn check(command: &str, expected: &[&str]) {
            assert_eq!(maven_goals(&shlex::split(command).unwrap()), expected);
        }
        check(
            "./mvnw -B --offline verify -Pci -Da=b",
            &["-B", "verify", "-Pci", "-Da=b"],
        );
        check("mvn test", &["test"]);
        check("make check", &["test"]);
    }

    #[test]
    fn a_build_that_asks_for_more_is_shown_everything_the_second_time() {
        let plan = |may_see_all| Plan {
            may_see_all,
            ..Plan::default()
        };
        let shown = |plan: Plan| {
            plan.attempts()
                .into_iter()
                .map(|plan| plan.shown == VisibleFiles::All)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            (shown(plan(false)), shown(plan(true))),
            (vec![false], vec![false, true])
        );
    }
}
