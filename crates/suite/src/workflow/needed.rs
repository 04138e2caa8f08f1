//! Jobs that build what another job tests: <https://docs.github.com/en/actions/tutorials/store-and-share-data>

use std::rc::Rc;

use super::expression::Scope;
use super::node::Node;
use super::{JobMatch, matrix};

/// Maximum number of jobs whose output one downloads.
const MAX_NEEDED: usize = 4;

/// Whether a job begins with what another one has built.
pub(super) fn tests_an_artifact(job: &Node) -> bool {
    let steps = job.get("steps").map(Node::items).unwrap_or_default();
    let mut actions = steps.iter().filter_map(|step| step.get("uses").and_then(Node::text));
    actions.any(|uses| uses.starts_with("actions/download-artifact"))
}

/// The jobs whose output a job downloads, each with the first values of its matrix.
pub(super) fn jobs(place: &JobMatch) -> Vec<JobMatch> {
    let jobs = place.workflow.get("jobs").map(Node::entries).unwrap_or_default();
    let Some((_, job)) = jobs.get(place.job).filter(|(_, job)| tests_an_artifact(job)) else {
        return Vec::new();
    };
    let needs = job.get("needs");
    let named = needs.map(Node::items).unwrap_or_default().iter().filter_map(Node::text);
    let named = needs.and_then(Node::text).into_iter().chain(named);
    let found = named.filter_map(|name| {
        let at = jobs.iter().position(|(own, _)| own == name)?;
        let values = jobs[at].1.get("strategy").and_then(|strategy| strategy.get("matrix"));
        let values = values.and_then(|values| matrix::combinations(values, &place.scope));
        Some(JobMatch {
            workflow: Rc::clone(&place.workflow),
            job: at,
            scope: Scope {
                matrix: values.and_then(|all| all.into_iter().next()).unwrap_or_default(),
                env: std::collections::BTreeMap::new(),
                ..place.scope.clone()
            },
        })
    });
    found.take(MAX_NEEDED).collect()
}

#[cfg(test)]
mod tests {
    use crate::workflow::test_steps;

    #[test]
    fn what_another_job_has_built_is_built_before_the_tests() {
        let path = ".github/workflows/ci.yml".parse().unwrap();
        let ci = |needs: &str, with: &str| {
            let text = format!(
                "on: push\njobs:\n  build: {{runs-on: ubuntu-latest, steps: [{{run: npm ci}}, {{run: npm run build}}, \
                 {{uses: actions/upload-artifact@v4}}]}}\n  test: {{runs-on: ubuntu-latest, needs: {needs}, steps: \
                 [{{uses: '{with}'}}, {{run: npm ci}}, {{run: npm test}}]}}\n"
            );
            let steps = test_steps([&path], &mut |_| Some(text.clone()));
            let before = steps[0].before.iter().map(|script| script.script.clone());
            before.collect::<Vec<_>>().join("; ")
        };
        let download = "actions/download-artifact@v4";
        assert_eq!(ci("build", download), "npm ci; npm run build; npm ci");
        assert_eq!(ci("[build, test]", download), "npm ci; npm run build; npm ci; npm ci");
        assert_eq!(ci("build", "actions/checkout@v4"), "npm ci");
        assert_eq!(ci("[none]", download), "npm ci");
    }
}
