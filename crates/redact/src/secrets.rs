//! Removes credentials from text, and finds credentials that code must not contain.

use std::sync::LazyLock;

use regex::Regex;

use super::rules;

/// The text that replaces a secret.
const REDACTED: &str = "[redacted]";

/// Shapes of credentials that code must not contain. Each matches or fails quickly, so that one pass over a text is
/// enough. Word boundaries are ASCII, because only those are fast for any text. GitHub's new installation tokens
/// (`ghs_<app>_<jwt>`) have no fixed length.
/// <https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/about-authentication-to-github#githubs-token-formats>
static SECRETS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\z)",
        r"|(?-u:\b)(?:gh[pousr]_[A-Za-z0-9_.\-]{16,}|github_pat_[A-Za-z0-9_]{20,})",
        r"|(?-u:\b)sk-[A-Za-z0-9_\-]{16,}",
        r"|(?-u:\b)(?:AKIA|ASIA)[0-9A-Z]{16}(?-u:\b)",
        r"|(?-u:\b)xox[abposr]-[A-Za-z0-9-]{10,}",
        r"|(?-u:\b)(?:glpat-[A-Za-z0-9_\-]{16,}|npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_\-]{40,}|cio[A-Za-z0-9]{32}(?-u:\b))",
        r"|://[^\s/:@]{0,100}:[^\s/@]{3,200}@",
        r"|(?i:(?-u:\b)(?:authorization|x-api-key)\s*:\s*(?:bearer\s+|basic\s+|token\s+)?)[^\s,;'`)\x22]{8,}",
    ))
    .ok()
});

/// A JSON Web Token. A partial match may run to the end of the text and then fail. As part of the other pattern, each
/// partial match would make it scan the rest of the text again.
static WEB_TOKEN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?-u:\b)eyJ[A-Za-z0-9_\-]{8,}\.eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]+").ok());

/// Replaces everything that looks like a credential.
pub fn redact(text: &str) -> String {
    let (Some(secrets), Some(token)) = (SECRETS.as_ref(), WEB_TOKEN.as_ref()) else {
        return REDACTED.into();
    };
    let text = secrets.replace_all(text, REDACTED);
    let text = token.replace_all(&text, REDACTED);
    let (mut shown, mut end) = (String::with_capacity(text.len()), 0);
    for secret in rules::secrets(&text) {
        shown.push_str(text.get(end..secret.start).unwrap_or_default());
        shown.push_str(REDACTED);
        end = secret.end;
    }
    shown.push_str(text.get(end..).unwrap_or_default());
    shown
}

/// A header with a scheme and a literal value.
static HEADER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)^authorization\s*:\s*(?:bearer|basic|token)\s+[a-z0-9+/=_.~-]{12,}",
        r"|^x-api-key\s*:\s*[a-z0-9+/=_.~-]{20,}",
    ))
    .ok()
});

/// Everything in code that looks like a credential: byte offset and match.
///
/// A header counts only with a scheme and a value, because `authorization: Option<String>` is ordinary code.
pub fn credentials(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_header = |found: &str| {
        let starts = |name: &str| {
            found
                .get(..name.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(name))
        };
        starts("authorization") || starts("x-api-key")
    };
    let shapes = [SECRETS.as_ref(), WEB_TOKEN.as_ref()].into_iter().flatten();
    let found = shapes.flat_map(|shape| shape.find_iter(text));
    found
        .map(|found| (found.start(), found.as_str()))
        .filter(move |(_, found)| !is_header(found) || HEADER.as_ref().is_none_or(|header| header.is_match(found)))
}

#[cfg(test)]
mod tests;
