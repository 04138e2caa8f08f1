//! The jobs of CircleCI: <https://circleci.com/docs/reference/configuration-reference/>

use std::collections::BTreeMap;

use super::job::{MAX_JOBS, MAX_SCRIPTS, OtherJob, OtherScript, images, script, variables};
use crate::discover::runs_tests;
use crate::workflow::Node;

/// Maximum depth of commands that use commands.
const MAX_DEPTH: usize = 5;
/// Maximum number of steps of a job that are looked at, those of commands included.
const MAX_STEPS: usize = 500;
/// Maximum length of the name of a parameter, and of a text with its parameters.
const MAX_NAME: usize = 200;
const MAX_TEXT: usize = 64 << 10;
/// Maximum size of the scripts of all jobs, in bytes: a command with a long parameter may be used by each of them.
const MAX_BYTES: usize = 4 << 20;

/// All jobs, in the order of the file.
pub(super) fn jobs(document: &Node) -> Vec<OtherJob> {
    let all = document.get("jobs").map(Node::entries).unwrap_or_default();
    let has = |job: &Node, step: &str| {
        let mut steps = job.get("steps").map(Node::items).unwrap_or_default().iter();
        steps.any(|own| own.get(step).is_some())
    };
    // Jobs pass files on to each other, and so what some of them build is there in others.
    let persisting = all.iter().filter(|(_, job)| has(job, "persist_to_workspace"));
    let mut left = MAX_BYTES;
    let shared: Vec<OtherScript> = persisting
        .take(MAX_JOBS)
        .flat_map(|(name, job)| scripts((name, job), document))
        .take_while(|script| fits(script, &mut left))
        .filter(|script| !runs_tests(&script.text, &script.env))
        .take(MAX_SCRIPTS)
        .collect();
    let mut left = MAX_BYTES;
    all.iter()
        .filter(|(_, job)| !is_elsewhere(job))
        .take(MAX_JOBS)
        .map(|(name, job)| {
            let attaches = has(job, "attach_workspace") && !has(job, "persist_to_workspace");
            let before = if attaches { shared.clone() } else { Vec::new() };
            let images = images(job.get("docker"));
            let own = parameters(job, given(name, document));
            let mut env = variables(job.get("environment").map(|env| filled(env, &own)).as_ref());
            env.retain(|_, value| !value.contains("<<"));
            OtherJob {
                name: name.clone(),
                scripts: before
                    .into_iter()
                    .chain(scripts((name, job), document))
                    .take(MAX_SCRIPTS)
                    .take_while(|script| fits(script, &mut left))
                    .collect(),
                own_env: env.keys().cloned().collect(),
                env,
                // The first image runs the steps.
                services: images.into_iter().skip(1).collect(),
                may_fail: false,
            }
        })
        .collect()
}

/// Takes room for a script, and returns whether there was enough.
fn fits(script: &OtherScript, left: &mut usize) -> bool {
    let rest = left.checked_sub(script.text.len());
    *left = rest.unwrap_or(*left);
    rest.is_some()
}

/// Whether a job runs on macOS or Windows.
/// <https://circleci.com/docs/guides/execution-managed/executor-intro/>
fn is_elsewhere(job: &Node) -> bool {
    let executor = job.get("executor");
    let name = executor.and_then(|executor| executor.get("name").unwrap_or(executor).text());
    job.get("macos").is_some()
        || name.is_some_and(|name| ["macos/", "win/", "windows/"].iter().any(|orb| name.starts_with(orb)))
}

/// The values that the first workflow with a job gives to its parameters.
fn given<'d>(name: &str, document: &'d Node) -> Option<&'d Node> {
    let workflows = document.get("workflows").map(Node::entries).unwrap_or_default().iter();
    let mut jobs = workflows.flat_map(|(_, workflow)| workflow.get("jobs").map(Node::items).unwrap_or_default());
    jobs.find_map(|job| job.get(name))
}

/// The scripts of one job.
fn scripts((name, job): (&str, &Node), document: &Node) -> Vec<OtherScript> {
    let (mut steps, mut left) = (Vec::new(), MAX_STEPS);
    let own = parameters(job, given(name, document));
    add_steps(job, &own, (document, MAX_DEPTH), (&mut steps, &mut left));
    let home = job.get("working_directory").and_then(Node::text).unwrap_or("~/project");
    let home = absolute(&with_values(home, &own), "~");
    let path = steps
        .iter()
        .find_map(|step| step.get("checkout")?.get("path")?.scalar());
    let checkout = path.map_or_else(|| home.clone(), |path| absolute(&path, &home));
    let scripts = steps.iter().filter_map(|step| step.get("run")).map(|run| {
        let own = run.get("working_directory").and_then(Node::text);
        OtherScript {
            directory: in_checkout(&own.map_or_else(|| home.clone(), |own| absolute(own, &home)), &checkout),
            env: variables(run.get("environment")),
            ..script(&[Some(run.get("command").unwrap_or(run))])
        }
    });
    scripts.take(MAX_SCRIPTS).collect()
}

