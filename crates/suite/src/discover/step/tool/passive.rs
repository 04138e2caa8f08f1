//! Recognises commands that build tests, or list them, without running any.

/// Whether a program of tests is told to build or list them only.
pub(super) fn runs_nothing(program: &str, arguments: &[&str], subcommand: &str) -> bool {
    let options: &[&str] = match (program, subcommand) {
        ("cargo", "nextest") => &["list", "--no-run"],
        ("cargo", _) => &["--no-run", "--list"],
        ("go", "test") => &["-c", "-list", "-n", "--list"],
        ("pytest" | "py.test", _) => &["--collect-only", "--co"],
        ("jest", _) => &["--listTests"],
        ("vitest", "list") => return true,
        ("mocha", _) => &["--dry-run"],
        ("playwright", _) => &["--list"],
        ("ctest", _) => &["-N", "--show-only"],
        _ => return false,
    };
    let mut names = arguments.iter().map(|word| word.split('=').next().unwrap_or(word));
    names.any(|name| options.contains(&name))
}
