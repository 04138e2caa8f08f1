//! Go projects: `go.mod` and `go.work`.

use crate::discover::directory::Directory;
use crate::framework::Framework;
use crate::test_command::TestCommand;

/// Maximum number of modules of a workspace that are named.
const MAX_MODULES: usize = 50;

pub(super) fn discover(place: &Directory<'_>) -> Option<TestCommand> {
    if is_left_out(place) {
        return None;
    }
    if let Some(modules) = place.text("go.work").as_deref().map(modules)
        && !modules.is_empty()
    {
        // `./...` alone stops at nested modules.
        let patterns = modules.iter().take(MAX_MODULES).map(String::as_str);
        let argv: Vec<&str> = ["go", "test"].into_iter().chain(patterns).collect();
        return place.command(&argv, Framework::Go, "go.work");
    }
    place
        .has("go.mod")
        .then(|| place.command(&["go", "test", "./..."], Framework::Go, "go.mod"))?
}

/// Directories that Go itself ignores: <https://pkg.go.dev/cmd/go#hdr-Package_lists_and_patterns>
fn is_left_out(place: &Directory<'_>) -> bool {
    let directory = place.directory.as_ref().map_or("", |directory| directory.as_str());
    directory
        .split('/')
        .any(|part| part.starts_with('_') || matches!(part, "testdata" | "vendor"))
}

/// The directories in a workspace's `use` directives, as patterns: <https://go.dev/ref/mod#workspaces>
fn modules(workspace: &str) -> Vec<String> {
    let mut modules = Vec::new();
    let mut is_open = false;
    for line in workspace.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        let path = if is_open {
            is_open = line != ")";
            line
        } else if let Some(rest) = line
            .strip_prefix("use")
            .filter(|rest| rest.starts_with([' ', '\t', '(']))
        {
            is_open = rest.trim() == "(";
            rest.trim()
        } else {
            continue;
        };
        let path = path.trim_matches(['"', '`']).trim_end_matches('/');
        let path = path.strip_prefix("./").unwrap_or(path);
        // A module outside of the tree is left out.
        let is_inside =
            !path.is_empty() && !path.starts_with(['/', '-', '(', ')']) && !path.split('/').any(|part| part == "..");
        if is_inside {
            modules.push(if path == "." {
                "./...".into()
            } else {
                format!("./{path}/...")
            });
        }
    }
    modules
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_names_its_modules() {
        let workspace =
            "go 1.22\n\nuse ./a // the first\nuse (\n\t.\n\t\"./b/c\"\n\t../elsewhere\n)\nreplace x => ./y\n";
        assert_eq!(modules(workspace), ["./a/...", "./...", "./b/c/..."]);
    }
}
