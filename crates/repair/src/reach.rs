//! Follows names from tests to the code they exercise, and distinguishes what the failing tests reach from what the
//! passing ones reach. An approximation of coverage that executes nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use greenlight_anchor::RepoPath;
use tokio_util::sync::CancellationToken;

use super::evidence::{Evidence, TestName};
use super::outline::{Definition, Outline};

/// Maximum number of calls followed from a test.
const MAX_HOPS: usize = 5;
/// Maximum number of failing and of passing tests from which names are followed.
const MAX_TESTS: usize = 200;
/// The factor by which suspicion decreases with each further call.
const DECAY: f32 = 0.8;
/// How likely a method is called if only its class is mentioned: a constructor, and any other method.
const CONSTRUCTION: f32 = 0.7;
const OTHER_METHOD: f32 = 0.15;
/// The factor for methods of types that are unrelated to the test.
const STRANGER: f32 = 0.2;

/// How well each definition, numbered across all files, separates failing from passing tests.
///
/// This is Ochiai's coefficient (Abreu et al., 2006) over what tests mention instead of what they execute.
pub(super) struct Reach(Vec<f32>);

impl Reach {
    /// `None` when cancelled.
    pub(super) fn new(outlines: &[Outline], evidence: &Evidence, cancel: &CancellationToken) -> Option<Self> {
        let graph = Graph::new(outlines);
        let (failing, failing_tests) = graph.sums(&evidence.failing, cancel)?;
        let (passing, _) = graph.sums(&evidence.passing, cancel)?;
        let coefficient = |(failed, passed): (&f32, &f32)| {
            if *failed > 0.0 {
                failed / (failing_tests * (failed + passed)).sqrt()
            } else {
                0.0
            }
        };
        Some(Self(failing.iter().zip(&passing).map(coefficient).collect()))
    }

    pub(super) fn by_file(&self, outlines: &[Outline]) -> Vec<Vec<f32>> {
        let mut rest = self.0.iter().copied();
        let take = |outline: &Outline| rest.by_ref().take(outline.definitions.len()).collect();
        outlines.iter().map(take).collect()
    }
}

/// Definitions and what they mention, by name.
struct Graph<'a> {
    definitions: Vec<(&'a RepoPath, &'a Definition)>,
    by_name: HashMap<&'a str, Vec<usize>>,
    by_owner: HashMap<&'a str, Vec<usize>>,
    bases: HashMap<&'a str, Vec<&'a str>>,
}

impl<'a> Graph<'a> {
    fn new(outlines: &'a [Outline]) -> Self {
        let definitions: Vec<(&RepoPath, &Definition)> = outlines
            .iter()
            .flat_map(|outline| outline.definitions.iter().map(|definition| (&outline.path, definition)))
            .collect();
        let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut by_owner: HashMap<&str, Vec<usize>> = HashMap::new();
        for (index, (_, definition)) in definitions.iter().enumerate() {
            by_name.entry(&definition.name).or_default().push(index);
            if let Some(owner) = &definition.owner {
                by_owner.entry(owner).or_default().push(index);
            }
        }
        let mut bases: HashMap<&str, Vec<&str>> = HashMap::new();
        for (class, base) in outlines.iter().flat_map(|outline| &outline.bases) {
            bases.entry(class).or_default().push(base);
        }
        Self {
            definitions,
            by_name,
            by_owner,
            bases,
        }
    }

    /// For each definition the sum of its weights over all tests, and the number of tests. `None` when cancelled.
    fn sums(&self, tests: &[TestName], cancel: &CancellationToken) -> Option<(Vec<f32>, f32)> {
        let mut sums = vec![0.0_f32; self.definitions.len()];
        let mut count = 0.0;
        let distinct: BTreeSet<&TestName> = tests.iter().take(MAX_TESTS).collect();
        for test in distinct {
            if cancel.is_cancelled() {
                return None;
            }
            count += 1.0;
            for (definition, weight) in self.reached_from(test) {
                sums[definition] += weight;
            }
        }
        Some((sums, count))
    }

    /// Every definition that can be reached from a test, with its remaining weight.
    fn reached_from(&self, test: &TestName) -> BTreeMap<usize, f32> {
        let bodies = self.bodies(test);
        let live = self.live(&bodies);
        let mut weights: BTreeMap<usize, f32> = bodies.iter().map(|index| (*index, 1.0)).collect();
        let mut front = bodies;
        for _ in 0..MAX_HOPS {
            let mut next = BTreeSet::new();
            for from in front {
                let weight = weights.get(&from).copied().unwrap_or(0.0);
                let decay = if self.definitions[from].1.is_test_code {
                    1.0
                } else {
                    DECAY
                };
                for (to, share) in self.mentioned_by(from, &live) {
                    let weight = weight * decay * share;
                    let known = weights.entry(to).or_insert(0.0);
                    if weight > *known + 0.01 {
                        *known = weight;
                        next.insert(to);
                    }
                }
            }
            front = next.into_iter().collect();
        }
        weights
    }

