//! Parses the log of the edited functions' calls, strictly and within bounds: the code under test can write to it,
//! too.
//!
//! `> 12 0 7 5f.. s` is call 7 of function 0 in process 12, with a digest of its arguments. `< 12 0 7 9a.. s` is its
//! end, with a digest of its results, and `! 12 0` says that no more calls are logged. `? 0 5f.. 3 2 9a.. s` is a
//! call with a generated input: the third variation of those arguments with the second candidate; a candidate number
//! beyond the last means the first candidate again. The last letter is `o` if a value could not be seen.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest as _, Sha256};

use crate::verdict::Behaviour;

/// Maximum number of distinct results of calls with the same arguments.
const MAX_RESULTS: usize = 2_000;
/// The result of a call that did not return.
const NEVER: &str = "never came back";

/// The observed functions, by number.
#[derive(Debug, Default)]
pub(super) struct Functions {
    /// Whether the function has any inputs that calls could differ in.
    pub(super) has_inputs: Vec<bool>,
}

/// A function and the digest of arguments.
type Key = (usize, String);

/// The log of one run.
#[derive(Debug, Default)]
struct NotedRun {
    calls: BTreeMap<Key, Calls>,
    /// Functions with calls that were not logged.
    cut: BTreeSet<usize>,
    has_opaque: bool,
}

/// The calls of a function with the same arguments.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Calls {
    results: Vec<String>,
    /// Whether one of them was made inside another observed call; how often that happens depends on the
    /// implementation.
    is_nested: bool,
}

/// A generated input: the function, the digest of the original arguments, and the variation.
type Input = (usize, String, usize);

/// The log of generated inputs: the answers of all candidates to each.
type Varied = BTreeMap<Input, BTreeMap<usize, Option<String>>>;

/// What this many candidates do, from the printed logs of all runs. `None` if too little was seen. The pair limits
/// the bytes read from each run but the last, and from the last.
pub(super) fn read(
    printed: &str,
    candidates: usize,
    (most, most_varied): (usize, usize),
    functions: &Functions,
) -> Option<Vec<Behaviour>> {
    let noted = split(printed, candidates + 3)?;
    let (vary, noted) = noted.split_last()?;
    let runs: Vec<NotedRun> = noted
        .iter()
        .map(|lines| NotedRun::read(lines, most, functions))
        .collect();
    let varied = varied(vary, most_varied, functions);
    // Without an edit, values need not be visible.
    if runs.iter().skip(1).any(|run| run.has_opaque) || has_opaque(&varied) {
        tracing::debug!("the result of a call cannot be observed");
        return None;
    }
    let mut rows = observed(&runs, candidates);
    let seen = rows.len();
    let mut is_varied: Vec<bool> = functions.has_inputs.iter().map(|has| !has).collect();
    for ((function, _, at), answers) in &varied {
        let row = (0..=candidates + 1)
            .map(|turn| answers.get(&turn)?.clone())
            .collect::<Option<Vec<_>>>();
        let Some(mut row) = row.filter(|row| row.get(1) == row.last()) else {
            continue;
        };
        row.pop();
        if let Some(is_varied) = is_varied.get_mut(*function) {
            *is_varied |= *at > 0;
        }
        rows.push(row);
    }
    let is_reached = rows
        .iter()
        .any(|row| row.iter().skip(1).any(|answer| Some(answer) != row.first()));
    tracing::debug!(seen, generated = rows.len() - seen, ?is_varied, is_reached, "compared");
    if !is_reached || is_varied.contains(&false) {
        return None;
    }
    let of = |candidate: usize| rows.iter().filter_map(|row| row.get(candidate).cloned()).collect();
    Some(
        (1..=candidates)
            .map(|candidate| Behaviour { answers: of(candidate) })
            .collect(),
    )
}

/// The lines of each run. `None` if a run is missing.
fn split(printed: &str, runs: usize) -> Option<Vec<Vec<&str>>> {
    let mut all: Vec<Vec<&str>> = Vec::new();
    for line in printed.lines() {
        if let Some(run) = line.strip_prefix("run ") {
            if run.parse() != Ok(all.len()) || all.len() >= runs {
                return None;
            }
            all.push(Vec::new());
        } else if let (Some(noted), Some(lines)) = (line.strip_prefix(". "), all.last_mut()) {
            lines.push(noted);
        }
    }
    (all.len() == runs).then_some(all)
}

