//! What a run may still spend: the rest of its limits, and of those for its pull request, for the person it works for
//! and for its repository per day.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::clock::{in_words, millis};
use super::count::count;
use super::spend::Spend;

/// Whose spending is added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    Run,
    /// All runs of a pull request.
    PullRequest,
    /// All runs within 24 hours, in one repository, for one person.
    User,
    /// All runs within 24 hours, in one repository.
    Day,
}

/// The most that may be spent. `None` means that there is no limit of this kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Allowance {
    pub turns: Option<u32>,
    pub tokens: Option<u64>,
    /// Millionths of a US dollar.
    pub cost_micros: Option<u64>,
    pub wall: Option<Duration>,
    /// Removed plus added lines of proposals.
    pub patch_lines: Option<u64>,
}

/// What has been spent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Used {
    pub spend: Spend,
    pub patch_lines: u64,
}

/// What is left of one kind, the limit it is part of, and whose limit that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amount {
    pub left: u64,
    pub of: u64,
    pub scope: Scope,
}

/// What a person is told about the model's cost before they decide whether it continues.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Estimate {
    /// By this run, so far.
    pub spent: Spend,
    /// By other runs here, on average. `None` before the first.
    pub typical: Option<Spend>,
    /// What the limits leave, in words.
    pub at_most: String,
}

/// What is left of each kind. `None` means no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Left {
    pub turns: Option<Amount>,
    pub tokens: Option<Amount>,
    /// Millionths of a US dollar.
    pub cost_micros: Option<Amount>,
    /// Milliseconds.
    pub wall_ms: Option<Amount>,
    pub patch_lines: Option<Amount>,
}

/// What a limit restricts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetKind {
    Turns,
    Tokens,
    Money,
    Wall,
    PatchLines,
}

/// What is left under several limits: the smallest amount of each kind.
pub fn left(limits: &[(Scope, Allowance, Used)]) -> Left {
    let least = |of: fn(&Allowance) -> Option<u64>, used: fn(&Used) -> u64| {
        let amounts = limits.iter().filter_map(|(scope, allowance, so_far)| {
            let of = of(allowance)?;
            let left = of.saturating_sub(used(so_far));
            Some(Amount {
                left,
                of,
                scope: *scope,
            })
        });
        amounts.min_by_key(|amount| amount.left)
    };
    Left {
        turns: least(|may| may.turns.map(u64::from), |used| u64::from(used.spend.turns)),
        tokens: least(|may| may.tokens, |used| used.spend.tokens()),
        cost_micros: least(|may| may.cost_micros, |used| used.spend.cost_micros.unwrap_or(0)),
        wall_ms: least(|may| may.wall.map(millis), |used| used.spend.wall_ms),
        patch_lines: least(|may| may.patch_lines, |used| used.patch_lines),
    }
}

impl Left {
    fn amount(&self, kind: BudgetKind) -> Option<Amount> {
        match kind {
            BudgetKind::Turns => self.turns,
            BudgetKind::Tokens => self.tokens,
            BudgetKind::Money => self.cost_micros,
            BudgetKind::Wall => self.wall_ms,
            BudgetKind::PatchLines => self.patch_lines,
        }
    }

    /// The first kind that is used up; if there is one, starting is pointless.
    pub fn exhausted(&self) -> Option<BudgetKind> {
        let kinds = [
            BudgetKind::Turns,
            BudgetKind::Tokens,
            BudgetKind::Money,
            BudgetKind::Wall,
            BudgetKind::PatchLines,
        ];
        kinds
            .into_iter()
            .find(|kind| self.amount(*kind).is_some_and(|amount| amount.left == 0))
    }

    /// Says which limit was reached, and whose it is.
    pub fn reached(&self, kind: BudgetKind) -> String {
        let Some(amount) = self.amount(kind) else {
            return "A limit was reached".into();
        };
        let of = AmountWithUnit(kind, amount.of);
        match amount.scope {
            Scope::Run if kind == BudgetKind::Wall => format!("The time limit of {of} was reached"),
            Scope::Run => format!("The limit of {of} was reached"),
            Scope::PullRequest => format!("The limit of {of} for this pull request was reached"),
            Scope::User => format!("The limit of {of} a day for one person was reached"),
            Scope::Day => format!("The limit of {of} a day for this repository was reached"),
        }
    }

    /// What is left of the model's budget, for a person who decides whether it continues.
    pub fn at_most(&self) -> String {
        let kinds = [
            BudgetKind::Turns,
            BudgetKind::Tokens,
            BudgetKind::Money,
            BudgetKind::Wall,
        ];
        let shown = kinds
            .into_iter()
            .filter_map(|kind| Some(AmountWithUnit(kind, self.amount(kind)?.left).to_string()));
        shown.collect::<Vec<_>>().join(", ")
    }
}

/// What several runs took on average. `None` if there are none. A run without a known price does not count as free.
pub fn mean(spends: &[Spend]) -> Option<Spend> {
    let count = u32::try_from(spends.len()).ok().filter(|count| *count > 0)?;
    let sum: Spend = spends.iter().copied().sum();
    let each = |whole: u64| whole / u64::from(count);
    let priced = spends.iter().all(|spend| spend.cost_micros.is_some());
    Some(Spend {
        turns: sum.turns.div_ceil(count),
        prompt_tokens: each(sum.prompt_tokens),
        cached_tokens: each(sum.cached_tokens),
        completion_tokens: each(sum.completion_tokens),
        cost_micros: sum.cost_micros.filter(|_| priced).map(each),
        wall_ms: each(sum.wall_ms),
        fetch_ms: each(sum.fetch_ms),
        install_ms: each(sum.install_ms),
    })
}

