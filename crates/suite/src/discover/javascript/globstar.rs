//! Patterns with `**` in scripts. The shell of Yarn since version 2 expands them to any depth, but `sh`, in which the
//! commands of a script run here, takes `**` for `*`.

use globset::GlobBuilder;

use crate::discover::directory::Directory;

/// Maximum depth of folders below a `**`, and number of patterns of a package that are expanded.
const MAX_DEPTH: usize = 8;
pub(super) const MAX_PATTERNS: usize = 20;
/// Maximum length of a pattern, and of a script.
const MAX_PATTERN: usize = 200;
const MAX_SCRIPT: usize = 4_000;

/// Whether Yarn's own shell runs the scripts of a package.
pub(super) fn is_expanded(place: &Directory<'_>, manager: Option<&str>) -> bool {
    match manager {
        Some(manager) => {
            let version = manager.strip_prefix("yarn@");
            version.is_some_and(|version| !version.starts_with("0.") && !version.starts_with("1."))
        }
        None => place.has(".yarnrc.yml") && place.has("yarn.lock"),
    }
}

/// A script in which each unquoted `a/**/b` is spelled out for the depths at which the tree has such files. `left` is
/// how many more may be.
pub(super) fn spelled_out(place: &Directory<'_>, script: &str, left: &mut usize) -> String {
    if !script.contains("**/") || script.len() > MAX_SCRIPT {
        return script.to_owned();
    }
    let mut whole = String::new();
    let (mut word, mut quote, mut is_plain) = (String::new(), None, true);
    for c in script.chars().chain(['\n']) {
        match quote {
            None if c.is_whitespace() || matches!(c, ';' | '&' | '|' | '(' | ')') => {
                let depths = if is_plain { depths(place, &word, left) } else { None };
                whole.push_str(depths.as_deref().unwrap_or(&word));
                whole.push(c);
                word.clear();
                is_plain = true;
                continue;
            }
            None if matches!(c, '\'' | '"') => quote = Some(c),
            Some(open) if c == open => quote = None,
            _ => {}
        }
        is_plain &= quote.is_none() && !matches!(c, '\'' | '"' | '\\' | '$' | '`' | '{' | '[');
        word.push(c);
    }
    whole.push_str(&word);
    whole.truncate(whole.trim_end_matches('\n').len());
    whole
}

/// The patterns without `**` that together match what the tree has. `None` if there is nothing to spell out.
fn depths(place: &Directory<'_>, word: &str, left: &mut usize) -> Option<String> {
    let (before, after) = word.split_once("**/")?;
    let is_usual = word.len() <= MAX_PATTERN && !after.contains("**") && (before.is_empty() || before.ends_with('/'));
    if !is_usual {
        return None;
    }
    *left = left.checked_sub(1)?;
    let found = (0..=MAX_DEPTH).filter_map(|depth| {
        let pattern = format!("{before}{}{after}", "*/".repeat(depth));
        let relative = pattern.strip_prefix("./").unwrap_or(&pattern);
        let glob = GlobBuilder::new(relative)
            .literal_separator(true)
            .build()
            .ok()?
            .compile_matcher();
        place.files().any(|path| glob.is_match(path)).then_some(pattern)
    });
    let found: Vec<String> = found.collect();
    (!found.is_empty()).then(|| found.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discover::tests::tree;

    #[test]
    fn a_pattern_is_spelled_out_for_the_depths_that_exist() {
        let (_tree, checkout) = tree(&[("test/a.test.js", ""), ("test/b/c/d.test.js", ""), ("lib/e.js", "")]);
        let place = Directory {
            checkout: &checkout,
            directory: None,
        };
        for (script, expected) in [
            (
                "node --test test/**/*.test.js",
                "node --test test/*.test.js test/*/*/*.test.js",
            ),
            ("a ./lib/**/*.js && b", "a ./lib/*.js && b"),
            (
                "a 'test/**/*.js' \"x test/**/*.js y\"",
                "a 'test/**/*.js' \"x test/**/*.js y\"",
            ),
            ("a other/**/*.js $A/**/*.js", "a other/**/*.js $A/**/*.js"),
            ("a test/**/**/*.js b**/*.js", "a test/**/**/*.js b**/*.js"),
        ] {
            assert_eq!(spelled_out(&place, script, &mut MAX_PATTERNS.clone()), expected);
        }
        let many = "test/**/*.js ".repeat(300);
        assert!(
            spelled_out(&place, &many, &mut MAX_PATTERNS.clone())
                .matches("**")
                .count()
                > 200
        );
    }

    #[test]
    fn only_the_shell_of_newer_yarn_expands_them() {
        let (_tree, checkout) = tree(&[(".yarnrc.yml", ""), ("yarn.lock", "")]);
        let place = Directory {
            checkout: &checkout,
            directory: None,
        };
        for (manager, expected) in [
            (Some("yarn@4.1.0"), true),
            (Some("yarn@1.22.0"), false),
            (Some("npm@10.0.0"), false),
            (None, true),
        ] {
            assert_eq!(is_expanded(&place, manager), expected, "{manager:?}");
        }
    }
}