impl NotedRun {
    fn read(lines: &[&str], most: usize, functions: &Functions) -> Self {
        let mut run = Self::default();
        let mut open: BTreeMap<(&str, usize, usize), Key> = BTreeMap::new();
        let mut bytes = 0;
        let known = |function: &str| function.parse().ok().filter(|it| *it < functions.has_inputs.len());
        for line in lines {
            bytes += line.len() + 1;
            if bytes + 1 >= most {
                run.cut.extend(0..functions.has_inputs.len());
                break;
            }
            let words: Vec<&str> = line.split(' ').take(7).collect();
            match words.as_slice() {
                [">", process, function, serial, digest, state] => {
                    let (Some(function), Ok(serial)) = (known(function), serial.parse()) else {
                        continue;
                    };
                    let key = (function, format!("{digest} {state}"));
                    let first = open.range((*process, 0, 0)..).next();
                    let is_nested = first.is_some_and(|((other, ..), _)| other == process);
                    run.calls.entry(key.clone()).or_default().is_nested |= is_nested;
                    open.insert((process, function, serial), key);
                }
                ["<", process, function, serial, digest, state] => {
                    let (Some(function), Ok(serial)) = (known(function), serial.parse()) else {
                        continue;
                    };
                    run.has_opaque |= *state != "s";
                    if let Some(key) = open.remove(&(*process, function, serial)) {
                        run.end(key, digest);
                    }
                }
                ["!", _, function] => run.cut.extend(known(function)),
                _ => {}
            }
        }
        for key in open.into_values() {
            run.end(key, NEVER);
        }
        run
    }

    fn end(&mut self, key: Key, result: &str) {
        let calls = self.calls.entry(key).or_default();
        if calls.results.len() < MAX_RESULTS {
            calls.results.push(result.into());
        }
    }
}

