//! Code and its suspicion: what tests executed is added to the other evidence, and the top suspects are named.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use greenlight_anchor::RepoPath;

use super::outline::{Definition, Outline};
use super::spectrum::Spectrum;

/// Maximum number of suspects that are named.
const MAX_NAMED: usize = 10;
/// The weight of execution compared with the other evidence.
const EXECUTED: f32 = 0.6;
/// The factor for the suspicion of code that no failing test executed: of a constant, and of anything else.
const CONSTANT: f32 = 0.6;
const NEVER_EXECUTED: f32 = 0.15;
/// The factor for a line that no failing test executed, in a definition with lines that one did.
const NOT_EXECUTED: f32 = 0.5;
/// The number of top suspects, and the share of the last one's score from which further definitions count as well.
const MAX_FIRST: usize = 5;
const AS_SUSPICIOUS: f32 = 0.9;

/// A file worth searching.
#[derive(Debug)]
pub(super) struct Suspect {
    pub(super) outline: Outline,
    /// The suspicion of each definition of the outline, from 0 to 1. `None` if it must not be edited.
    pub(super) definitions: Vec<Option<f32>>,
    /// Whether a failure says that a definition was called with wrong arguments.
    pub(super) called: Vec<bool>,
    /// The suspicion of each line from what was executed, once that is known.
    pub(super) executed: Option<BTreeMap<u32, f32>>,
    pub(super) frames: BTreeMap<u32, f32>,
    pub(super) changed: BTreeSet<u32>,
}

impl Suspect {
    pub(super) fn path(&self) -> &RepoPath {
        &self.outline.path
    }

    /// An upper bound for the suspicion of any edit of the file.
    pub(super) fn most(&self) -> f32 {
        self.definitions.iter().flatten().copied().fold(0.0, f32::max)
    }

    /// The definition around a range, if it is suspicious.
    pub(super) fn around(&self, bytes: &Range<usize>) -> Option<&Definition> {
        let index = self.outline.around(bytes)?;
        (self.score(index) > 0.0).then(|| &self.outline.definitions[index])
    }

    fn score(&self, definition: usize) -> f32 {
        self.definitions.get(definition).copied().flatten().unwrap_or(0.0)
    }

    /// The suspicion of the code at these bytes on this line.
    pub(super) fn suspicion(&self, bytes: &Range<usize>, line: u32) -> f32 {
        let Some(index) = self.outline.around(bytes) else {
            return 0.0;
        };
        let definition = &self.outline.definitions[index];
        if definition.is_module {
            // Its lines lie between other definitions, and were changed, executed or pointed at individually.
            return self.score(index) * self.module_factor(line);
        }
        let lines = &definition.lines;
        let mut factor = 1.0;
        if !self.changed.contains(&line) && self.changed.range(lines.clone()).next().is_some() {
            factor *= 0.6;
        }
        if self.frames.range(lines.clone()).next().is_some() {
            factor *= 0.8 + 0.2 * self.frames.get(&line).copied().unwrap_or(0.0);
        }
        if let Some(executed) = &self.executed {
            let most = executed
                .range(lines.clone())
                .map(|(_, score)| *score)
                .fold(0.0, f32::max);
            factor *= match executed.get(&line) {
                Some(score) => score / most.max(f32::EPSILON),
                None if most > 0.0 => NOT_EXECUTED,
                None => 1.0,
            };
        }
        self.score(index) * factor
    }

    /// The factor for top-level code. A line without execution data is only penalised if execution data exists.
    fn module_factor(&self, line: u32) -> f32 {
        let executed = self
            .executed
            .as_ref()
            .is_none_or(|executed| executed.contains_key(&line));
        let changed = self.changed.is_empty() || self.changed.contains(&line);
        let factor = |holds: bool, otherwise: f32| if holds { 1.0 } else { otherwise };
        factor(executed, 0.8) * factor(changed, 0.6)
    }

