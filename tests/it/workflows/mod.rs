//! The workflow and action files conform to their schemas and to the security rules for jobs with a token.

use std::path::{Path, PathBuf};

use rules::{check_action, check_workflow};

pub(crate) mod rules;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The workflow files of a folder of the project.
fn workflows_in(folder: &str) -> Vec<PathBuf> {
    let paths = root()
        .join(folder)
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|it| it == "yml" || it == "yaml"))
        .collect()
}

#[test]
fn the_projects_own_files_keep_the_rules() {
    let ours = [
        "action.yml",
        "workflows/greenlight.yml",
        "workflows/greenlight-commands.yml",
    ];
    for file in ours
        .iter()
        .chain(&[".github/workflows/ci.yml", ".github/workflows/release.yml"])
    {
        assert!(root().join(file).exists(), "{file} is missing");
    }
    let action = std::fs::read_to_string(root().join("action.yml")).unwrap();
    assert_eq!(check_action(&action), [""; 0], "action.yml");
    for path in workflows_in("workflows")
        .into_iter()
        .chain(workflows_in(".github/workflows"))
    {
        let workflow = std::fs::read_to_string(&path).unwrap();
        assert_eq!(check_workflow(&workflow), [""; 0], "{}", path.display());
    }
}

const GOOD_WORKFLOW: &str = r#"
name: greenlight
on:
  workflow_run:
    workflows: [ci]
    types: [completed]
permissions: {}
jobs:
  answer:
    runs-on: ubuntu-latest
    permissions:
      contents: read
      pull-requests: write
    steps:
      - uses: actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683 # v4.2.2
        with:
          persist-credentials: false
      - run: echo "$TITLE" "${{ matrix.target }}" "${{ github.run_id }}"
        env:
          TITLE: ${{ github.event.workflow_run.display_title }}
      - uses: greenlight-rs/greenlight@v0.1.0
  other:
    runs-on: ubuntu-latest
    steps:
      - run: "true"
"#;

#[test]
fn bad_workflows_are_found() {
    assert_eq!(check_workflow(GOOD_WORKFLOW), [""; 0]);
    let sha = "@11bd71901bbe5b1630ceea73d27597364c9af683";
    let credentials = "persist-credentials: false";
    for (good, bad, expected) in [
        ("runs-on", "runson", "schema: /jobs/"),
        ("permissions: {}\n", "", "permissions: none"),
        (
            "permissions: {}",
            "permissions: write-all",
            "permissions: name them one by one",
        ),
        (
            "permissions: {}",
            "permissions: read-all",
            "permissions: name them one by one",
        ),
        (
            "permissions: {}",
            "permissions: { contents: write }",
            "permissions: a write for all jobs",
        ),
        (
            "permissions:\n      contents: read\n      pull-requests: write",
            "permissions: write-all",
            "of job",
        ),
        (sha, "@v4", "pin: "),
        (sha, "@11bd719", "pin: "),
        (" # v4.2.2", "", "pin: "),
        (" # v4.2.2", " # newest", "pin: "),
        (
            "greenlight-rs/greenlight@v0.1.0",
            "greenlight-rs/greenlight@main",
            "pin: ",
        ),
        (
            "greenlight-rs/greenlight@v0.1.0",
            "a-stranger/greenlight@v0.1.0",
            "pin: ",
        ),
        ("greenlight-rs/greenlight@v0.1.0", "docker://alpine:3.22", "pin: "),
        (credentials, "fetch-depth: 0", "checkout: "),
        (credentials, "persist-credentials: true", "checkout: "),
        (
            "matrix.target",
            "github.event.workflow_run.display_title",
            "injection: ",
        ),
        ("matrix.target", "github.head_ref", "injection: "),
        (
            "matrix.target",
            "format('{0}', github.event.issue.title)",
            "injection: ",
        ),
        (
            "matrix.target",
            "\n            github.event.comment.body\n            ",
            "injection: ",
        ),
        ("matrix.target", "inputs.command", "injection: "),
        ("matrix.target", "secrets.TOKEN", "injection: "),
        ("matrix.target", "matrix.target || github.actor", "injection: "),
        ("run: \"true\"", "run: gh pr checkout 1", "head: "),
        ("run: \"true\"", "run: git fetch origin pull/1/merge", "head: "),
    ] {
        assert!(GOOD_WORKFLOW.contains(good), "{good}");
        let findings = check_workflow(&GOOD_WORKFLOW.replace(good, bad));
        assert!(
            !findings.is_empty() && findings.iter().all(|it| it.contains(expected)),
            "{bad}: {findings:?}"
        );
    }
    assert!(check_workflow("on: [push\n")[0].starts_with("not YAML"));
    assert!(check_workflow("on: push\non: push\n")[0].starts_with("not YAML"));
}

#[test]
fn the_head_of_a_pull_request_is_not_checked_out_with_the_rights_of_the_base() {
    let credentials = "persist-credentials: false";
    let run = "workflow_run:\n    workflows: [ci]\n    types: [completed]";
    for trigger in [
        run,
        "issue_comment:",
        "pull_request_review_comment:",
        "pull_request_target:",
    ] {
        let workflow = GOOD_WORKFLOW.replace(run, trigger);
        assert_eq!(check_workflow(&workflow), [""; 0]);
        for (chosen, is_fine) in [
            ("ref: main", true),
            ("ref: ${{ github.event.repository.default_branch }}", true),
            ("ref: ${{ github.event.pull_request.base.sha }}", true),
            ("ref: ${{ github.event.pull_request.head.sha }}", false),
            ("ref: ${{github.head_ref}}", false),
            ("ref: ${{ github.event.workflow_run.head_sha }}", false),
            ("ref: refs/pull/${{ github.event.number }}/merge", false),
            ("ref: refs/pull/1/merge", false),
            (
                "repository: ${{ github.event.pull_request.head.repo.full_name }}",
                false,
            ),
        ] {
            let findings =
                check_workflow(&workflow.replace(credentials, &format!("{credentials}\n          {chosen}")));
            assert_eq!(findings.is_empty(), is_fine, "{trigger} {chosen}: {findings:?}");
            assert!(
                findings.iter().all(|finding| finding.starts_with("head: ")),
                "{findings:?}"
            );
        }
    }
    let unprivileged = GOOD_WORKFLOW.replace(run, "pull_request:");
    let head = format!("{credentials}\n          ref: ${{{{ github.event.pull_request.head.sha }}}}");
    assert_eq!(check_workflow(&unprivileged.replace(credentials, &head)), [""; 0]);
}

#[test]
fn bad_actions_are_found() {
    let good = r#"
name: greenlight
description: Debugs red CI
inputs:
  token:
    description: Token
    required: true
runs:
  using: composite
  steps:
    - uses: actions/cache@5a3ec84eff668545956fd18022155c47e93e2684 # v4.2.3
      with:
        path: target
        key: x
    - run: '"$GITHUB_ACTION_PATH/run" "$TOKEN"'
      shell: bash
      env:
        TOKEN: ${{ inputs.token }}
"#;
    assert_eq!(check_action(good), [""; 0]);
    for (part, bad, expected) in [
        ("      shell: bash\n", "", "schema: "),
        ("using: composite", "using: node4", "schema: "),
        ("@5a3ec84eff668545956fd18022155c47e93e2684", "@v4", "pin: "),
        ("$TOKEN", "${{ inputs.token }}", "injection: "),
    ] {
        let findings = check_action(&good.replace(part, bad));
        assert!(
            findings.iter().any(|finding| finding.starts_with(expected)),
            "{bad}: {findings:?}"
        );
    }
}
