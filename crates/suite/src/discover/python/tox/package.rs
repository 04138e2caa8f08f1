//! The package that another job of CI has built, and gives to tox.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use crate::text::pattern;

/// `--installpkg dist/*.whl` and `` --installpkg `find dist/*.tar.gz` ``.
static PACKAGE: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r#"--installpkg(?: +|=)(?:`[^`\n]*`|\$\([^()\n]*\)|"[^"\n]*"|'[^'\n]*'|[^\s"'`$\\]+)"#));

/// A script in which tox is told no package of another job: here, the project itself is installed.
pub(in crate::discover) fn without_package(script: &str) -> Cow<'_, str> {
    match PACKAGE.as_ref().filter(|_| script.contains("tox")) {
        Some(package) => package.replace_all(script, ""),
        None => Cow::Borrowed(script),
    }
}