    /// Suspicious definitions with their scores.
    fn scored(&self) -> impl Iterator<Item = (f32, &Self, &Definition)> {
        let suspicious = self.outline.definitions.iter().zip(&self.definitions);
        suspicious.filter_map(move |(definition, score)| Some((score.filter(|score| *score > 0.0)?, self, definition)))
    }

    /// The most suspicious definitions, each with its most telling line.
    pub(super) fn lines(&self) -> impl Iterator<Item = (f32, u32)> {
        self.scored().map(|(suspicion, _, definition)| {
            let is_own = |line: &&u32| self.outline.has_line(definition, **line);
            let frame = self.frames.keys().find(is_own);
            let changed = || self.changed.iter().find(is_own);
            let line = frame.or_else(changed).unwrap_or(definition.lines.start());
            (suspicion, *line)
        })
    }
}

/// Sorts the most suspicious files first.
pub(super) fn sort(suspects: &mut [Suspect]) {
    suspects.sort_by(|a, b| b.most().total_cmp(&a.most()).then_with(|| a.path().cmp(b.path())));
}

/// Adds what was executed, which says more than what is merely mentioned.
pub(super) fn weigh(suspects: &mut [Suspect], spectrum: &Spectrum) {
    for suspect in suspects.iter_mut() {
        let lines = spectrum.files.get(suspect.path()).into_iter().flatten();
        let executed: BTreeMap<u32, f32> = lines
            .map(|(line, _)| (*line, spectrum.ochiai(suspect.path(), *line)))
            .collect();
        let definitions = suspect.outline.definitions.iter().zip(&mut suspect.definitions);
        for ((definition, score), is_called) in definitions.zip(&suspect.called) {
            let Some(score) = score else { continue };
            let lines = executed.range(definition.lines.clone());
            let own = lines.filter(|(line, _)| suspect.outline.has_line(definition, **line));
            let most = own.map(|(_, score)| *score).fold(0.0, f32::max);
            *score = if definition.is_module {
                // The file is loaded no matter what a test does.
                CONSTANT * (EXECUTED * most + (1.0 - EXECUTED) * *score)
            } else if most > 0.0 {
                EXECUTED * most + (1.0 - EXECUTED) * *score
            } else if *is_called {
                // The failing call never reached its body.
                *score
            } else if is_constant(definition) {
                // It was evaluated before any test.
                *score * CONSTANT
            } else {
                *score * NEVER_EXECUTED
            };
        }
        suspect.executed = Some(executed);
    }
    sort(suspects);
}

/// Judged by its name, which most languages write in capitals.
fn is_constant(definition: &Definition) -> bool {
    !definition.name.chars().any(char::is_lowercase)
}

/// The top suspects: files and byte ranges of definitions.
#[derive(Debug, Default)]
pub(super) struct Ranking(Vec<(RepoPath, Range<usize>)>);

impl Ranking {
    /// The most suspicious definitions, those about as suspicious as the last of them, and the top-level code of the
    /// most suspicious file, which runs before any of them is called.
    pub(super) fn of(suspects: &[Suspect]) -> Self {
        let mut all: Vec<(f32, &Suspect, &Definition)> = suspects.iter().flat_map(Suspect::scored).collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        let least = all.get(MAX_FIRST - 1).map_or(0.0, |(score, ..)| *score * AS_SUSPICIOUS);
        let worst = all.first().map(|(_, suspect, _)| suspect.path().clone());
        let first = all.into_iter().filter(|(score, suspect, definition)| {
            *score >= least || (definition.is_module && worst.as_ref() == Some(suspect.path()))
        });
        let ranges = first.flat_map(|(_, suspect, definition)| {
            let bytes = suspect.outline.own_bytes(definition).into_iter();
            bytes.map(|bytes| (suspect.path().clone(), bytes))
        });
        Self(ranges.collect())
    }

