//! The quick fixes of the project's own TypeScript, as an editor shows them.

use serde::Deserialize;

use super::{ToolChange, ToolComplaint, ToolHint};

/// Asks the language service.
const SCRIPT: &str = include_str!("../typescript.js");
/// Fixes that only silence the error, or invent something: a declaration, a stub, a type.
const SILENCING: [&str; 14] = [
    "disableJsDiagnostics",
    "fixMissingFunctionDeclaration",
    "addMissingMember",
    "fixMissingMember",
    "fixMissingProperties",
    "fixMissingAttributes",
    "fixClassIncorrectlyImplementsInterface",
    "fixClassDoesntImplementInheritedAbstractMember",
    "addConvertToUnknownForNonOverlappingTypes",
    "addNameToNamelessParameter",
    "fixEnableExperimentalDecorators",
    "fixModuleAndTargetOptions",
    "addOptionalPropertyUndefined",
    "inferFromUsage",
];

#[derive(Deserialize)]
struct TypeError {
    file: String,
    line: u32,
    message: String,
    #[serde(default)]
    fixes: Vec<QuickFix>,
}

#[derive(Deserialize)]
struct QuickFix {
    name: String,
    #[serde(default)]
    says: String,
    changes: Vec<QuickChange>,
}

#[derive(Deserialize)]
struct QuickChange {
    file: String,
    start: usize,
    before: String,
    after: String,
}

/// The command that prints the fixes, for a command that runs the compiler.
pub(super) fn command(argv: &[String]) -> Vec<String> {
    let at = argv
        .iter()
        .position(|word| matches!(word.as_str(), "-p" | "--project" | "-b" | "--build"));
    let project = at.and_then(|at| argv.get(at + 1)).filter(|word| !word.starts_with('-'));
    ["node", "-e", SCRIPT]
        .map(str::to_owned)
        .into_iter()
        .chain(project.cloned())
        .collect()
}

pub(super) fn complaints(printed: &str) -> Vec<ToolComplaint> {
    let lines = printed
        .lines()
        .filter(|line| line.starts_with("{\"greenlight\":\"typescript\""));
    let errors = lines.filter_map(|line| serde_json::from_str::<TypeError>(line).ok());
    let complaint = |error: TypeError| {
        let fixes = error
            .fixes
            .into_iter()
            .filter(|fix| !SILENCING.contains(&fix.name.as_str()));
        let hint = |fix: QuickFix| {
            let is_renaming = fix.says.starts_with("Prefix ");
            let changes = fix.changes.into_iter().map(|change| ToolChange {
                end: change.start.saturating_add(change.before.len()),
                file: change.file,
                start: change.start,
                before: Some(change.before),
                after: change.after,
            });
            ToolHint {
                changes: changes.collect(),
                weight: if is_renaming { 0.7 } else { 1.0 },
            }
        };
        ToolComplaint {
            hints: fixes.map(hint).collect(),
            file: error.file,
            line: error.line,
            message: error.message,
        }
    };
    errors.map(complaint).collect()
}
