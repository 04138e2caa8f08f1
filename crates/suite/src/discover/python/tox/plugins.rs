//! Which environments of tox's list its plugin for GitHub Actions chooses: those for variables of the job.
//! <https://github.com/ymyzk/tox-gh-actions>

use std::collections::BTreeMap;

use super::ini::{Sections, expanded};

/// Those environments whose names have the factors that belong to the values of these variables; all, if there are none.
pub(super) fn chosen(
    mut listed: Vec<String>,
    sections: &Sections,
    variables: &BTreeMap<String, String>,
) -> Vec<String> {
    for (name, lines) in sections.get("gh-actions:env").into_iter().flat_map(|keys| keys.iter()) {
        let factors = variables.get(name).and_then(|value| {
            let mut rules = lines.lines().filter_map(|line| line.split_once(':'));
            rules.find_map(|(of, factors)| (of.trim() == value).then_some(factors))
        });
        let Some(factors) = factors.map(expanded) else {
            continue;
        };
        let has_all = |name: &&String| {
            let has = |factor: &str| name.split('-').any(|own| own == factor);
            factors.iter().any(|factors| factors.trim().split('-').all(has))
        };
        let chosen: Vec<String> = listed.iter().filter(has_all).cloned().collect();
        if !chosen.is_empty() {
            listed = chosen;
        }
    }
    listed
}
