//! Lists a repository's workflows as GitHub's event `workflow_run` names them, and says what each is for.

use greenlight_anchor::RepoPath;

use super::ReadFile;
use super::files::WorkflowFiles;
use super::node::Node;
use super::purpose::is_usual;
use super::test_steps::{events, workflows, workflows_steps};

/// A workflow of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CiWorkflow {
    /// Its file.
    pub path: RepoPath,
    /// The name by which GitHub's event `workflow_run` knows it: its `name`, or the path if it has none.
    pub name: String,
    /// Whether pull requests start it.
    pub is_for_pull_requests: bool,
    /// Whether a step of it runs tests, as far as its file shows.
    pub has_tests: bool,
}

/// The workflows of a repository that can be read, and the files of those that cannot, both in the order of `paths`;
/// `read` is as for [`failed_step`](super::failed_step).
pub fn ci_workflows<'p>(
    paths: impl IntoIterator<Item = &'p RepoPath>,
    read: &mut ReadFile<'_>,
) -> (Vec<CiWorkflow>, Vec<RepoPath>) {
    let mut files = WorkflowFiles::new(read);
    let (mut listed, mut unread) = (Vec::new(), Vec::new());
    for path in workflows(paths) {
        let Some(workflow) = files.document(path.as_str()) else {
            unread.push(path.clone());
            continue;
        };
        let name = workflow.get("name").and_then(Node::scalar);
        listed.push(CiWorkflow {
            path: path.clone(),
            name: name
                .filter(|name| !name.trim().is_empty())
                .unwrap_or_else(|| path.to_string()),
            is_for_pull_requests: workflow
                .get("on")
                .is_some_and(|on| events(on).any(|event| event == "pull_request")),
            has_tests: workflows_steps(path, &workflow, None, &mut files)
                .0
                .iter()
                .any(|(rank, _)| is_usual(*rank)),
        });
    }
    (listed, unread)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(files: &[(&str, &str)]) -> (Vec<CiWorkflow>, Vec<RepoPath>) {
        let paths: Vec<RepoPath> = files.iter().map(|(path, _)| path.parse().unwrap()).collect();
        ci_workflows(&paths, &mut |path| {
            let (_, text) = files.iter().find(|(other, _)| *other == path)?;
            Some((*text).to_string())
        })
    }

    #[test]
    fn a_workflow_has_the_name_that_github_knows() {
        let job = "jobs: {test: {runs-on: ubuntu-latest, steps: [{run: pytest}]}}\n";
        let files = [
            (
                ".github/workflows/a.yml",
                format!("name: All tests\non: [push, pull_request]\n{job}"),
            ),
            (
                ".github/workflows/b.yaml",
                format!("on: {{pull_request: {{branches: [main]}}}}\n{job}"),
            ),
            (".github/workflows/c.yml", format!("name: ''\non: push\n{job}")),
            (
                ".github/workflows/d.yml",
                "name: \"a: \\n- b\"\non: pull_request\njobs: {x: {steps: [{run: echo}]}}".into(),
            ),
            (".github/workflows/broken.yml", "name: [".into()),
            (".github/workflows/deep/e.yml", format!("on: push\n{job}")),
            ("e.yml", format!("on: push\n{job}")),
        ];
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
        let (found, unread) = listed(&files);
        assert_eq!(unread, [".github/workflows/broken.yml".parse::<RepoPath>().unwrap()]);
        let found: Vec<(&str, bool, bool)> = found
            .iter()
            .map(|it| (it.name.as_str(), it.is_for_pull_requests, it.has_tests))
            .collect();
        assert_eq!(
            found,
            [
                ("All tests", true, true),
                (".github/workflows/b.yaml", true, true),
                (".github/workflows/c.yml", false, true),
                ("a: \n- b", true, false),
            ]
        );
    }
}
