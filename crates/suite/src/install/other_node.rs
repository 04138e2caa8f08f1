//! Another Node than this machine's, from npm's registry.

use super::steps::{Phase, Project, Step, StepDirectory};

/// Installs another Node for the tests, and says where its programs are: the one that CI sets up, or one that
/// `package.json` accepts. `None` if this machine's is as good, or there is none for it in npm's registry.
pub(super) fn other_node(project: &Project<'_>, package: &serde_json::Value) -> Option<(Step, [String; 2])> {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        _ => return None,
    };
    let major = wanted_node(
        project.node?,
        project.ci.versions.get("node").map(String::as_str),
        package.get("engines").and_then(|engines| engines.get("node")?.as_str()),
    )?;
    let name = format!("node-linux-{architecture}");
    let here = StepDirectory::Workspace(None);
    let npm = [
        "npm",
        "install",
        "--prefix",
        NODE,
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--",
    ];
    let mut packages = vec![format!("{name}@{major}")];
    packages.extend(npm_of(major).map(|npm| format!("npm@{npm}")));
    let packages: Vec<&str> = packages.iter().map(String::as_str).collect();
    let step = Step::new(Phase::Online, here, &[&npm[..], &packages].concat());
    let programs = [format!("{name}/bin"), ".bin".into()];
    Some((
        step.optional(),
        programs.map(|folder| format!("{NODE}/node_modules/{folder}")),
    ))
}

/// Where another Node is installed.
const NODE: &str = "/installed/node";

/// The major version of npm that comes with an old Node. This machine's need not start with it; with later ones, it does:
/// <https://nodejs.org/dist/index.json>
fn npm_of(node: u64) -> Option<u64> {
    match node {
        ..=14 => Some(6),
        15 => Some(7),
        16..=17 => Some(8),
        _ => None,
    }
}

/// The major version of Node to install besides this machine's. `None` if this machine's is as good.
fn wanted_node(machine: &str, ci: Option<&str>, engines: Option<&str>) -> Option<u64> {
    let machine = semver::Version::parse(machine).ok()?;
    if let Some(ci) = ci {
        let majors = ci
            .split(',')
            .filter_map(|version| version.split('.').next()?.parse::<u64>().ok());
        let nearest = majors.min_by_key(|major| major.abs_diff(machine.major))?;
        return (nearest != machine.major).then_some(nearest);
    }
    // npm separates conditions by spaces, the parser by commas.
    let alternatives: Vec<semver::VersionReq> = engines?
        .split("||")
        .map(|range| semver::VersionReq::parse(&spaced(range)).ok())
        .collect::<Option<_>>()?;
    let accepts = |version: &semver::Version| alternatives.iter().any(|range| range.matches(version));
    if accepts(&machine) {
        return None;
    }
    // Releases with long-term support have even numbers; npm chooses the newest of a major version.
    (18..=40)
        .step_by(2)
        .find(|major| accepts(&semver::Version::new(*major, 999, 0)))
}

/// `>= 18 <21` as `>=18,<21`.
fn spaced(range: &str) -> String {
    let mut joined = String::new();
    for word in range.split_whitespace() {
        let follows_sign = joined.ends_with(['<', '>', '=', '^', '~']);
        if !joined.is_empty() && !follows_sign {
            joined.push(',');
        }
        joined.push_str(word);
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_node_is_installed_where_this_one_is_not_accepted() {
        #[track_caller]
        fn check(ci: Option<&str>, engines: Option<&str>, expected: Option<u64>) {
            assert_eq!(wanted_node("20.20.2", ci, engines), expected);
        }
        check(None, None, None);
        check(None, Some(">=18"), None);
        check(None, Some("^18 || >= 20.1.0"), None);
        check(None, Some(">=22.12.0"), Some(22));
        check(None, Some(">= 16 <19"), Some(18));
        check(None, Some("18.x"), Some(18));
        check(None, Some("latest; rm -rf"), None);
        check(Some("24"), Some(">=18"), Some(24));
        check(Some("20.x"), None, None);
        check(Some("18,20,22"), None, None);
        check(Some("22,24,18.x"), None, Some(22));
        check(Some("lts/*"), None, None);
    }

    #[test]
    fn an_old_node_has_the_npm_that_comes_with_it() {
        for (node, npm) in [(12, Some(6)), (14, Some(6)), (16, Some(8)), (18, None), (24, None)] {
            assert_eq!(npm_of(node), npm, "{node}");
        }
    }
}