/// The full path of a directory. A relative one is below another one.
fn absolute(path: &str, above: &str) -> String {
    let path = path.trim_end_matches('/');
    match path.starts_with(['~', '/']) {
        true => path.to_owned(),
        false => format!("{above}/{path}"),
    }
}

/// A full path as a directory of the repository, which is checked out into the job's directory unless its `path` says
/// otherwise. <https://circleci.com/docs/reference/configuration-reference/#checkout>
fn in_checkout(directory: &str, checkout: &str) -> String {
    match directory.strip_prefix(checkout) {
        Some("") => String::new(),
        Some(rest) if rest.starts_with('/') => rest[1..].to_owned(),
        // A full path is none of its directories.
        _ => format!("/{directory}"),
    }
}

/// Adds the steps of a job or a reusable command, with the steps of the commands that they use in their place.
/// <https://circleci.com/docs/guides/orchestrate/reusing-config/#authoring-reusable-commands>
fn add_steps(
    node: &Node,
    values: &BTreeMap<String, String>,
    (document, depth): (&Node, usize),
    (steps, left): (&mut Vec<Node>, &mut usize),
) {
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    for step in node.get("steps").map(Node::items).unwrap_or_default() {
        let Some(less) = left.checked_sub(1).filter(|_| steps.len() < MAX_SCRIPTS) else {
            return;
        };
        *left = less;
        let step = filled(step, values);
        let (name, given) = match (&step, step.entries()) {
            (Node::Text(name), _) => (name.as_str(), None),
            (_, [(name, given)]) => (name.as_str(), Some(given)),
            _ => ("", None),
        };
        let command = document.get("commands").and_then(|commands| commands.get(name));
        match (command, name, given) {
            (Some(command), _, _) => {
                add_steps(command, &parameters(command, given), (document, depth), (steps, left));
            }
            (None, "when" | "unless", Some(branch)) => {
                let is_true = branch
                    .get("condition")
                    .and_then(|condition| holds(condition, MAX_DEPTH));
                if is_true != Some(name == "unless") {
                    add_steps(branch, values, (document, depth), (steps, left));
                }
            }
            _ => steps.push(step),
        }
    }
}

/// Whether a condition holds, once its parameters are replaced. `None` if that is not known here.
/// <https://circleci.com/docs/reference/configuration-reference/#logic-statements>
fn holds(condition: &Node, depth: usize) -> Option<bool> {
    let depth = depth.checked_sub(1)?;
    let each = |list: &Node| -> Option<Vec<bool>> { list.items().iter().map(|one| holds(one, depth)).collect() };
    match condition.entries() {
        [] => {
            let text = condition.scalar().filter(|text| !text.contains("<<"))?;
            Some(!matches!(text.as_str(), "" | "0" | "false"))
        }
        [(operator, operand)] => match operator.as_str() {
            "not" => holds(operand, depth).map(|holds| !holds),
            "and" => each(operand).map(|all| all.into_iter().all(|holds| holds)),
            "or" => each(operand).map(|all| all.into_iter().any(|holds| holds)),
            "equal" => {
                let values: Vec<String> = operand.items().iter().map(Node::scalar).collect::<Option<_>>()?;
                let are_known = values.iter().all(|value| !value.contains("<<"));
                are_known.then(|| values.windows(2).all(|pair| pair[0] == pair[1]))
            }
            _ => None,
        },
        _ => None,
    }
}

/// The parameters of a job or a command: given ones, or their defaults.
fn parameters(node: &Node, given: Option<&Node>) -> BTreeMap<String, String> {
    let declared = node.get("parameters").map(Node::entries).unwrap_or_default().iter();
    let value = |(name, parameter): &(String, Node)| {
        let given = given.and_then(|given| given.get(name));
        Some((name.clone(), given.or_else(|| parameter.get("default"))?.scalar()?))
    };
    declared.take(MAX_SCRIPTS).filter_map(value).collect()
}

/// A step with its parameters replaced, as in `<< parameters.version >>`. Unknown ones stay, and no shell reads them.
fn filled(node: &Node, values: &BTreeMap<String, String>) -> Node {
    match node {
        Node::Text(text) => Node::Text(with_values(text, values)),
        Node::List(items) => Node::List(items.iter().map(|item| filled(item, values)).collect()),
        Node::Map(entries) => {
            let entries = entries
                .iter()
                .map(|(name, value)| (name.clone(), filled(value, values)));
            Node::Map(entries.collect())
        }
        other => other.clone(),
    }
}