impl Calls {
    fn answer(&self, is_nested: bool) -> String {
        let mut results = self.results.clone();
        if is_nested {
            results.sort();
            results.dedup();
        }
        let digest = Sha256::digest(results.join("\n"));
        digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// One row for each input that occurred in the tests: its result without an edit, and with each candidate.
fn observed(runs: &[NotedRun], candidates: usize) -> Vec<Vec<String>> {
    let (Some(first), Some(again)) = (runs.get(1), runs.get(candidates + 1)) else {
        return Vec::new();
    };
    let edited = runs.get(1..=candidates).unwrap_or_default();
    let is_same = |key: &Key| first.calls.get(key) == again.calls.get(key);
    let keys = |run: &NotedRun| run.calls.keys().cloned().collect::<BTreeSet<Key>>();
    let twice = keys(first).into_iter().chain(keys(again));
    // Functions whose results depend on chance, time or addresses, and those with incomplete logs.
    let mut loose: BTreeSet<usize> = twice
        .filter(|key| !is_same(key))
        .map(|(function, _)| function)
        .collect();
    loose.extend(edited.iter().flat_map(|run| run.cut.iter().copied()));
    let all: BTreeSet<Key> = edited.iter().flat_map(keys).collect();
    let mut rows = Vec::new();
    for key in all.iter().filter(|key| is_same(key)) {
        let is_nested = edited
            .iter()
            .filter_map(|run| run.calls.get(key))
            .any(|calls| calls.is_nested);
        let is_missing = edited.iter().any(|run| !run.calls.contains_key(key));
        if is_missing && (is_nested || loose.contains(&key.0)) {
            continue;
        }
        let runs = runs.iter().take(candidates + 1);
        let answer = |run: &NotedRun| {
            run.calls
                .get(key)
                .map_or("missing".into(), |calls| calls.answer(is_nested))
        };
        rows.push(runs.map(answer).collect());
    }
    rows
}

fn varied(lines: &[&str], most: usize, functions: &Functions) -> Varied {
    let mut varied = Varied::new();
    let mut bytes = 0;
    for line in lines {
        bytes += line.len() + 1;
        if bytes > most {
            break;
        }
        let words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).take(8).collect();
        let (answer, rest) = match words.as_slice() {
            ["?", function, digest, at, turn] => (Some(NEVER.to_string()), [function, digest, at, turn]),
            ["?", function, digest, at, turn, "-", "-"] => (None, [function, digest, at, turn]),
            ["?", function, digest, at, turn, result, state] => {
                (Some(format!("{result} {state}")), [function, digest, at, turn])
            }
            _ => continue,
        };
        let [function, digest, at, turn] = rest;
        if let (Ok(function), Ok(at), Ok(turn)) = (function.parse(), at.parse(), turn.parse())
            && function < functions.has_inputs.len()
        {
            let input = varied.entry((function, (*digest).to_string(), at)).or_default();
            input.entry(turn).or_insert(answer);
        }
    }
    varied
}

fn has_opaque(varied: &Varied) -> bool {
    let answers = varied.values().flat_map(BTreeMap::iter).filter(|(turn, _)| **turn > 0);
    answers
        .into_iter()
        .any(|(_, answer)| answer.as_ref().is_some_and(|it| it.ends_with(" o")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two candidates, and a function with or without inputs.
    fn answers(runs: [&str; 5], has_inputs: bool) -> Option<Vec<Vec<String>>> {
        let lines = |run: &str| run.split(';').map(|line| format!(". {line}\n")).collect::<String>();
        let runs = runs.iter().enumerate();
        let printed: String = runs.map(|(at, run)| format!("run {at}\n{}\n", lines(run))).collect();
        let functions = Functions {
            has_inputs: vec![has_inputs],
        };
        let behaviours = read(&printed, 2, (1_000, 1_000), &functions)?;
        Some(behaviours.into_iter().map(|it| it.answers).collect())
    }

    const CALL: &str = "> 9 0 0 aa s;< 9 0 0 bb s";
    const OTHER: &str = "> 9 0 0 aa s;< 9 0 0 cc s";

    #[test]
    fn calls_are_compared_by_their_arguments() {
        let all = answers([OTHER, CALL, CALL, CALL, ""], false).unwrap();
        assert!(all.len() == 2 && all[0] == all[1] && all[0].len() == 1);
        let all = answers([OTHER, CALL, OTHER, CALL, ""], false).unwrap();
        assert_ne!(all[0], all[1]);
        let panics = "> 9 0 0 aa s";
        let all = answers([CALL, CALL, panics, CALL, ""], false).unwrap();
        assert_ne!(all[0], all[1]);
    }

    #[test]
    fn what_was_not_seen_is_not_compared() {
        let opaque = "> 9 0 0 aa s;< 9 0 0 cc o";
        assert_eq!(answers([OTHER, CALL, opaque, CALL, ""], false), None);
        // No input reaches the edits; no generated input was answered; a run is missing.
        assert_eq!(answers([CALL, CALL, CALL, CALL, ""], false), None);
        assert_eq!(answers([OTHER, CALL, CALL, CALL, ""], true), None);
        assert_eq!(
            read("run 0\nrun 1\nrun 2\nrun 3\n", 2, (9, 9), &Functions::default()),
            None
        );
        assert_eq!(read("run 1\nrun 0\n", 2, (9, 9), &Functions::default()), None);
    }

    #[test]
    fn chance_and_the_way_it_is_written_make_no_difference() {
        // A different number of nested calls, and arguments that never repeat.
        let nested = "> 9 0 0 aa s;> 9 0 1 dd s;< 9 0 1 ee s;< 9 0 0 bb s";
        let all = answers([OTHER, CALL, nested, CALL, ""], false).unwrap();
        assert!(all[0] == all[1] && all[0].len() == 1, "{all:?}");
        let random = |digest: &str| format!("{CALL};> 9 0 2 {digest} s;< 9 0 2 00 s");
        let [one, two, again] = ["11", "22", "33"].map(random);
        let all = answers([OTHER, &one, &two, &again, ""], false).unwrap();
        assert!(all[0] == all[1] && all[0].len() == 1, "{all:?}");
        // An additional call from outside is different behaviour.
        let more = format!("{CALL};> 9 0 2 11 s;< 9 0 2 00 s");
        let all = answers([OTHER, CALL, &more, CALL, ""], false).unwrap();
        assert_ne!(all[0], all[1]);
    }

    #[test]
    fn generated_inputs_need_an_answer_of_each() {
        let of = |answers: [&str; 4]| {
            let each = answers.iter().enumerate();
            let lines: Vec<String> = each.map(|(turn, answer)| format!("? 0 aa 1 {turn} {answer}")).collect();
            answers_of(&lines.join(";"))
        };
        let answers_of_all = of(["1 s", "2 s", "3 s", "2 s"]).unwrap();
        assert_eq!(answers_of_all, [["2 s"], ["3 s"]]);
        // A call that never returned is an answer. A call that was stopped from outside, or whose result is random,
        // is not one.
        assert_eq!(of(["1 s", "2 s", "", "2 s"]).unwrap(), [["2 s"], [NEVER]]);
        assert_eq!(of(["1 s", "2 s", "- -", "2 s"]), None);
        assert_eq!(of(["1 s", "2 s", "3 s", "4 s"]), None);
        assert_eq!(of(["1 s", "2 s", "3 o", "2 s"]), None);
        assert_eq!(of(["1 o", "2 s", "3 s", "2 s"]).unwrap().len(), 2);
        fn answers_of(vary: &str) -> Option<Vec<Vec<String>>> {
            answers(["", "", "", "", vary], true)
        }
    }
}
