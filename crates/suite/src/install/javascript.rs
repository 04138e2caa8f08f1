//! Node: npm, pnpm or yarn, depending on the lock file. No package script runs while there is a network.

use std::collections::BTreeSet;

use super::INSTALLED;
use super::steps::{Phase, Plan, Project, Step, StepDirectory, VisibleFiles};

/// Replaces everything but the packages with links to where the tests find it, so that links between packages of the
/// same repository lead to the code under test. Directories that contain packages stay directories.
const RELINK: &str = r#"relink() {
for entry in "$1"/.* "$1"/*; do
name=${entry##*/}
case "$name" in .|..|node_modules|'.*'|'*') continue ;; esac
if [ -d "$entry" ] && [ ! -L "$entry" ] && [ -n "$(find "$entry" -name node_modules -type d -prune)" ]
then relink "$entry" "$2/$name"
else rm -rf "$entry" && ln -s "$2/$name" "$entry"
fi
done
}
relink . "$1""#;

/// Files besides the lock file that determine what is installed.
const MANIFESTS: [&str; 4] = ["package.json", ".npmrc", "pnpm-workspace.yaml", ".yarnrc.yml"];

const WITHOUT_LOCK: &[&str] = &[
    "npm",
    "install",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--no-package-lock",
];

pub(super) fn plan(project: &Project<'_>) -> Option<Plan> {
    let package: serde_json::Value = serde_json::from_str(&project.text("package.json")?).ok()?;
    let lists = [
        "dependencies",
        "devDependencies",
        "optionalDependencies",
        "peerDependencies",
        "workspaces",
    ];
    let needs_something = lists.iter().filter_map(|list| package.get(list)).any(|list| {
        list.as_object().is_some_and(|list| !list.is_empty()) || list.as_array().is_some_and(|list| !list.is_empty())
    });
    if !needs_something {
        return None;
    }
    let (tool, argv, rebuild) = tool(project);
    let mut files = project.named(&MANIFESTS);
    for name in [
        "package-lock.json",
        "npm-shrinkwrap.json",
        "pnpm-lock.yaml",
        "yarn.lock",
    ] {
        files.extend(project.path(name));
    }
    let patches = project
        .checkout
        .paths()
        .into_iter()
        .filter(|path| path.as_str().ends_with(".patch"));
    files.extend(patches.cloned());
    let below = project
        .directory
        .as_ref()
        .map_or(String::new(), |directory| format!("/{directory}"));
    let here = StepDirectory::Installed(project.directory.clone());
    let copy = format!("mkdir -p {INSTALLED}/tree && cp -R . {INSTALLED}/tree");
    let real = format!("{}{below}", greenlight_sandbox::WORKSPACE);
    Some(Plan {
        tools: BTreeSet::from([tool]),
        steps: vec![
            Step::new(Phase::Offline, StepDirectory::Workspace(None), &["sh", "-c", &copy]),
            Step::new(Phase::Online, here.clone(), argv),
            Step::new(Phase::Offline, here.clone(), rebuild).optional(),
            Step::new(Phase::Offline, here, &["sh", "-c", RELINK, "sh", &real]),
        ],
        shown: VisibleFiles::Only {
            files,
            empty: BTreeSet::new(),
        },
        may_see_all: false,
        modules: Some(format!("{INSTALLED}/tree")),
    })
}

/// The tool, its command to install without running scripts, and its command to run the scripts afterwards.
fn tool(project: &Project<'_>) -> (&'static str, &'static [&'static str], &'static [&'static str]) {
    let has = |tool: &str| project.present.contains(tool);
    let lock = |name: &str| project.path(name).is_some();
    if lock("pnpm-lock.yaml") && has("pnpm") {
        let install = &[
            "pnpm",
            "install",
            "--frozen-lockfile",
            "--ignore-scripts",
            "--config.package-import-method=copy",
        ];
        ("pnpm", install, &["pnpm", "rebuild"])
    } else if lock("yarn.lock") && has("yarn") {
        let is_classic = project
            .text("yarn.lock")
            .is_some_and(|text| !text.contains("__metadata:"));
        let classic: &[&str] = &[
            "yarn",
            "install",
            "--frozen-lockfile",
            "--ignore-scripts",
            "--non-interactive",
        ];
        let berry = &["yarn", "install", "--immutable", "--mode=skip-build"];
        ("yarn", if is_classic { classic } else { berry }, &["npm", "rebuild"])
    } else if lock("package-lock.json") || lock("npm-shrinkwrap.json") {
        (
            "npm",
            &["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
            &["npm", "rebuild"],
        )
    } else {
        ("npm", WITHOUT_LOCK, &["npm", "rebuild"])
    }
}
