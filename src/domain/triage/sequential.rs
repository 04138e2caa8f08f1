//! The statistics of triage: when the evidence about a failing test is sufficient for a verdict.
//!
//! Two hypotheses are compared with each other after every run, as in A. Wald, "Sequential Tests of Statistical
//! Hypotheses", The Annals of Mathematical Statistics 16(2), 1945, <https://doi.org/10.1214/aoms/1177731118>:
//!
//! - *deterministic*: red in every run at the head, green in every run at the merge base;
//! - *flaky*: red at the same rate p on both trees, for the p that explains the observations best. Choosing the best
//!   p makes this a generalised likelihood ratio test: T. L. Lai, "Nearly Optimal Sequential Tests of Composite
//!   Hypotheses", The Annals of Statistics 16(2), 1988, <https://doi.org/10.1214/aos/1176350840>.
//!
//! Under *deterministic*, the observations have probability 1, so one contradicting run ends the trial, and the ratio
//! is the likelihood under *flaky* alone. The first run does not count: had it been green, there would be no trial.
//! After n red runs at the head and m green ones at the base, the likelihood is at most the maximum over p of p^(n-1)
//! · (1-p)^m. Once that is below 1 - confidence, no more runs are made. Without a base to compare with, p^(n-1)
//! remains, and `runs` runs are made.
//!
//! A deterministic failure is never called flaky, because it has no green run. How often a flaky test is called
//! deterministic with the defaults is a table of exact numbers; see [`error_rates`] and `cargo bench --bench triage`.

use super::{Rate, Verdict};

/// How much evidence a verdict needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StoppingRules {
    /// The most runs of a test on each tree, including the first run of the whole suite; at least 2.
    pub runs: u32,
    /// How certain a verdict must be to stop early, from 0 to 1.
    pub confidence: f64,
}

impl Default for StoppingRules {
    fn default() -> Self {
        Self {
            runs: 5,
            confidence: 0.95,
        }
    }
}

/// Where a test is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tree {
    Head,
    Base,
}

/// How a test's failures compare.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Manner {
    /// They are alike, as far as is known.
    #[default]
    Alike,
    /// They are those of a compiler, which repeats its errors, so one confirmation is enough.
    Certain,
    /// They vary, so no early verdict is possible.
    Varying,
}

/// What is known about one test.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each was observed separately")]
pub struct Observations {
    pub head: Rate,
    pub base: Rate,
    /// Whether the base does not have the test, or there is no base.
    pub has_no_base: bool,
    pub manner: Manner,
    /// Whether its output says that the machine lacks something.
    pub blames_machine: bool,
    /// Whether what it lacks is a package that the head lists and the base does not.
    pub lacks_more_than_base: bool,
}

impl Observations {
    /// Adds a run.
    pub(super) fn add(&mut self, tree: Tree, is_red: bool) {
        match tree {
            Tree::Head => self.head.add(is_red),
            Tree::Base => self.base.add(is_red),
        }
    }

    /// The tree to run it on next. `None` if its verdict is clear, or no more runs are allowed.
    pub fn wants(&self, rules: &StoppingRules) -> Option<Tree> {
        let (head, base) = (self.head, self.base);
        let can_compare = !self.has_no_base;
        if head.green() > 0 {
            // One run on the base is worth finding out whether it already failed there.
            return (can_compare && base.runs == 0).then_some(Tree::Base);
        }
        if head.runs < 2 {
            return Some(Tree::Head);
        }
        if can_compare && base.runs == 0 {
            return Some(Tree::Base);
        }
        let is_green_on_base = can_compare && base.red == 0 && !self.lacks_more_than_base;
        if self.manner == Manner::Certain
            || (self.blames_machine && !is_green_on_base)
            || (base.red > 0 && base.green() > 0)
        {
            return None;
        }
        let may_head = head.runs < rules.runs;
        if !can_compare {
            return may_head.then_some(Tree::Head);
        }
        if self.manner == Manner::Varying && is_green_on_base && may_head {
            return Some(Tree::Head);
        }
        if self.doubt() <= 1.0 - rules.confidence {
            return None;
        }
        let may_base = base.runs < rules.runs;
        let is_turn_of_base = base.runs + 1 < head.runs;
        match (may_head, may_base) {
            (true, false) => Some(Tree::Head),
            (true, true) if !is_turn_of_base => Some(Tree::Head),
            (_, true) => Some(Tree::Base),
            (false, false) => None,
        }
    }

