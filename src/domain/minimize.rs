//! Makes a patch smaller: splits it into pieces, and says which pieces to leave out next (delta debugging,
//! <https://www.st.cs.uni-saarland.de/papers/tse2002/>). The caller runs the tests and decides when to stop.

mod noise;
mod pieces;

use std::collections::HashSet;

pub use self::noise::noise;
pub use self::pieces::{Functions, Leftovers, PatchPiece, SilentLines, hunks, judged, lines, only, units, with_silent};

/// Finds which of several parts are needed by leaving out ever smaller groups of them. It never asks about the same
/// set twice, nor about the empty set.
#[derive(Debug, Clone)]
pub struct Minimization {
    kept: Vec<usize>,
    /// The number of groups that the kept parts are divided into.
    groups: usize,
    /// The group that is left out next.
    at: usize,
    refuted: HashSet<Vec<usize>>,
}

impl Minimization {
    /// Starts with this many parts, which are known to work together.
    pub fn new(parts: usize) -> Self {
        Self {
            kept: (0..parts).collect(),
            groups: 2,
            at: 0,
            refuted: HashSet::new(),
        }
    }

    /// The smallest set known to work.
    pub fn kept(&self) -> &[usize] {
        &self.kept
    }

    /// The set to try next. `None` if no single part can be left out.
    pub fn ask(&mut self) -> Option<Vec<usize>> {
        while self.kept.len() > 1 {
            let groups = self.groups.min(self.kept.len());
            if self.at >= groups {
                if groups >= self.kept.len() {
                    return None;
                }
                (self.groups, self.at) = ((groups * 2).min(self.kept.len()), 0);
                continue;
            }
            let (start, end) = (
                self.kept.len() * self.at / groups,
                self.kept.len() * (self.at + 1) / groups,
            );
            let candidate = [&self.kept[..start], &self.kept[end..]].concat();
            if !self.refuted.contains(&candidate) {
                return Some(candidate);
            }
            self.at += 1;
        }
        None
    }

    /// Records whether the set that [`Minimization::ask`] named works.
    pub fn learn(&mut self, candidate: Vec<usize>, does: bool) {
        if does {
            self.groups = self.groups.saturating_sub(1).max(2);
            (self.kept, self.at) = (candidate, 0);
        } else {
            self.refuted.insert(candidate);
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Searches to the end; also returns how often it asked.
    fn search(parts: usize, does: impl Fn(&[usize]) -> bool) -> (Vec<usize>, usize) {
        let (mut search, mut asked) = (Minimization::new(parts), 0);
        while let Some(candidate) = search.ask() {
            asked += 1;
            let does = does(&candidate);
            search.learn(candidate, does);
        }
        (search.kept().to_vec(), asked)
    }

    #[test]
    fn two_needles_in_a_large_stack_are_found_quickly() {
        let (kept, asked) = search(64, |kept| kept.contains(&7) && kept.contains(&50));
        assert_eq!(kept, [7, 50]);
        assert!(asked <= 64, "{asked}");
        assert_eq!(search(1, |_| true), (vec![0], 0));
        assert_eq!(search(0, |_| true), (vec![], 0));
    }

    proptest! {
        #[test]
        fn what_is_kept_does_and_no_single_part_can_go(
            parts in 1_usize..24,
            needed in proptest::collection::vec(proptest::collection::vec(0_usize..24, 1..4), 1..4),
        ) {
            // Any one of several groups of parts, each complete. This is not monotone, because a search may be half
            // way when it meets it.
            let does = |kept: &[usize]| needed.iter().any(|group| group.iter().all(|part| kept.contains(&(part % parts))));
            let (kept, asked) = search(parts, does);
            prop_assert!(does(&kept));
            for leave_out in 0..kept.len() {
                let fewer: Vec<_> = kept.iter().enumerate().filter(|(at, _)| *at != leave_out).map(|(_, part)| *part).collect();
                prop_assert!(fewer.is_empty() || !does(&fewer));
            }
            prop_assert!(asked <= parts * parts + 3 * parts);
        }
    }
}
