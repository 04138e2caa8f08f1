//! Which lines may be commented on, and what the "Commit suggestion" button does.

use github_double::{AUTHOR, MAINTAINER, NewPullRequest, READER, World};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Client, serve, world};

/// Posts a review with these comments. Returns the status and GitHub's errors.
async fn review(client: &Client, number: u64, comments: Value) -> (StatusCode, Value) {
    let body = json!({ "event": "COMMENT", "body": "x", "comments": comments });
    let (status, answer) = client.post(&format!("/pulls/{number}/reviews"), body).await;
    (status, answer["errors"].clone())
}

fn at(line: u32) -> Value {
    json!({ "path": "list.txt", "line": line, "side": "RIGHT", "body": "x" })
}

fn range(start: u32, line: u32) -> Value {
    json!({ "path": "list.txt", "start_line": start, "line": line, "side": "RIGHT", "body": "x" })
}

fn suggestion(start: Option<u32>, line: u32, text: &str) -> Value {
    let mut comment = at(line);
    comment["body"] = json!(format!("```suggestion\n{text}```"));
    if let Some(start) = start {
        comment["start_line"] = json!(start);
    }
    comment
}

#[tokio::test]
async fn lines_the_diff_shows_may_be_commented_on_and_no_others() {
    let (client, number) = world().await;
    for good in [
        at(2),
        at(5),
        at(8),
        range(2, 8),
        json!({ "path": "list.txt", "line": 5, "side": "LEFT", "body": "x" }),
    ] {
        assert_eq!(review(&client, number, json!([good])).await.0, StatusCode::OK, "{good}");
    }
    let outside = "Pull request review thread line must be part of the diff";
    let table = [
        (at(1), outside),
        (at(9), outside),
        (
            range(5, 5),
            "Pull request review thread start line must precede the end line.",
        ),
        (
            range(7, 5),
            "Pull request review thread start line must precede the end line.",
        ),
        (
            range(1, 5),
            "Pull request review thread start line must be part of the same hunk as the line.",
        ),
        (
            json!({ "path": "src/lib.rs", "line": 1, "body": "x" }),
            "Pull request review thread path is invalid",
        ),
        (
            json!({ "path": "list.txt", "line": 5, "body": " " }),
            "Body can't be blank",
        ),
    ];
    let before = client.double.reviews(number).len();
    for (bad, reason) in table {
        let (status, errors) = review(&client, number, json!([at(5), bad])).await;
        assert_eq!(
            (status, &errors[0]),
            (StatusCode::UNPROCESSABLE_ENTITY, &json!(reason)),
            "{bad}"
        );
    }
    assert_eq!(
        client.double.reviews(number).len(),
        before,
        "one bad comment rejects the whole review"
    );
}

#[tokio::test]
async fn a_range_stays_in_one_hunk() {
    let long: String = (1..=40).map(|line| format!("{line}\n")).collect();
    let (client, _) = serve(World::with_repository(
        "acme/rail",
        &[("long.txt", long.as_bytes()), ("list.txt", super::MAIN)],
    ))
    .await;
    let changed = long.replace("\n5\n", "\nfive\n").replace("\n30\n", "\nthirty\n");
    let new = NewPullRequest::new(AUTHOR, "two", "Two hunks").write("long.txt", changed);
    let number = client.double.open_pull_request(new).await.unwrap();
    let over = json!({ "path": "long.txt", "start_line": 5, "line": 30, "side": "RIGHT", "body": "x" });
    let (_, errors) = review(&client, number, json!([over])).await;
    assert_eq!(
        errors[0],
        "Pull request review thread start line must be part of the same hunk as the line."
    );
    let second = json!({ "path": "long.txt", "line": 30, "side": "RIGHT", "body": "x" });
    assert_eq!(review(&client, number, json!([second])).await.0, StatusCode::OK);
    let comments = client.get(&format!("/pulls/{number}/comments")).await.1;
    assert_eq!(
        comments[0]["position"], 14,
        "positions count the headers of later hunks"
    );
}

#[tokio::test]
async fn files_without_a_text_diff_have_no_patch_and_take_no_comments() {
    let (client, _) = world().await;
    let new = NewPullRequest::new("newcomer", "odd", "Odd files")
        .write("picture.png", b"\x89PNG\0\0")
        .write("open.txt", "no newline")
        .write("renamed.txt", super::MAIN)
        .delete("list.txt")
        .from_fork(false);
    let number = client.double.open_pull_request(new).await.unwrap();
    let (_, files) = client.get(&format!("/pulls/{number}/files")).await;
    let of = |name: &str| {
        files
            .as_array()
            .unwrap()
            .iter()
            .find(|file| file["filename"] == name)
            .unwrap()
    };
    assert_eq!(
        (of("picture.png").get("patch"), &of("picture.png")["status"]),
        (None, &json!("added"))
    );
    assert_eq!(
        of("open.txt")["patch"],
        "@@ -0,0 +1 @@\n+no newline\n\\ No newline at end of file"
    );
    let renamed = of("renamed.txt");
    assert_eq!(
        (&renamed["status"], &renamed["previous_filename"]),
        (&json!("renamed"), &json!("list.txt"))
    );
    assert_eq!(renamed.get("patch"), None);
    for path in ["picture.png", "renamed.txt"] {
        let (status, _) = review(&client, number, json!([{ "path": path, "line": 1, "body": "x" }])).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{path}");
    }
    assert_eq!(
        client.get(&format!("/pulls/{number}")).await.1["user"]["login"],
        "newcomer"
    );
}

