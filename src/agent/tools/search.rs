//! `search`: finds lines in the tree with its edits, using ripgrep's libraries.

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::sinks::Lossy;
use grep_searcher::{Searcher, SearcherBuilder};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::look::{PAGE, display_line, selected, without_keys};
use crate::checkout::Checkout;
use crate::domain::id::RepoPath;
use crate::domain::patch::{Blob, FileMode};
use crate::domain::redact::{inline, visible};

/// How many bytes one call searches at most.
const MAX_SEARCHED: usize = 256 << 20;
/// The largest compiled pattern, in bytes.
const MAX_PATTERN: usize = 1 << 20;

/// Arguments of `search`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::agent) struct SearchArguments {
    /// A regular expression, as ripgrep takes it.
    pattern: String,
    /// A folder or file; everything if left out.
    #[serde(default)]
    under: Option<String>,
    /// Start after this file, to read on.
    #[serde(default)]
    after: Option<String>,
}

pub(super) async fn search(wanted: SearchArguments, checkout: &Checkout, stop: &CancellationToken) -> String {
    let matcher = RegexMatcherBuilder::new()
        .size_limit(MAX_PATTERN)
        .dfa_size_limit(MAX_PATTERN)
        .line_terminator(Some(b'\n'))
        .build(&wanted.pattern);
    let matcher = match matcher {
        Ok(matcher) => matcher,
        Err(error) => return format!("the pattern cannot be used: {}", inline(&error.to_string(), 300)),
    };
    let (checkout, stop) = (checkout.clone(), stop.clone());
    let searching = tokio::task::spawn_blocking(move || matches(&wanted, &matcher, &checkout, &stop));
    searching
        .await
        .unwrap_or_else(|_| "the search failed; try another pattern.".into())
}

fn matches(wanted: &SearchArguments, matcher: &RegexMatcher, checkout: &Checkout, stop: &CancellationToken) -> String {
    let paths = match selected(checkout, wanted.under.as_deref(), wanted.after.as_deref()) {
        Ok(paths) => paths,
        Err(sentence) => return sentence,
    };
    let mut searcher = SearcherBuilder::new().line_number(true).build();
    let (mut page, mut bytes, mut last) = (String::new(), 0, None);
    for path in paths {
        let read_on = |last: Option<&RepoPath>| match last {
            Some(last) => format!(
                "[read on with after={:?}, or search one folder with `under`]",
                last.as_str()
            ),
            None => "[there is more; search with a narrower pattern, or `under` one file]".into(),
        };
        if bytes > MAX_SEARCHED || stop.is_cancelled() {
            return page + &read_on(last);
        }
        let Some(Blob { mode, bytes: content }) = checkout.read(path) else {
            continue;
        };
        bytes += content.len();
        let Ok(text) = String::from_utf8(content) else { continue };
        if mode == FileMode::Symlink || text.contains('\0') {
            continue;
        }
        let room = PAGE - page.len();
        let (found, complete) = in_file(&mut searcher, matcher, path, &without_keys(&text), room);
        if !complete && !page.is_empty() {
            return page + &read_on(last);
        }
        page += &found;
        if !complete {
            return page + &read_on(None);
        }
        last = Some(path);
    }
    if page.is_empty() { "no match.".into() } else { page }
}

/// The matching lines of one file, and whether they all fit.
fn in_file(
    searcher: &mut Searcher,
    matcher: &RegexMatcher,
    path: &RepoPath,
    text: &str,
    room: usize,
) -> (String, bool) {
    let (mut found, mut complete) = (String::new(), true);
    let sink = Lossy(|number, line| {
        let line = format!(
            "{}:{number}: {}\n",
            visible(path.as_str()),
            display_line(line.trim_end_matches(['\r', '\n']))
        );
        complete = found.len() + line.len() <= room;
        if complete {
            found += &line;
        }
        Ok(complete)
    });
    if let Err(error) = searcher.search_slice(matcher, text.as_bytes(), sink) {
        tracing::debug!(%error, "a file could not be searched");
    }
    (found, complete)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(pattern: &str, after: Option<&str>) -> SearchArguments {
        SearchArguments {
            pattern: pattern.into(),
            under: None,
            after: after.map(Into::into),
        }
    }

    #[tokio::test]
    async fn a_search_sees_the_edits_and_reads_on() {
        let many: String = (0..130).map(|n| format!("needle {n} {}\n", "x".repeat(30))).collect();
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in [("a.txt", many.as_str()), ("b.txt", &many), ("c.rs", "fn old() {}\n")] {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        let mut checkout = Checkout::open(dir.path()).unwrap();
        checkout.edit_text("c.rs".parse().unwrap(), "fn needle() {}\n");
        let stop = CancellationToken::new();
        let page = search(pattern("needle", None), &checkout, &stop).await;
        assert!(page.starts_with("a.txt:1: needle 0"), "{page}");
        assert!(
            page.ends_with("[read on with after=\"a.txt\", or search one folder with `under`]"),
            "{page}"
        );
        let page = search(pattern(r"needle\(\)", Some("a.txt")), &checkout, &stop).await;
        assert_eq!(page, "c.rs:1: fn needle() {}\n");
        assert_eq!(search(pattern("old", None), &checkout, &stop).await, "no match.");
        assert!(
            search(pattern("(", None), &checkout, &stop)
                .await
                .starts_with("the pattern cannot be used")
        );
        assert!(
            search(pattern("a{1000}{1000}", None), &checkout, &stop)
                .await
                .starts_with("the pattern cannot")
        );
    }
}
