//! What every command in a workspace starts with: a shell script that prepares the workspace, and its variables.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// Prepares the workspace and then executes the command. All text from others stays in arguments and variables, so
/// the shell never parses it.
const WRAPPER: &str = include_str!("run/wrapper.sh");

/// Prefix of the variables that tell [`WRAPPER`] what is reused or installed.
pub(crate) const OWN_VARIABLES: &str = "GREENLIGHT_";

/// The wrapper with its arguments. For a command at the root of the tree, these are the directory where Python finds
/// the project's own packages, and `.`.
pub(crate) fn in_wrapper(root: String, up: String, argv: Vec<String>) -> Vec<OsString> {
    let shell = ["sh", "-c", WRAPPER, "sh"].map(OsString::from);
    let words = [root, up].into_iter().chain(argv).map(OsString::from);
    shell.into_iter().chain(words).collect()
}

/// Variables for every command: no network access, and no state kept between runs that could hide a change. Only
/// linters are told not to print colours; for tests they are removed from the output, because a project may test its
/// colours.
pub(crate) fn environment() -> BTreeMap<String, String> {
    [
        // With this set, most tools do not watch files, ask questions or draw progress bars.
        ("CI", "true"),
        ("NO_COLOR", "1"),
        ("TERM", "dumb"),
        ("CARGO_TERM_COLOR", "never"),
        ("CARGO_TERM_PROGRESS_WHEN", "never"),
        ("CARGO_NET_OFFLINE", "true"),
        ("GOPROXY", "off"),
        ("GOTOOLCHAIN", "local"),
        // Python considers compiled code current if size and second match, which two quick edits can cause.
        ("PYTHONDONTWRITEBYTECODE", "1"),
        ("PYTHONUNBUFFERED", "1"),
        ("npm_config_offline", "true"),
        // Otherwise pnpm looks for the version that `package.json` names.
        ("npm_config_manage_package_manager_versions", "false"),
        ("npm_config_update_notifier", "false"),
    ]
    .map(|(name, value)| (name.to_string(), value.to_string()))
    .into()
}
