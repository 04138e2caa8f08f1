//! Decides what to install and how, from the files of a tree. Nothing runs here.
//!
//! If a tool needs only its manifests, the installation sees nothing else. Then the result cannot depend on other
//! files, and can be reused for as long as the manifests stay the same.

use std::collections::BTreeSet;

use greenlight_tree::checkout::Checkout;

use super::steps::{Phase, Plan, Project, Step, StepDirectory, VisibleFiles};
use super::{INSTALLED, InstallSettings, javascript, others, python};
use crate::test_command::TestCommand;

/// Variables that are set during the installation but not for the tests.
pub(super) const ONLY_WHILE_INSTALLING: [&str; 10] = [
    "TMPDIR",
    "npm_config_cache",
    "npm_config_nodedir",
    "npm_config_store_dir",
    "YARN_CACHE_FOLDER",
    "YARN_GLOBAL_FOLDER",
    "PIP_NO_CACHE_DIR",
    "UV_CACHE_DIR",
    "GRADLE_USER_HOME",
    "GOFLAGS",
];

/// All supported tools.
pub(crate) const ALL: &[&str] = &["python3", "uv", "npm", "pnpm", "yarn", "cargo", "go", "mvn", "gradle"];

/// The tools that may have something to install for a test command.
pub(super) fn tools_for(command: &TestCommand, settings: &InstallSettings) -> &'static [&'static str] {
    match &settings.command {
        Some(_) => ALL,
        None => command.framework.spec().installers,
    }
}

/// Plans the installation for a test command. `None` if there is nothing to install.
///
/// `present` names the tools that this machine has, and `node` is the version of its Node.
pub fn plan(
    checkout: &Checkout,
    command: &TestCommand,
    settings: &InstallSettings,
    present: &BTreeSet<String>,
    node: Option<&str>,
) -> Option<Plan> {
    let project = Project {
        checkout,
        directory: command.directory.clone(),
        framework: command.framework,
        argv: &command.argv,
        ci: &command.ci_install,
        present,
        node,
    };
    if let Some(line) = &settings.command {
        return Some(configured(&project, line));
    }
    let wanted = tools_for(command, settings);
    let plans = [
        (wanted.contains(&"python3"), python::plan(&project)),
        (wanted.contains(&"npm"), javascript::plan(&project)),
        (wanted.contains(&"cargo"), others::cargo(&project)),
        (wanted.contains(&"go"), others::go(&project)),
        (wanted.contains(&"mvn"), others::maven(&project)),
        (wanted.contains(&"gradle"), others::gradle(&project)),
    ];
    plans
        .into_iter()
        .filter_map(|(is_wanted, plan)| plan.filter(|_| is_wanted))
        .reduce(Plan::and)
}

/// The configured shell command, with every tool told to install into the result.
fn configured(project: &Project<'_>, line: &str) -> Plan {
    let mut steps = Vec::new();
    let has_python = project.present.contains("python3") && project.paths().any(|path| path.ends_with(".py"));
    if has_python {
        steps.push(python::environment());
    }
    let here = StepDirectory::Workspace(None);
    steps.push(Step::new(Phase::Online, here.clone(), &["sh", "-c", line]));
    let modules = project.paths().any(|path| path == "package.json");
    if modules {
        let keep =
            format!("[ ! -d node_modules ] || {{ mkdir -p {INSTALLED}/tree && mv node_modules {INSTALLED}/tree/; }}");
        steps.push(Step::new(Phase::Offline, here, &["sh", "-c", &keep]));
    }
    let mut tools = BTreeSet::from(["uv", "npm", "pnpm", "yarn", "cargo", "go", "mvn", "gradle"]);
    tools.retain(|tool| project.present.contains(*tool));
    tools.extend(has_python.then_some("python3"));
    Plan {
        tools,
        steps,
        shown: VisibleFiles::All,
        modules: modules.then(|| format!("{INSTALLED}/tree")),
        ..Plan::default()
    }
}
