//! Opens a pull request, reviews it over REST like any client, and prints the conversation.

use github_double::{AUTHOR, Double, NewPullRequest, What, World};
use serde_json::json;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let double = Double::start(World::with_repository("acme/rail", &[("a.txt", b"one\n")])).await?;
    let new = NewPullRequest::new(AUTHOR, "topic", "Add a line").write("a.txt", "one\ntwo\n");
    let number = double.open_pull_request(new).await?;

    let url = format!("{}/repos/acme/rail/pulls/{number}/reviews", double.url());
    let comment = json!({ "path": "a.txt", "line": 2, "body": "```suggestion\n2\n```" });
    let review = json!({ "event": "COMMENT", "body": "One remark.", "comments": [comment] });
    let client = reqwest::Client::builder()
        .user_agent("review")
        .no_proxy()
        .tls_certs_only([])
        .build()?;
    let answer = client.post(url).bearer_auth(double.token()).body(review.to_string());
    answer.send().await?.error_for_status()?;

    for entry in double.conversation(number)? {
        match entry.what {
            What::Reviewed(review) => show(&format!("{}: {} {:?}", entry.who, review.body, review.comments)),
            what => show(&format!("{}: {what:?}", entry.who)),
        }
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "an example prints")]
fn show(line: &str) {
    println!("{line}");
}