    /// Whether an edit of these bytes is inside one of them.
    pub(super) fn has(&self, path: &RepoPath, bytes: &Range<usize>) -> bool {
        let is_inside = |around: &Range<usize>| around.start <= bytes.start && bytes.end <= around.end;
        self.0.iter().any(|(other, around)| other == path && is_inside(around))
    }
}

/// The most suspicious locations, the worst first.
pub(super) fn places(suspects: &[Suspect]) -> Vec<(RepoPath, u32)> {
    let mut places: Vec<(f32, &RepoPath, u32)> = suspects
        .iter()
        .flat_map(|suspect| {
            suspect
                .lines()
                .map(|(suspicion, line)| (suspicion, suspect.path(), line))
        })
        .collect();
    places.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
    let named = places.into_iter().take(MAX_NAMED);
    named.map(|(_, path, line)| (path.clone(), line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spectrum::Hits;
    use crate::syntax::Source;

    fn suspect(path: &str, code: &str, scores: &[f32]) -> Suspect {
        let path: RepoPath = path.parse().unwrap();
        let source = Source::parse(path.as_str(), code.into()).unwrap();
        Suspect {
            outline: Outline::of(&path, &source),
            definitions: scores.iter().map(|score| Some(*score)).collect(),
            called: vec![false; scores.len()],
            executed: None,
            frames: BTreeMap::new(),
            changed: BTreeSet::new(),
        }
    }

    const CODE: &str = "LIMIT = 1

def f(a):
    b = a
    return b

def g(a):
    return a
";

    #[test]
    fn what_was_executed_weighs_more_than_what_is_mentioned() {
        let mut suspects = vec![
            suspect("a.py", CODE, &[0.5, 0.2, 0.6]),
            suspect("b.py", CODE, &[0.9; 3]),
        ];
        let hits = Hits { failing: 1, passing: 0 };
        let lines = BTreeMap::from([(4, hits)]);
        let spectrum = Spectrum {
            failing: 1,
            files: BTreeMap::from([("a.py".parse().unwrap(), lines)]),
        };
        weigh(&mut suspects, &spectrum);
        assert_eq!(suspects[0].path().as_str(), "a.py");
        let of = |index: usize| (suspects[0].definitions[index].unwrap() * 100.0).round();
        assert_eq!([of(0), of(1), of(2)], [30.0, 68.0, 9.0]);
        let line = |line: u32, at: usize| suspects[0].suspicion(&(at..at + 1), line);
        let at = CODE.find("b = a").unwrap();
        assert!(line(4, at) > line(5, at));
    }

    #[test]
    fn those_about_as_suspicious_as_the_fifth_are_first_suspects_too() {
        let code: String = (0..8)
            .map(|n| {
                format!(
                    "def f{n}():
    return {n}
"
                )
            })
            .collect();
        let suspects = [suspect("a.py", &code, &[0.9, 0.8, 0.7, 0.6, 0.5, 0.46, 0.44, 0.0])];
        let ranking = Ranking::of(&suspects);
        let path = "a.py".parse().unwrap();
        let is_first = |n: usize| {
            let at = code.find(&format!("return {n}")).unwrap();
            ranking.has(&path, &(at..at + 6))
        };
        let seen: Vec<bool> = (0..8).map(is_first).collect();
        assert_eq!(seen, [true, true, true, true, true, true, false, false]);
        assert!(!ranking.has(&"b.py".parse().unwrap(), &(0..1)));
    }

    #[test]
    fn what_the_first_file_does_when_it_is_loaded_is_a_first_suspect() {
        let functions: String = (0..6).map(|n| format!("def f{n}():\n    return {n}\n")).collect();
        let code = functions + "export(f1, 1)\n";
        let scores = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.1];
        let suspects = [suspect("a.py", &code, &scores), suspect("b.py", &code, &[0.2; 7])];
        let ranking = Ranking::of(&suspects);
        let at = code.find("export").unwrap();
        let has = |path: &str| ranking.has(&path.parse().unwrap(), &(at..at + 6));
        assert!(has("a.py"));
        assert!(!has("b.py"));
    }
}