fn with_values(text: &str, values: &BTreeMap<String, String>) -> String {
    let (mut whole, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("<<") {
        // Names are short, so a distant `>>` ends no parameter.
        let near = after.char_indices().nth(MAX_NAME).map_or(after.len(), |(at, _)| at);
        let value = after[..near].split_once(">>").and_then(|(inner, _)| {
            let name = inner.trim().strip_prefix("parameters.")?;
            Some((values.get(name)?, &after[inner.len() + 2..]))
        });
        whole.push_str(before);
        match value.filter(|(value, _)| whole.len() + value.len() <= MAX_TEXT) {
            Some((value, after)) => {
                whole.push_str(value);
                rest = after;
            }
            None => {
                whole.push_str("<<");
                rest = after;
            }
        }
    }
    whole + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::parse;

    #[test]
    fn reusable_commands_are_the_steps_that_they_stand_for() {
        let text = "\
commands:
  build:
    parameters: {command: {type: string, default: build}, version: {type: string}}
    steps:
      - checkout
      - setup
      - run: ./gradlew << parameters.command >> -Pversion=<<parameters.version>>
  setup: {steps: [{run: npm ci}, setup]}
jobs:
  test:
    parameters: {kind: {type: string, default: unit}}
    steps: [{build: {version: 25}}, {run: 'npm test << parameters.kind >> << parameters.none >>'}]
";
        let jobs = jobs(&parse(text, true).unwrap());
        let scripts: Vec<&str> = jobs[0].scripts.iter().map(|script| script.text.trim()).collect();
        // A command that uses itself ends.
        assert_eq!(&scripts[..2], ["npm ci", "npm ci"]);
        let last: Vec<&str> = scripts.into_iter().filter(|text| *text != "npm ci").collect();
        assert_eq!(
            last,
            ["./gradlew build -Pversion=25", "npm test unit << parameters.none >>"]
        );
    }

    #[test]
    fn a_job_begins_where_the_repository_is_checked_out() {
        for (job, step, expected) in [
            ("", "", ""),
            ("", "sub", "sub"),
            ("", "~/project/sub", "sub"),
            ("~/repo", "", ""),
            ("/go/src/a", "/go/src/a/b", "b"),
            ("/go/src/a", "b", "b"),
            ("repo", "", ""),
            ("repo", "sub", "sub"),
            ("/go/src/a", "/go/src/ab", "//go/src/ab"),
        ] {
            let key = |path: &str| match path {
                "" => String::new(),
                path => format!("working_directory: {path}, "),
            };
            let text = format!(
                "jobs: {{test: {{{}steps: [{{run: {{{}command: npm test}}}}]}}}}",
                key(job),
                key(step)
            );
            let jobs = jobs(&parse(&text, true).unwrap());
            assert_eq!(jobs[0].scripts[0].directory, expected, "{job} {step}");
        }
        let text = "jobs: {test: {working_directory: ~/a/web, steps: [{checkout: {path: ~/a}}, {run: npm test}]}}";
        let jobs = jobs(&parse(text, true).unwrap());
        assert_eq!(jobs[0].scripts[0].directory, "web");
    }

    #[test]
    fn a_long_parameter_of_many_jobs_is_bounded() {
        let steps = "{run: << parameters.x >>}, ".repeat(90);
        let attaching: String = (0..100)
            .map(|job| format!("  j{job}: {{steps: [b, attach_workspace: 1]}}\n"))
            .collect();
        let text = format!(
            "commands:\n  b: {{parameters: {{x: {{default: {}}}}}, steps: [{steps}]}}\njobs:\n  p: {{steps: [b, persist_to_workspace: 1]}}\n{attaching}",
            "x".repeat(60_000),
        );
        let jobs = jobs(&parse(&text, true).unwrap());
        let size: usize = jobs
            .iter()
            .flat_map(|job| &job.scripts)
            .map(|script| script.text.len())
            .sum();
        assert!(jobs.len() == 101 && (60_000..=MAX_BYTES).contains(&size), "{size}");
    }

    #[test]
    fn steps_of_conditions_run_where_they_hold() {
        let text = "\
jobs:
  test:
    parameters: {node: {type: string}, fast: {type: boolean, default: false}}
    steps:
      - when: {condition: {equal: ['24', << parameters.node >>]}, steps: [{run: npm run lint}, {run: npm test}]}
      - when: {condition: {not: {equal: [24, << parameters.node >>]}}, steps: [{run: npm run old}]}
      - unless: {condition: << parameters.fast >>, steps: [{run: npm run slow}]}
      - when: {condition: {and: [true, << parameters.fast >>]}, steps: [{run: npm run fast}]}
      - when: {condition: {or: [false, {matches: {}}]}, steps: [{run: npm run unknown}]}
  mac: {macos: {xcode: 1}, steps: [{run: npm test}]}
  windows: {executor: {name: win/default}, steps: [{run: npm test}]}
  other: {executor: winter, steps: [{run: npm test}]}
workflows:
  all: {jobs: [other, {test: {node: '24'}}, {test: {node: '25'}}]}
";
        let jobs = jobs(&parse(text, true).unwrap());
        let scripts: Vec<&str> = jobs[0].scripts.iter().map(|script| script.text.trim()).collect();
        assert_eq!(scripts, ["npm run lint", "npm test", "npm run slow", "npm run unknown"]);
        let names: Vec<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
        assert_eq!(names, ["test", "other"]);
        // Conditions inside of conditions end.
        let deep = "{not: ".repeat(30) + "true" + &"}".repeat(30);
        assert_eq!(holds(&parse(&deep, true).unwrap(), MAX_DEPTH), None);
    }
}
