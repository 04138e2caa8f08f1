//! What a person does after `greenlight init`.

use super::found::{Found, OF_OTHER_CI};
use super::{InitArguments, agents, files};

/// The page about the App.
const OF_APP: &str = "https://github.com/greenlight-rs/greenlight/blob/main/docs/serve.md";

/// The steps that are left, as text.
pub(super) fn next(arguments: &InitArguments, found: &Found) -> String {
    if arguments.mcp {
        return agents::NEXT.into();
    }
    let mut steps = match arguments.app {
        true => Vec::new(),
        false => for_workflows(found),
    };
    steps.push(commit(found));
    if arguments.app {
        steps.push(format!("create and install the App: {OF_APP}"));
    } else {
        let settings = "Settings > Actions > General";
        steps.push(format!(
            "allow the action, and workflows with write permissions, under {settings}"
        ));
    }
    let comment = "comment `/greenlight fix` on a pull request with red tests";
    steps.push(match !arguments.app && found.other_ci().is_some() {
        true => comment.into(),
        false => format!("{comment}, or wait for red CI"),
    });
    let built = match arguments.app || files::is_release() {
        true => "",
        false => {
            "\nThis program is not from a release. Let `uses:` in both workflows name one: otherwise, the Action builds \
             greenlight on your runner, which takes several minutes."
        }
    };
    let steps = steps
        .iter()
        .zip(1..)
        .map(|(step, number)| format!("  {number}. {step}"));
    let tests = match found.has_tests() && !arguments.test {
        true => "\n`greenlight tests` shows here and now how the tests run.",
        false => "",
    };
    format!("Next:\n{}{tests}{built}", steps.collect::<Vec<_>>().join("\n"))
}

/// What the workflows need.
fn for_workflows(found: &Found) -> Vec<String> {
    let mut steps = Vec::new();
    let of_pushes = found.of_pushes();
    match found.other_ci() {
        Some(system) => steps.push(format!(
            "for red CI on {system}, set up the App instead: `greenlight init --app`"
        )),
        None if !of_pushes.is_empty() => steps.push(format!(
            "add `pull_request` to `on:` in {of_pushes}: greenlight answers red CI of pull requests"
        )),
        None if !found.has_workflows() => steps.push(format!(
            "replace `CI` in {} with the name of your test workflow",
            found.path_of(files::WORKFLOW_PATH)
        )),
        None => {}
    }
    if found.has_own_runners() {
        steps.push("set `runs-on` in both workflows to the labels of your runners".into());
    }
    if found.needs_token() {
        let what = "a token for github.com without permissions, so that releases can be verified";
        steps.push(format!("add the secret GREENLIGHT_GITHUB_COM_TOKEN: {what}"));
    }
    steps
}

/// What the Action lacks for a repository with this CI system.
pub(super) fn only_the_app(system: &str) -> String {
    format!(
        "the Action sees only GitHub Actions, so it would answer comments, but not red CI. With {system}, use the App: \
         `greenlight init --app`, see {OF_OTHER_CI}"
    )
}

/// Where the files have to be committed.
fn commit(found: &Found) -> String {
    let why = "they take effect on the default branch";
    let default = found.place.default_branch.as_deref();
    let current = found
        .place
        .current_branch
        .as_deref()
        .filter(|current| default != Some(*current));
    match (current, default) {
        (Some(current), Some(default)) => {
            format!("commit the files on {current}, and merge them into {default}: {why}")
        }
        (Some(current), None) => {
            format!("commit the files on {current}, and merge them if that is another branch: {why}")
        }
        (None, Some(default)) => format!("commit the files to {default}: {why}"),
        (None, None) => format!("commit the files: {why}"),
    }
}
