//! Suggestions posted to the GitHub double and committed there; the double implements GitHub's rules independently.

use github_double::{AUTHOR, Double, NewPullRequest, World};
use greenlight::domain::anchor::{Cut, DiffFile, cut, parse_hunks, proves};
use greenlight::domain::id::RepoPath;
use greenlight::domain::patch::{Blob, FileChange, Patch};
use serde_json::{Value, json};

const PATH: &str = "src/it's a \"file\".py";

/// A sequence of pseudo-random numbers that is the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    fn line(&mut self) -> String {
        let lines = [
            "",
            "  ",
            "a",
            "b",
            "def f():",
            "\treturn 1",
            "```",
            "````suggestion",
            "}",
            "\u{fc} \u{1f980}",
        ];
        lines[self.below(lines.len())].into()
    }

    fn changed(&mut self, file: &[String], times: usize) -> Vec<String> {
        let mut file = file.to_vec();
        for _ in 0..times {
            let start = self.below(file.len() + 1);
            let end = (start + self.below(3)).min(file.len());
            let lines: Vec<_> = (0..self.below(3)).map(|_| self.line()).collect();
            file.splice(start..end, lines);
        }
        file
    }
}

fn joined(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

struct PullRequest {
    double: Double,
    number: u64,
}

impl PullRequest {
    async fn open(base: &str, head: &str) -> Self {
        let double = Double::start(World::with_repository("acme/rail", &[(PATH, base.as_bytes())]))
            .await
            .unwrap();
        let new = NewPullRequest::new(AUTHOR, "topic", "Change").write(PATH, head);
        let number = double.open_pull_request(new).await.unwrap();
        Self { double, number }
    }

    async fn send(&self, request: impl FnOnce(&reqwest::Client, String) -> reqwest::RequestBuilder) -> Value {
        let http = crate::harness::http().tls_certs_only([]).no_proxy().build().unwrap();
        let url = format!("{}/repos/acme/rail/pulls/{}", self.double.url(), self.number);
        let request = request(&http, url)
            .bearer_auth(self.double.token())
            .header("user-agent", "test");
        let response = request.send().await.unwrap();
        let status = response.status();
        let body: Value = response.json().await.unwrap();
        assert!(status.is_success(), "{status}: {body}");
        body
    }

    async fn diff(&self) -> Vec<DiffFile> {
        let files = self.send(|http, url| http.get(format!("{url}/files"))).await;
        let files = files.as_array().unwrap().iter();
        files
            .map(|file| DiffFile {
                path: file["filename"].as_str().unwrap().parse().unwrap(),
                hunks: parse_hunks(file["patch"].as_str().unwrap_or_default()).unwrap(),
            })
            .collect()
    }

    async fn commit(&self, cut: &Cut) {
        let comments: Vec<Value> = cut
            .suggestions
            .iter()
            .map(|one| {
                let body = format!("Because.\n\n{}\n", one.block());
                let mut comment = json!({ "path": PATH, "side": "RIGHT", "line": one.line, "body": body });
                if one.start_line < one.line {
                    comment["start_line"] = one.start_line.into();
                    comment["start_side"] = "RIGHT".into();
                }
                comment
            })
            .collect();
        let head = self.double.head(self.number).unwrap();
        let review = json!({ "commit_id": head, "event": "COMMENT", "body": "", "comments": comments });
        self.send(|http, url| http.post(format!("{url}/reviews")).json(&review))
            .await;
        let reviews = self.double.reviews(self.number);
        let ids: Vec<u64> = reviews[0].comments.iter().map(|comment| comment.id).collect();
        self.double.commit_suggestions(&ids, AUTHOR).await.unwrap();
    }
}

#[tokio::test]
async fn what_is_suggested_can_be_posted_and_committed_to_exactly_what_was_meant() {
    let path: RepoPath = PATH.parse().unwrap();
    let mut committed = 0;
    for seed in 0..16 {
        let mut numbers = Numbers(seed);
        let base: Vec<String> = (0..30).map(|_| numbers.line()).collect();
        let head = numbers.changed(&base, 3);
        let after = joined(&numbers.changed(&head, 3));
        let (base, head) = (joined(&base), joined(&head));
        if base == head {
            continue;
        }
        let pull_request = PullRequest::open(&base, &head).await;
        let change = FileChange {
            before: Some(Blob::regular(head)),
            after: Some(Blob::regular(after.as_bytes())),
        };
        let patch = Patch::new([(path.clone(), change)]);
        let cut = cut(&patch, &pull_request.diff().await);
        assert!(proves(&cut, &patch), "seed {seed}");
        if cut.suggestions.is_empty() {
            continue;
        }
        pull_request.commit(&cut).await;
        let found = pull_request.double.file(pull_request.number, PATH).unwrap();
        let expected = match cut.remainder.files().next() {
            Some((_, rest)) => rest.before.clone().unwrap().bytes,
            None => after.into_bytes(),
        };
        assert_eq!(String::from_utf8(found), String::from_utf8(expected), "seed {seed}");
        committed += cut.suggestions.len();
    }
    assert!(committed > 8, "{committed}");
}
