//! Sums of integers and of terms that represent them: the two sides of a comparison.

use std::collections::BTreeMap;
use std::fmt;

/// A number plus multiples of other terms, each identified by its form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Sum {
    terms: BTreeMap<String, i128>,
    number: i128,
}

impl Sum {
    pub(super) fn number(number: i128) -> Self {
        Self {
            number,
            ..Self::default()
        }
    }

    pub(super) fn of(thing: String) -> Self {
        Self {
            terms: BTreeMap::from([(thing, 1)]),
            number: 0,
        }
    }

    /// The number, if the sum consists only of one.
    pub(super) fn as_number(&self) -> Option<i128> {
        self.terms.is_empty().then_some(self.number)
    }

    /// This sum plus a multiple of another. `None` on overflow.
    pub(super) fn plus(mut self, other: &Self, times: i128) -> Option<Self> {
        self.number = self.number.checked_add(other.number.checked_mul(times)?)?;
        for (thing, count) in &other.terms {
            let sum = self.terms.entry(thing.clone()).or_default();
            *sum = sum.checked_add(count.checked_mul(times)?)?;
        }
        self.terms.retain(|_, count| *count != 0);
        Some(self)
    }

    /// The sum or its negation, so that two opposite sums become equal: either both are zero, or neither is.
    pub(super) fn without_sign(self) -> Option<Self> {
        let first = self.terms.values().next().copied().unwrap_or(self.number);
        if first < 0 {
            return Self::default().plus(&self, -1);
        }
        Some(self)
    }
}

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut terms = self.terms.iter();
        match (terms.next(), terms.next()) {
            (None, _) => return write!(f, "{}", self.number),
            (Some((thing, 1)), None) if self.number == 0 => return f.write_str(thing),
            _ => {}
        }
        write!(f, "(sum {}", self.number)?;
        for (thing, count) in &self.terms {
            write!(f, " {count}*{thing}")?;
        }
        f.write_str(")")
    }
}
