//! Pictures of what greenlight writes on a pull request, for the manual: `just screenshots`.
//!
//! The text is what the double received. `marked` and GitHub's stylesheet make a page of it, which a real browser draws.
//! What GitHub draws around comments, such as names and the lines of the diff, is imitated by `pictured/`.

use std::path::{Path, PathBuf};

use github_double::{Entry, LineComment, What};
use serde_json::{Value, json};

use crate::harness::browser::Browser;
use crate::harness::story::Scene;

/// How many lines of the diff GitHub shows above a comment.
const LINES_ABOVE: usize = 4;

/// A file of a package that `just screenshots` has fetched.
fn fetched(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("target/ci/pictures")
        .join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|_| panic!("{} is missing: `just screenshots`", path.display()))
}

#[tokio::test]
async fn pictures_of_the_pull_request() {
    let Some(folder) = std::env::var_os("GREENLIGHT_SCREENSHOTS").map(PathBuf::from) else {
        return;
    };
    let Some(mut browser) = Browser::open().await else {
        return;
    };
    let story = Scene::default().about_triage().begin().await;
    story.maintainer_says("/greenlight fix").await;
    let entries: Vec<Value> = story
        .double
        .conversation(story.number)
        .unwrap()
        .iter()
        .filter_map(shown)
        .collect();
    assert_eq!(entries.len(), 3, "{entries:#?}");
    story.finish().await;
    let page = folder.join("pull-request.html");
    // A script ends at this tag, even inside of a string.
    let entries = Value::from(entries).to_string().replace("</", "<\\/");
    let html = include_str!("pictured/page.html")
        .replace(
            "{markdown-css}",
            &fetched("github-markdown-css/github-markdown-light.css"),
        )
        .replace("{entries}", &entries)
        .replace("{script}", include_str!("pictured/draw.js"))
        .replace("{marked}", &fetched("marked/lib/marked.umd.js"));
    std::fs::write(&page, html).unwrap();
    browser.go(&format!("file://{}", page.display())).await;
    browser.picture("main", &folder.join("pull-request.png")).await;
    browser
        .evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
        .await;
    browser
        .picture("article:last-child", &folder.join("evidence.png"))
        .await;
    assert_eq!(browser.complaints(), [""; 0]);
}

/// An entry for `pictured/draw.js`. Commits, checks and CI are elsewhere on GitHub's page.
fn shown(entry: &Entry) -> Option<Value> {
    let (does, body, reactions, comments) = match &entry.what {
        What::Commented(comment) => ("commented", &comment.body, comment.reactions.as_slice(), [].as_slice()),
        What::Reviewed(review) => ("reviewed", &review.body, [].as_slice(), review.comments.as_slice()),
        _ => return None,
    };
    let reactions: Vec<&str> = reactions.iter().map(|(content, _)| picture(content)).collect();
    let comments: Vec<Value> = comments.iter().map(thread).collect();
    Some(json!({ "who": entry.who, "does": does, "body": body, "reactions": reactions, "comments": comments }))
}

fn picture(reaction: &str) -> &str {
    match reaction {
        "eyes" => "👀",
        "+1" => "👍",
        other => other,
    }
}

fn thread(comment: &LineComment) -> Value {
    let (first, last) = comment.original;
    let mut number = last + 1;
    let mut hunk: Vec<Value> = Vec::new();
    let mut replaced: Vec<Value> = Vec::new();
    for text in comment.hunk.lines().rev().filter(|line| !line.starts_with("@@")) {
        if text.starts_with('-') {
            hunk.push(json!({ "number": null, "text": text }));
            continue;
        }
        number -= 1;
        if number >= first {
            replaced.push(json!({ "line": number, "text": &text[1..] }));
        }
        hunk.push(json!({ "number": number, "text": text }));
    }
    hunk.truncate(LINES_ABOVE.max(replaced.len()));
    hunk.reverse();
    replaced.reverse();
    json!({ "path": comment.path, "body": comment.body, "hunk": hunk, "replaced": replaced })
}