    /// The highest likelihood of the observations under any flaky rate. For a test that failed on both trees, the
    /// likelihood at a rate of one half.
    fn doubt(&self) -> f64 {
        let again = self.head.runs.saturating_sub(1);
        let base = self.base.runs;
        match self.base.red {
            0 => likelihood(again, base),
            _ => 0.5_f64.powf(f64::from(again) + f64::from(base)),
        }
    }

    /// The verdict, as far as is known now.
    pub fn verdict(&self) -> Verdict {
        let (head, base) = (self.head, self.base);
        match () {
            () if head.red == 0 => Verdict::Green,
            () if head.green() > 0 => Verdict::Flaky,
            () if base.runs > 0 && base.red == 0 && !self.lacks_more_than_base => Verdict::Deterministic,
            () if self.blames_machine => Verdict::Environment,
            () if base.red > 0 && base.green() > 0 => Verdict::Flaky,
            () if base.red > 0 => Verdict::BrokenOnBase,
            () => Verdict::Deterministic,
        }
    }
}

/// The highest likelihood of that many red and green runs under any rate.
fn likelihood(red: u32, green: u32) -> f64 {
    let (red, green) = (f64::from(red), f64::from(green));
    let all = red + green;
    if all == 0.0 {
        return 1.0;
    }
    (red / all).powf(red) * (green / all).powf(green)
}

/// How many runs of a test with a fix have to pass, besides the one that found the fix, until a flaky test explains
/// its runs at the head, on the base and with the fix no better than `confidence` allows. At least one, and at most as
/// many as there were runs at the head after the first.
pub fn passes_wanted(head: Rate, base: Rate, confidence: f64) -> u32 {
    let again = head.runs.saturating_sub(1);
    let is_clear = |passes: &u32| likelihood(again + base.red, base.green() + passes) <= 1.0 - confidence;
    (1..again).find(is_clear).unwrap_or(again)
}

/// How often each verdict is reached, and after how many runs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ErrorRates {
    pub deterministic: f64,
    pub flaky: f64,
    pub broken_on_base: f64,
    /// The mean number of runs on both trees together, including the first one.
    pub mean_runs: f64,
}

/// The exact probabilities of the verdicts for a test that failed once and fails at these rates at the head and, if
/// it exists there, on the base. Computed by enumerating every course of its trial.
pub fn error_rates(rules: &StoppingRules, at_head: f64, at_base: Option<f64>) -> ErrorRates {
    let seen = Observations {
        head: Rate { red: 1, runs: 1 },
        has_no_base: at_base.is_none(),
        ..Observations::default()
    };
    let mut rates = ErrorRates::default();
    walk(rules, (at_head, at_base.unwrap_or_default()), seen, (1.0, &mut rates));
    rates
}

fn walk(rules: &StoppingRules, rate: (f64, f64), seen: Observations, (likelihood, rates): (f64, &mut ErrorRates)) {
    let Some(tree) = seen.wants(rules) else {
        rates.mean_runs += likelihood * f64::from(seen.head.runs + seen.base.runs);
        match seen.verdict() {
            Verdict::Deterministic => rates.deterministic += likelihood,
            Verdict::BrokenOnBase => rates.broken_on_base += likelihood,
            _ => rates.flaky += likelihood,
        }
        return;
    };
    let red = match tree {
        Tree::Head => rate.0,
        Tree::Base => rate.1,
    };
    for (is_red, chance) in [(true, red), (false, 1.0 - red)] {
        if chance > 0.0 {
            let mut next = seen;
            match tree {
                Tree::Head => next.head.add(is_red),
                Tree::Base => next.base.add(is_red),
            }
            walk(rules, rate, next, (likelihood * chance, rates));
        }
    }
}
