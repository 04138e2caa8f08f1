//! What well-known actions of a workflow do, as far as tests need it.

use super::expression::interpolate_known;
use super::files::in_tree;
use super::legs::SERVICES;
use super::{Node, Scope, WorkflowFiles, interpolate};
use crate::shell::quoted;

/// The placeholder for a folder whose name only the runner knows, such as that of `github.repository`.
pub(super) const UNKNOWN_NAME: &str = "known-to-the-runner-alone";

/// The `path` of the first checkout of the repository itself: <https://github.com/actions/checkout>. Further ones, and
/// those of another commit, are there to compare with.
pub(super) fn checkout_path(steps: &[Node], scope: &Scope) -> Option<String> {
    let own = || {
        steps
            .iter()
            .filter(|step| is_checkout(step) && input(step, "repository").is_none())
    };
    let first = own()
        .find(|step| input(step, "ref").is_none())
        .or_else(|| own().next())?;
    let path = in_tree(&interpolate_known(
        &input(first, "path")?.scalar()?,
        UNKNOWN_NAME,
        scope,
    )?)??;
    Some(path.to_string())
}

/// An input that a step gives its action.
fn input<'s>(step: &'s Node, name: &str) -> Option<&'s Node> {
    step.get("with")?.get(name)
}

fn is_checkout(step: &Node) -> bool {
    let uses = step.get("uses").and_then(Node::text);
    uses.is_some_and(|uses| uses.starts_with("actions/checkout@"))
}

/// Whether steps check out another repository in place of this one, which may be below it.
pub(super) fn checks_out_another(steps: &[Node], scope: &Scope) -> bool {
    // An unknown name may be that of a fork of this one.
    let names_another = |step: &Node| {
        let name = input(step, "repository").and_then(Node::scalar);
        name.is_some_and(|name| interpolate(&name, scope).is_some())
    };
    let is_at_root = |step: &&Node| is_checkout(step) && input(step, "path").is_none();
    let mut at_root = steps.iter().filter(is_at_root).peekable();
    at_root.peek().is_some() && at_root.all(names_another)
}

/// The service that an action starts, as those do that are named after one.
pub(super) fn service(step: &Node) -> Option<String> {
    let action = step.get("uses")?.text()?.split('@').next()?;
    // A company may be called like its database.
    let (_, name) = action.split_once('/')?;
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
    let is_service = words.any(|word| SERVICES.contains(&word)) || action.ends_with("compose-action");
    is_service.then(|| action.to_owned())
}

/// The language or package manager that a step sets up, and the version: <https://github.com/actions/setup-node>,
/// <https://github.com/pnpm/action-setup>
pub(super) fn set_up(step: &Node, scope: &Scope, files: &mut WorkflowFiles<'_, '_>) -> Option<(String, String)> {
    let action = step.get("uses")?.text()?.split('@').next()?;
    let language = match action {
        "actions/setup-node" => "node",
        "actions/setup-python" => "python",
        "actions/setup-go" => "go",
        "pnpm/action-setup" | "pnpm/setup" => "pnpm",
        _ => return None,
    };
    let with = step.get("with")?;
    let key = match language {
        "pnpm" => "version".to_owned(),
        language => format!("{language}-version"),
    };
    let version = match with.get(&key) {
        Some(version) => interpolate(&version.scalar()?, scope)?,
        None => {
            let file = interpolate(&with.get(&format!("{key}-file"))?.scalar()?, scope)?;
            files.line(&in_tree(&file)??.to_string())?
        }
    };
    Some((language.to_owned(), plain_version(language, &version)?))
}

/// The runtime and its version that `pnpm/setup` installs beside pnpm, as in `runtime: node@24`:
/// <https://github.com/pnpm/setup>
pub(super) fn runtime(step: &Node, scope: &Scope) -> Option<(String, String)> {
    step.get("uses")?.text()?.strip_prefix("pnpm/setup@")?;
    let named = interpolate(&step.get("with")?.get("runtime")?.scalar()?, scope)?;
    let (language, version) = named.split_once('@')?;
    (language == "node").then(|| Some((language.to_owned(), plain_version(language, version)?)))?
}