    /// The test's function, and the setup of its class.
    fn bodies(&self, test: &TestName) -> Vec<usize> {
        let by_title = self.titled(test);
        if !by_title.is_empty() {
            return by_title;
        }
        let named = self.by_name.get(test.function.as_str()).into_iter().flatten().copied();
        let is_it = |index: &usize| {
            let (path, definition) = self.definitions[*index];
            definition.is_test_code && test.file.as_ref().is_none_or(|file| file == path)
        };
        let mut bodies: Vec<usize> = named.filter(is_it).collect();
        for index in bodies.clone() {
            let (path, body) = self.definitions[index];
            let class = body.owner.as_deref().and_then(|owner| self.by_owner.get(owner));
            bodies.extend(class.into_iter().flatten().copied().filter(|index| {
                let (other, definition) = self.definitions[*index];
                other == path && (definition.name.starts_with("setUp") || definition.name.starts_with("setup"))
            }));
        }
        if bodies.is_empty() {
            // As a last resort, use the whole file.
            let (Some(file), all) = (&test.file, self.definitions.iter().enumerate()) else {
                return bodies;
            };
            let in_file = all.filter(|(_, (path, definition))| *path == file && definition.is_test_code);
            bodies.extend(in_file.map(|(index, _)| index));
        }
        bodies
    }

    /// Tests whose title is the end of the name; only those with the longest titles.
    fn titled(&self, test: &TestName) -> Vec<usize> {
        let is_it = |definition: &Definition| {
            let before = test.full.strip_suffix(definition.name.as_str());
            definition.is_test_code
                && definition.name.contains(' ')
                && before.is_some_and(|before| before.is_empty() || before.ends_with([' ', '>', ':', '/']))
        };
        let all = self.definitions.iter().enumerate();
        let mut titled: Vec<usize> = all
            .filter(|(_, (path, definition))| test.file.as_ref().is_none_or(|file| file == *path) && is_it(definition))
            .map(|(index, _)| index)
            .collect();
        let length = |index: &usize| self.definitions[*index].1.name.len();
        let longest = titled.iter().map(length).max();
        titled.retain(|index| Some(length(index)) == longest);
        titled
    }

    /// Types that are related to the test: those that its code names, those that its callees name, and their base
    /// classes.
    fn live(&self, bodies: &[usize]) -> BTreeSet<&'a str> {
        let mut reached: BTreeSet<usize> = bodies.iter().copied().collect();
        let mut front: Vec<usize> = bodies.to_vec();
        let mut live = BTreeSet::new();
        for _ in 0..MAX_HOPS {
            let mut next = Vec::new();
            for (from, definition) in front.iter().map(|index| (*index, self.definitions[*index].1)) {
                live.extend(definition.mentions.iter().map(String::as_str));
                for name in definition.mentions.iter().filter(|_| definition.is_test_code) {
                    let all = self.by_name.get(name.as_str()).into_iter().flatten().copied();
                    let near = self.near(from, all.collect());
                    next.extend(near.into_iter().filter(|index| reached.insert(*index)));
                }
            }
            front = next;
        }
        live.retain(|name| self.by_owner.contains_key(name) || self.bases.contains_key(name));
        for _ in 0..MAX_HOPS {
            let above: Vec<&str> = live
                .iter()
                .filter_map(|name| self.bases.get(name))
                .flatten()
                .copied()
                .collect();
            live.extend(above);
        }
        live
    }

    /// Test helpers are searched for in the test's own file first.
    fn near(&self, from: usize, all: Vec<usize>) -> Vec<usize> {
        let is_near = |index: &usize| *index != from && self.definitions[*index].0 == self.definitions[from].0;
        if all.iter().any(is_near) {
            all.into_iter().filter(is_near).collect()
        } else {
            all
        }
    }

    /// The definitions that a definition mentions. A name with many definitions says less about each of them.
    fn mentioned_by(&self, from: usize, live: &BTreeSet<&str>) -> Vec<(usize, f32)> {
        let definition = self.definitions[from].1;
        let fits = |index: &usize| {
            let owner = self.definitions[*index].1.owner.as_deref();
            owner.is_none_or(|owner| live.contains(owner) || definition.owner.as_deref() == Some(owner))
        };
        let mut mentioned = Vec::new();
        for name in &definition.mentions {
            let mut chosen = self.by_name.get(name.as_str()).cloned().unwrap_or_default();
            if definition.is_test_code {
                chosen = self.near(from, chosen);
            }
            let (fitting, strangers): (Vec<usize>, Vec<usize>) = chosen.into_iter().partition(fits);
            mentioned.extend(fitting.iter().map(|index| (*index, share(fitting.len()))));
            mentioned.extend(
                strangers
                    .iter()
                    .map(|index| (*index, STRANGER * share(strangers.len()))),
            );
            for index in self.by_owner.get(name.as_str()).into_iter().flatten() {
                let called = self.definitions[*index].1.name.as_str();
                // Java's constructors have the name of their class.
                let is_construction = matches!(called, "__init__" | "new" | "constructor") || called == name;
                let share = if is_construction { CONSTRUCTION } else { OTHER_METHOD };
                mentioned.push((*index, share));
            }
        }
        for name in &definition.implied {
            let all = self.by_name.get(name).into_iter().flatten().copied();
            let fitting: Vec<usize> = all.filter(fits).collect();
            mentioned.extend(fitting.iter().map(|index| (*index, share(fitting.len()))));
        }
        mentioned.retain(|(index, _)| *index != from);
        mentioned
    }
}

fn share(of: usize) -> f32 {
    1.0 / f32::from(u16::try_from(of.max(1)).unwrap_or(u16::MAX)).sqrt()
}
