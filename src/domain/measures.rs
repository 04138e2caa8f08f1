//! Measurements of files before and after a change. `measure` takes them; this module decides what counts as better.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What can be measured of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    Complexity,
    FunctionLength,
    Duplication,
    Lines,
}

impl Measure {
    pub const ALL: [Self; 4] = [Self::Complexity, Self::FunctionLength, Self::Duplication, Self::Lines];
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Complexity => "cyclomatic complexity, highest",
            Self::FunctionLength => "lines of the longest function",
            Self::Duplication => "duplicated lines",
            Self::Lines => "lines of code",
        })
    }
}

/// The measurements of some files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measured {
    /// Cyclomatic complexity of every function, highest first, at most [`Measured::MAX_FUNCTIONS`].
    pub complexity: Vec<u32>,
    /// The function with the highest complexity; untrusted.
    pub most_complex: Option<String>,
    /// Lines of every function, longest first, at most [`Measured::MAX_FUNCTIONS`].
    pub lengths: Vec<u32>,
    /// The longest function; untrusted.
    pub longest: Option<String>,
    pub duplicated_lines: u32,
    /// Lines that contain code.
    pub lines: u32,
}

impl Measured {
    pub const MAX_FUNCTIONS: usize = 500;

    /// The value of one measure.
    pub fn of(&self, measure: Measure) -> u32 {
        match measure {
            Measure::Complexity => self.complexity.first().copied().unwrap_or(0),
            Measure::FunctionLength => self.lengths.first().copied().unwrap_or(0),
            Measure::Duplication => self.duplicated_lines,
            Measure::Lines => self.lines,
        }
    }
}

/// The measurements of the files that a change touches.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measures {
    pub before: Measured,
    pub after: Measured,
}

impl Measures {
    /// Whether a measure is better after the change. Functions are compared from the worst on, and the first pair
    /// that differs decides: it is better if one of two equally long functions became shorter, and more small
    /// functions are not worse.
    pub fn is_better(&self, measure: Measure) -> bool {
        let Self { before, after } = self;
        match measure {
            Measure::Complexity => after.complexity < before.complexity,
            Measure::FunctionLength => after.lengths < before.lengths,
            Measure::Duplication | Measure::Lines => after.of(measure) < before.of(measure),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_functions_that_differ_decide() {
        let measured = |complexity: &[u32]| Measured {
            complexity: complexity.to_vec(),
            ..Measured::default()
        };
        for (before, after, expected) in [
            (&[12, 3][..], &[6, 6, 3][..], true),
            (&[12, 12], &[12, 4, 4, 4], true),
            (&[12, 3], &[12, 3], false),
            (&[12, 3], &[12, 3, 1], false),
            (&[3], &[4], false),
        ] {
            let (before, after) = (measured(before), measured(after));
            assert_eq!(Measures { before, after }.is_better(Measure::Complexity), expected);
        }
    }
}