impl Estimate {
    /// The estimate in one line.
    pub fn line(&self) -> String {
        let so_far = match self.spent.turns {
            0 => "The model has not been asked yet".to_string(),
            _ => format!("The model used {} so far", spent(&self.spent)),
        };
        let typical = self.typical.as_ref().map_or_else(String::new, |typical| {
            format!(" A run here uses {} on average.", spent(typical))
        });
        format!("{so_far}, and may use {} more.{typical}", self.at_most)
    }
}

/// An amount with its unit.
struct AmountWithUnit(BudgetKind, u64);

impl fmt::Display for AmountWithUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(kind, amount) = self;
        match kind {
            BudgetKind::Turns => f.write_str(&count(*amount, "turn")),
            BudgetKind::Tokens => f.write_str(&count(*amount, "token")),
            BudgetKind::Money => f.write_str(&dollars(*amount)),
            BudgetKind::Wall => f.write_str(&in_words(Duration::from_secs(amount.div_ceil(1000)))),
            BudgetKind::PatchLines => f.write_str(&count(*amount, "changed line")),
        }
    }
}

/// Millionths of a US dollar as dollars, with two to four digits after the point.
pub fn dollars(micros: u64) -> String {
    let (whole, rest) = (micros / 1_000_000, micros % 1_000_000);
    let digits = format!("{:04}", rest / 100);
    let kept = digits.trim_end_matches('0').len().max(2);
    format!("${whole}.{}", &digits[..kept])
}

/// What was spent, in one line.
pub fn spent(spend: &Spend) -> String {
    let cost = spend.cost_micros.map_or_else(|| "unknown cost".into(), dollars);
    let (turns, tokens) = (u64::from(spend.turns), spend.tokens());
    format!("{}, {}, {cost}", count(turns, "turn"), count(tokens, "token"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(turns: u32, tokens: u64, cost_micros: Option<u64>) -> Used {
        Used {
            spend: Spend {
                turns,
                prompt_tokens: tokens,
                cost_micros,
                ..Spend::default()
            },
            patch_lines: 0,
        }
    }

    #[test]
    fn the_least_of_each_kind_counts_and_says_whose_it_is() {
        let run = Allowance {
            turns: Some(30),
            tokens: Some(400_000),
            cost_micros: Some(2_000_000),
            wall: Some(Duration::from_secs(1800)),
            patch_lines: Some(200),
        };
        let day = Allowance {
            tokens: Some(500_000),
            cost_micros: Some(5_000_000),
            ..Allowance::default()
        };
        let left = left(&[
            (Scope::Run, run, used(10, 50_000, Some(100_000))),
            (Scope::Day, day, used(90, 499_999, None)),
        ]);
        assert_eq!(left.exhausted(), None);
        assert_eq!(left.at_most(), "20 turns, 1 token, $1.90, 30 min");
        let told = [
            BudgetKind::Turns,
            BudgetKind::Tokens,
            BudgetKind::Money,
            BudgetKind::Wall,
        ]
        .map(|kind| left.reached(kind));
        assert_eq!(
            told,
            [
                "The limit of 30 turns was reached",
                "The limit of 500000 tokens a day for this repository was reached",
                "The limit of $2.00 was reached",
                "The time limit of 30 min was reached",
            ]
        );
    }

    #[test]
    fn nothing_left_is_found_before_anything_begins() {
        let may = Allowance {
            cost_micros: Some(1_000_000),
            ..Allowance::default()
        };
        let of = |micros| left(&[(Scope::PullRequest, may, used(1, 1, Some(micros)))]);
        assert_eq!(of(999_999).exhausted(), None);
        assert_eq!(of(1_000_000).exhausted(), Some(BudgetKind::Money));
        assert_eq!(of(3_000_000).exhausted(), Some(BudgetKind::Money));
        assert_eq!(left(&[]).exhausted(), None);
    }

    #[test]
    fn an_estimate_says_what_was_what_is_usual_and_what_may_be() {
        let spends = [used(3, 900, Some(30_000)).spend, used(4, 1200, Some(10_000)).spend];
        let estimate = Estimate {
            spent: spends[0],
            typical: mean(&spends),
            at_most: "27 turns".into(),
        };
        assert_eq!(
            estimate.line(),
            "The model used 3 turns, 900 tokens, $0.03 so far, and may use 27 turns more. \
             A run here uses 4 turns, 1050 tokens, $0.02 on average."
        );
        assert_eq!(mean(&[]), None);
        assert_eq!(mean(&[spends[0], used(1, 1, None).spend]).unwrap().cost_micros, None);
    }

    #[test]
    fn money_is_written_as_people_write_it() {
        for (micros, shown) in [
            (0, "$0.00"),
            (1_000_000, "$1.00"),
            (2_500_000, "$2.50"),
            (12_345, "$0.0123"),
            (40_000, "$0.04"),
            (99, "$0.00"),
        ] {
            assert_eq!(dollars(micros), shown);
        }
        let spend = used(1, 1200, None).spend;
        assert_eq!(spent(&spend), "1 turn, 1200 tokens, unknown cost");
    }
}
