//! Node: npm, pnpm or yarn, depending on the lock file. pnpm and yarn are installed first if they are missing. No
//! package script runs while there is a network.

use std::collections::BTreeSet;

use super::INSTALLED;
use super::other_node::other_node;
use super::steps::{Phase, Plan, Project, Step, StepDirectory, VisibleFiles, owned};
use crate::discover::workspaces;

/// Where a package manager is installed that this machine does not have. Tests see it: scripts of a project call it.
const TOOLS: &str = "/installed/tools";

/// Replaces everything but the packages with links to where the tests find it, so that links between packages of the
/// same repository lead to the code under test. Directories that contain packages stay directories, so links to them
/// that pnpm keeps among its own packages are redirected first.
const RELINK: &str = r#"for link in node_modules/.pnpm/node_modules/* node_modules/.pnpm/node_modules/@*/*; do
[ -L "$link" ] && target=$(readlink -f "$link") || continue
case "$target" in */node_modules/*) ;; "$PWD"/*) ln -sfn "$1/${target#"$PWD"/}" "$link" ;; esac
done
relink() {
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
    // The packages of a workspace are installed with those of the project that declares it.
    let own = project.directory.as_ref();
    let owner = own.and_then(|own| workspaces::owner(project.checkout, own));
    let directory = owner.unwrap_or_else(|| project.directory.clone());
    plan_in(&Project { directory, ..*project })
}

fn plan_in(project: &Project<'_>) -> Option<Plan> {
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
    let chosen = Chosen::of(project, &package);
    let manager = chosen.fetch.is_some().then(|| format!("{TOOLS}/node_modules/.bin"));
    let node = other_node(project, &package);
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
        tools: BTreeSet::from([chosen.tool]),
        steps: node
            .iter()
            .map(|(step, _)| step.clone())
            .chain(chosen.fetch.iter().cloned())
            .chain([
                Step::new(Phase::Offline, StepDirectory::Workspace(None), &["sh", "-c", &copy]),
                chosen.install(here.clone()),
                Step::new(Phase::Offline, here.clone(), &[&chosen.rebuild, "rebuild"]).optional(),
                Step::new(Phase::Offline, here, &["sh", "-c", RELINK, "sh", &real]),
            ])
            .collect(),
        shown: VisibleFiles::Only {
            files,
            empty: BTreeSet::new(),
        },
        modules: Some(format!("{INSTALLED}/tree")),
        path: node
            .into_iter()
            .flat_map(|(_, directories)| directories)
            .chain(manager)
            .collect(),
        ..Plan::default()
    })
}

/// The package manager of a project, and how it is used.
struct Chosen {
    tool: &'static str,
    /// Installs the package manager itself, if this machine does not have it.
    fetch: Option<Step>,
    /// Installs without running scripts.
    argv: Vec<String>,
    /// An option to try if that fails, and a note to record then.
    otherwise: Option<(&'static str, &'static str)>,
    /// The program that runs the scripts afterwards.
    rebuild: String,
}

const OTHER_NODE: &str =
    "some packages ask for another version of Node than this machine has, and were installed anyway";

impl Chosen {
    fn of(project: &Project<'_>, package: &serde_json::Value) -> Self {
        let lock = |name: &str| project.text(name);
        if let Some(lock) = lock("pnpm-lock.yaml") {
            return Self::pnpm(project, &lock, package);
        }
        if let Some(lock) = lock("yarn.lock") {
            return Self::yarn(project, &lock, package);
        }
        let is_locked = project.path("package-lock.json").is_some() || project.path("npm-shrinkwrap.json").is_some();
        let npm_ci: &[&str] = &["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"];
        let mut argv = owned(if is_locked { npm_ci } else { WITHOUT_LOCK });
        argv.extend(project.ci.npm_flags.iter().cloned());
        Self {
            tool: "npm",
            fetch: None,
            argv,
            otherwise: None,
            rebuild: "npm".into(),
        }
    }

    fn pnpm(project: &Project<'_>, lock: &str, package: &serde_json::Value) -> Self {
        // Since version 10, the file that lists the packages of a workspace may have settings alone.
        let lists_no_packages = project
            .text("pnpm-workspace.yaml")
            .is_some_and(|text| !text.lines().any(|line| line.starts_with("packages:")));
        // <https://pnpm.io/installation#compatibility>
        let of_lock = match lock.lines().find_map(|line| line.strip_prefix("lockfileVersion:")) {
            Some(version) if version.contains("5.") => "7",
            Some(version) if version.contains("6.") => "8",
            _ if lists_no_packages => "10",
            _ => "9",
        };
        let of_ci = || project.ci.versions.get("pnpm")?.split(',').next().map(String::from);
        let wanted = named(package, "pnpm")
            .or_else(of_ci)
            .or_else(|| needed(package, "pnpm"));
        let (pnpm, fetch) = provided(project, "pnpm", wanted, of_lock);
        let install = [
            "install",
            "--frozen-lockfile",
            "--ignore-scripts",
            "--config.package-import-method=copy",
        ];
        Self {
            tool: "pnpm",
            fetch,
            // Otherwise it would fetch, and start, the version that `package.json` asks for.
            argv: [
                owned(&[&pnpm]),
                owned(&install),
                owned(&["--config.manage-package-manager-versions=false"]),
            ]
            .concat(),
            otherwise: None,
            rebuild: pnpm,
        }
    }

    fn yarn(project: &Project<'_>, lock: &str, package: &serde_json::Value) -> Self {
        let is_first = !lock.contains("__metadata:");
        let (yarn, fetch, install): (String, Option<Step>, &[&str]) = if !is_first {
            // Yarn since version 2 is another program, which the package `yarn` only looks for.
            let step = fetched(("@yarnpkg/cli-dist", "yarn"), asked_for(package, "yarn"), "4");
            (
                fetched_program("yarn"),
                Some(step),
                &["install", "--immutable", "--mode=skip-build"],
            )
        } else {
            let (yarn, step) = provided(project, "yarn", asked_for(package, "yarn"), "1");
            (
                yarn,
                step,
                &["install", "--frozen-lockfile", "--ignore-scripts", "--non-interactive"],
            )
        };
        Self {
            tool: "yarn",
            fetch,
            argv: [owned(&[&yarn]), owned(install)].concat(),
            // Only the first Yarn refuses to install a package that asks for another version of Node.
            otherwise: is_first.then_some(("--ignore-engines", OTHER_NODE)),
            rebuild: "npm".into(),
        }
    }

    fn install(&self, here: StepDirectory) -> Step {
        let mut step = Step::new(Phase::Online, here, &[]);
        step.argv.clone_from(&self.argv);
        match self.otherwise {
            Some((option, note)) => step.or([self.argv.clone(), owned(&[option])].concat(), note),
            None => step,
        }
    }
}

/// The version of a package manager that `package.json` asks for.
fn asked_for(package: &serde_json::Value, tool: &str) -> Option<String> {
    named(package, tool).or_else(|| needed(package, tool))
}

/// The version that it names, without its hash: <https://nodejs.org/api/packages.html#packagemanager>
fn named(package: &serde_json::Value, tool: &str) -> Option<String> {
    let text = package.get("packageManager")?.as_str()?;
    let version = text.strip_prefix(tool)?.strip_prefix('@')?.split('+').next()?;
    let is_version = version
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'));
    (is_version && !version.is_empty()).then(|| version.to_owned())
}

/// The major version that it needs at least, which stands for the newest such one:
/// <https://docs.npmjs.com/cli/configuring-npm/package-json#engines>
fn needed(package: &serde_json::Value, tool: &str) -> Option<String> {
    let range = package.get("engines")?.get(tool)?.as_str()?;
    let version = range.trim().trim_start_matches(['>', '=', '^', '~', 'v', ' ']);
    let major: String = version.chars().take_while(char::is_ascii_digit).take(3).collect();
    (!major.is_empty()).then_some(major)
}

/// A package manager of this machine, or a step that installs it: the version that the project asks for, else another.
fn provided(project: &Project<'_>, tool: &str, wanted: Option<String>, otherwise: &str) -> (String, Option<Step>) {
    if project.present.contains(tool) {
        return (tool.to_owned(), None);
    }
    (fetched_program(tool), Some(fetched((tool, tool), wanted, otherwise)))
}

fn fetched_program(tool: &str) -> String {
    format!("{TOOLS}/node_modules/.bin/{tool}")
}

/// Installs a package manager from npm's registry. A version that does not start here, because it needs another Node,
/// is replaced.
fn fetched((package, tool): (&str, &str), wanted: Option<String>, otherwise: &str) -> Step {
    let program = fetched_program(tool);
    let script = format!(
        "npm install --prefix {TOOLS} --ignore-scripts --no-audit --no-fund -- \"$1\" && cd / && {program} --version"
    );
    let install = |version: &str| owned(&["sh", "-c", &script, "sh", &format!("{package}@{version}")]);
    let mut step = Step::new(Phase::Online, StepDirectory::Workspace(None), &[]);
    match wanted {
        None => step.argv = install(otherwise),
        Some(wanted) => {
            step.argv = install(&wanted);
            let note = format!("{tool} {wanted} does not run on this machine, so {tool} {otherwise} was used");
            step = step.or(install(otherwise), &note);
        }
    }
    step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_manager_is_the_one_that_the_project_asks_for() {
        let asked = |text: &str| asked_for(&serde_json::from_str(text).unwrap(), "pnpm");
        let exact = r#"{"packageManager": "pnpm@9.1.0+sha512.abc", "engines": {"pnpm": ">=10"}}"#;
        assert_eq!(asked(exact).as_deref(), Some("9.1.0"));
        for range in [">= 10", "^10.2.0", "10.x", "~10"] {
            let text = format!(r#"{{"packageManager": "yarn@4.0.0", "engines": {{"pnpm": "{range}"}}}}"#);
            assert_eq!(asked(&text).as_deref(), Some("10"), "{range}");
        }
        for none in [
            "{}",
            r#"{"engines": {"pnpm": "<11 || $(id)"}}"#,
            r#"{"packageManager": "pnpm@$(id)"}"#,
        ] {
            assert_eq!(asked(none), None, "{none}");
        }
    }

    #[test]
    fn the_version_of_a_package_manager_is_taken_from_the_project() {
        let package = |text: &str| serde_json::json!({"packageManager": text});
        assert_eq!(
            asked_for(&package("pnpm@9.1.0+sha512.ab"), "pnpm").as_deref(),
            Some("9.1.0")
        );
        assert_eq!(asked_for(&package("pnpm@9.1.0"), "yarn"), None);
        assert_eq!(asked_for(&package("pnpm@9 https://evil"), "pnpm"), None);
        assert_eq!(asked_for(&package("pnpm@"), "pnpm"), None);
    }
}