/// A version without what people write around it. `None` if it is no number.
fn plain_version(language: &str, version: &str) -> Option<String> {
    let version = match (language, version.trim_start_matches('v')) {
        ("node", name) => named_node(name).unwrap_or(name),
        (_, version) => version,
    };
    // `20.x`, as people write for Node.
    let version = version.strip_suffix(".x").unwrap_or(version);
    let is_version =
        !version.is_empty() && version.len() < 20 && version.chars().all(|c| c.is_ascii_digit() || c == '.');
    is_version.then(|| version.to_owned())
}

/// The major version behind a name. Of Node, the newest with long-term support is what most names stand for:
/// <https://nodejs.org/en/about/previous-releases>
fn named_node(name: &str) -> Option<&'static str> {
    match name.to_ascii_lowercase().as_str() {
        "lts/*" | "lts" | "latest" | "current" | "node" | "lts/krypton" => Some("24"),
        "lts/-1" | "lts/jod" => Some("22"),
        "lts/-2" | "lts/iron" => Some("20"),
        _ => None,
    }
}

/// What an action installs that does nothing else, as a line for a shell:
/// <https://github.com/py-actions/py-dependency-install>
pub(super) fn installed_by_action(step: &Node, uses: &str, scope: &Scope) -> Option<String> {
    uses.strip_prefix("py-actions/py-dependency-install@")?;
    let path = step.get("with").and_then(|with| with.get("path"));
    let path = match path {
        Some(path) => interpolate(&path.scalar()?, scope)?,
        None => "requirements.txt".into(),
    };
    Some(format!("pip install -r {}", quoted(&path)))
}

#[cfg(test)]
mod tests {
    use greenlight_anchor::RepoPath;

    use crate::workflow::test_steps;

    #[test]
    fn what_actions_install_and_set_up_is_known() {
        let path: RepoPath = ".github/workflows/ci.yml".parse().unwrap();
        let of = |action: &str, with: &str| {
            let text = format!(
                "on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    strategy: {{matrix: {{file: [a.txt]}}}}\n    \
                 steps: [{{uses: '{action}', with: {{{with}}}}}, {{run: pytest}}]\n"
            );
            let steps = test_steps([&path], &mut |_| Some(text.clone()));
            let before: Vec<String> = steps[0].before.iter().map(|script| script.script.clone()).collect();
            let versions: Vec<String> = steps[0]
                .versions
                .iter()
                .map(|(tool, version)| format!("{tool} {version}"))
                .collect();
            [before, versions].concat().join(", ")
        };
        for (action, with, expected) in [
            ("pnpm/action-setup@v4", "version: 10", "pnpm 10"),
            ("pnpm/setup@v2", "version: '11.2.0'", "pnpm 11.2.0"),
            ("pnpm/setup@v2", "version: 11, runtime: node@26", "node 26, pnpm 11"),
            ("pnpm/setup@v2", "runtime: deno@2", ""),
            ("pnpm/action-setup@v4", "version: latest", ""),
            ("actions/setup-node@v4", "node-version: 22.x", "node 22"),
            (
                "py-actions/py-dependency-install@v4",
                "path: '${{ matrix.file }}'",
                "pip install -r a.txt",
            ),
            (
                "py-actions/py-dependency-install@v4",
                "path: a.txt; id",
                "pip install -r 'a.txt; id'",
            ),
            (
                "py-actions/py-dependency-install@v4",
                "",
                "pip install -r requirements.txt",
            ),
            ("someone/else@v4", "path: a.txt", ""),
        ] {
            assert_eq!(of(action, with), expected, "{action} {with}");
        }
    }
}
