//! Which words are accepted as packages: plain names with a plain version. Options, paths and URLs are refused, so
//! that packages can only come from the registry that the approving person was told about.

use std::sync::LazyLock;

use regex::Regex;

use crate::domain::execution::Language;
use crate::domain::redact::inline;

/// The maximum number of packages in one call.
const MAX_PACKAGES: usize = 20;
/// The longest name with its version, in bytes.
const MAX_NAME: usize = 120;

/// <https://packaging.python.org/en/latest/specifications/name-normalization/#name-format>
static PYTHON: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?(?:(?:==|>=|<=|~=)[0-9][0-9A-Za-z.+!-]*)?$").ok()
});
/// <https://docs.npmjs.com/cli/v11/configuring-npm/package-json#name>
static NODE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^(?:@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*(?:@[\^~]?[0-9][0-9A-Za-z.+-]*)?$").ok()
});

/// Checks the names; the error is a sentence.
pub(super) fn check(language: Language, packages: &[String]) -> Result<(), String> {
    let (name, kind) = match language {
        _ if packages.is_empty() => return Ok(()),
        Language::Python => (PYTHON.as_ref(), "`requests` or `requests==2.32.3`"),
        Language::JavaScript => (NODE.as_ref(), "`left-pad` or `@types/node@22`"),
        Language::Bash => return Err("`packages` go with python or javascript.".into()),
    };
    if packages.len() > MAX_PACKAGES {
        return Err(format!("at most {MAX_PACKAGES} packages."));
    }
    let is_name = |package: &str| package.len() <= MAX_NAME && name.is_some_and(|name| name.is_match(package));
    // pip and npm look on disk for names that end like archives.
    let is_file = |package: &str| {
        [".whl", ".zip", ".gz", ".tgz", ".tar", ".bz2", ".xz"]
            .iter()
            .any(|end| package.ends_with(end))
    };
    match packages.iter().find(|package| !is_name(package) || is_file(package)) {
        Some(package) => Err(format!(
            "{} is not a plain package name, such as {kind}; options, paths and URLs are not allowed.",
            inline(package, 100)
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_are_packages() {
        for (language, good) in [
            (
                Language::Python,
                &["requests", "ruamel.yaml", "numpy==2.1.0", "a~=1.0", "zope-x>=3"][..],
            ),
            (
                Language::JavaScript,
                &["left-pad", "@types/node", "@types/node@22.1.0", "x@^1.2.3"],
            ),
        ] {
            for name in good {
                assert_eq!(check(language, &[(*name).to_string()]), Ok(()), "{name}");
            }
        }
        let hostile = [
            "",
            " ",
            "-r/etc/passwd",
            "--index-url=http://x",
            "./x",
            "/x",
            "../x",
            "a/b",
            "x @ http://y",
            "git+https://x/y",
            "http://x/y.whl",
            "x.whl",
            "x;y",
            "x y",
            "x\ny",
            "x@npm:y",
            "x@file:../y",
            "x@http://y",
            "x==1\n-r y",
            "x$(id)",
            "requests[socks]",
            "\u{202e}x",
            "x@",
        ];
        for name in hostile {
            for language in [Language::Python, Language::JavaScript] {
                assert!(check(language, &[name.to_string()]).is_err(), "{name:?}");
            }
        }
        assert!(check(Language::Bash, &["x".into()]).is_err());
        assert!(check(Language::Python, &vec!["x".to_string(); 21]).is_err());
    }
}