#[tokio::test]
async fn a_review_is_about_a_commit_of_the_pull_request() {
    let (client, number) = world().await;
    let old = client.double.head(number).unwrap();
    client
        .double
        .push(number, AUTHOR, &[("other.txt", Some(b"x\n"))])
        .await
        .unwrap();
    let main = client.get("/git/ref/heads/main").await.1["object"]["sha"].clone();
    let post = async |commit: Value| {
        let body = json!({ "commit_id": commit, "event": "COMMENT", "body": "x" });
        client.post(&format!("/pulls/{number}/reviews"), body).await.0
    };
    assert_eq!(post(json!(old)).await, StatusCode::OK);
    assert_eq!(post(main).await, StatusCode::UNPROCESSABLE_ENTITY);
    let long = "x".repeat(65_537);
    let body = json!({ "event": "COMMENT", "body": long });
    assert_eq!(
        client.post(&format!("/pulls/{number}/reviews"), body).await.0,
        StatusCode::UNPROCESSABLE_ENTITY
    );
    assert_eq!(
        client
            .post(&format!("/issues/{number}/comments"), json!({ "body": long }))
            .await
            .0,
        StatusCode::UNPROCESSABLE_ENTITY
    );
    assert_eq!(
        client
            .post(&format!("/issues/{number}/comments"), json!({ "body": "" }))
            .await
            .0,
        StatusCode::UNPROCESSABLE_ENTITY
    );
}

#[tokio::test]
async fn a_comment_moves_with_its_line_and_is_outdated_once_that_changes() {
    let (client, number) = world().await;
    review(&client, number, json!([at(5)])).await;
    let shown = async || client.get(&format!("/pulls/{number}/comments")).await.1[0].clone();
    let text = String::from_utf8(client.double.file(number, "list.txt").unwrap()).unwrap();
    let above = format!("zero\n{text}");
    client
        .double
        .push(number, AUTHOR, &[("list.txt", Some(above.as_bytes()))])
        .await
        .unwrap();
    assert_eq!(
        (&shown().await["line"], &shown().await["original_line"]),
        (&json!(6), &json!(5))
    );
    let changed = above.replace("FIVE", "5");
    client
        .double
        .push(number, AUTHOR, &[("list.txt", Some(changed.as_bytes()))])
        .await
        .unwrap();
    assert_eq!(
        (&shown().await["line"], &shown().await["position"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(client.double.reviews(number)[0].comments[0].lines, None);
}

#[tokio::test]
async fn a_batch_of_suggestions_becomes_one_commit() {
    let (client, number) = world().await;
    review(
        &client,
        number,
        json!([suggestion(Some(2), 3, "2\n3\n"), suggestion(None, 6, "")]),
    )
    .await;
    let ids: Vec<u64> = client.double.reviews(number)[0]
        .comments
        .iter()
        .map(|comment| comment.id)
        .collect();
    client.double.commit_suggestions(&ids, MAINTAINER).await.unwrap();
    let file = String::from_utf8(client.double.file(number, "list.txt").unwrap()).unwrap();
    assert_eq!(file, "one\n2\n3\nfour\nFIVE\nseven\neight\nnine\nten\n");
    let commits = client.double.commits(number).unwrap();
    let last = commits.last().unwrap();
    assert_eq!(last.author, MAINTAINER);
    assert!(
        last.message.contains("Co-authored-by: greenlight[bot] <"),
        "{}",
        last.message
    );
    let again = client.double.commit_suggestions(&ids, MAINTAINER).await.unwrap_err();
    assert_eq!(again.to_string(), "Outdated suggestions cannot be applied.");
}

#[tokio::test]
async fn suggestions_are_refused_as_github_refuses_them() {
    let (client, number) = world().await;
    let left = json!({ "path": "list.txt", "line": 5, "side": "LEFT", "body": "```suggestion\nx\n```" });
    let comments = json!([
        suggestion(None, 5, "FIVE\n"),
        left,
        at(5),
        suggestion(Some(2), 4, "x\n"),
        suggestion(None, 3, "y\n"),
    ]);
    review(&client, number, comments).await;
    let pending = json!({ "body": "later", "comments": [suggestion(None, 5, "z\n")] });
    client.post(&format!("/pulls/{number}/reviews"), pending).await;
    let reviews = client.double.reviews(number);
    let id = |index: usize| reviews[0].comments[index].id;
    let refusal = async |ids: &[u64], login: &str| {
        client
            .double
            .commit_suggestions(ids, login)
            .await
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refusal(&[id(0)], AUTHOR).await,
        "This suggestion is invalid because no changes were made to the code."
    );
    assert_eq!(
        refusal(&[id(1)], AUTHOR).await,
        "Applying suggestions on deleted lines is not supported."
    );
    assert_eq!(refusal(&[id(2)], AUTHOR).await, "The comment has no suggestion.");
    assert_eq!(
        refusal(&[id(3), id(4)], AUTHOR).await,
        "Only one suggestion per line can be applied in a batch."
    );
    assert_eq!(
        refusal(&[reviews[1].comments[0].id], AUTHOR).await,
        "Suggestions cannot be applied from pending reviews."
    );
    assert_eq!(
        refusal(&[id(3)], READER).await,
        "You must have write access to the head branch to commit suggestions."
    );
    client.double.close(number, MAINTAINER).await.unwrap();
    assert_eq!(
        refusal(&[id(3)], AUTHOR).await,
        "Suggestions cannot be applied while the pull request is closed."
    );
    let late = client
        .send(
            Method::POST,
            &format!("/issues/{number}/comments"),
            json!({ "body": "bye" }),
        )
        .await;
    assert_eq!(
        late.0,
        StatusCode::CREATED,
        "a closed pull request can still be commented on"
    );
}
