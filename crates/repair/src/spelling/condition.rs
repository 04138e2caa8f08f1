//! The normal form of conditions: comparisons, negations, and the operators that join them.

use tree_sitter::Node;

use super::reader::{MAX_DEPTH, SpellingReader};
use super::sum::Sum;
use super::words::{bare, comparison, is_truth_value, joined, logic, opposite, short};

impl SpellingReader<'_> {
    /// The form of a condition. In `(is_negated, is_truth)`, the latter says that only its truth matters, so that its
    /// parts may be sorted.
    pub(super) fn condition(
        &self,
        node: Node<'_>,
        (is_negated, is_truth): (bool, bool),
        depth: usize,
    ) -> Option<String> {
        if depth > MAX_DEPTH {
            return None;
        }
        let node = bare(node);
        if let Some(inner) = self.negated(node) {
            return self.condition(inner, (!is_negated, true), depth + 1);
        }
        if let Some(operation) = self.operation(node) {
            if let Some(is_and) = logic(&operation) {
                let mut parts = Vec::new();
                self.parts(node, (is_and, is_negated, is_truth), depth, &mut parts)?;
                if is_truth || parts.iter().all(|part| is_truth_value(part)) {
                    parts.sort_unstable();
                    parts.dedup();
                }
                return Some(joined(is_and != is_negated, parts));
            }
            if let Some(pairs) = comparison(&operation) {
                let pairs = pairs.iter().map(|(left, operator, right)| {
                    let operator = if is_negated { opposite(operator)? } else { operator };
                    self.compared(*left, operator, *right, depth)
                });
                let mut pairs: Vec<String> = pairs.collect::<Option<_>>()?;
                pairs.sort_unstable();
                return Some(joined(!is_negated, pairs));
            }
        }
        let [truth, falsehood] = self.source.language.truths;
        match (self.text(node), is_negated) {
            (text, true) if text == truth => return Some(falsehood.into()),
            (text, true) if text == falsehood => return Some(truth.into()),
            _ => {}
        }
        let form = match self.sum(node, depth) {
            Some(sum) => sum.to_string(),
            None => short(self.plain(node, depth)?),
        };
        Some(if is_negated { format!("(not {form})") } else { form })
    }

    /// All operands joined by the same operator, at any depth; operands of another operator stay together as one
    /// part.
    fn parts(
        &self,
        node: Node<'_>,
        (is_and, is_negated, is_truth): (bool, bool, bool),
        depth: usize,
        parts: &mut Vec<String>,
    ) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        let node = bare(node);
        match self.operation(node) {
            Some(operation) if logic(&operation) == Some(is_and) => {
                for operand in operation.operands {
                    self.parts(operand, (is_and, is_negated, is_truth), depth + 1, parts)?;
                }
            }
            // A chained comparison means that several comparisons all hold.
            Some(operation) if is_and && !is_negated && comparison(&operation).is_some() => {
                for (left, operator, right) in comparison(&operation)? {
                    parts.push(self.compared(left, operator, right, depth)?);
                }
            }
            _ => parts.push(self.condition(node, (is_negated, is_truth), depth + 1)?),
        }
        Some(())
    }

    /// One comparison. Between integers it becomes a sum that is at most zero, or is zero.
    fn compared(&self, left: Node<'_>, operator: &str, right: Node<'_>, depth: usize) -> Option<String> {
        let (one, other) = (self.term(left, depth + 1)?, self.term(right, depth + 1)?);
        let is_whole = self.is_whole(left) && self.is_whole(right);
        // Normalise "greater" to "less".
        let (operator, one, other) = match operator {
            ">" => ("<", other, one),
            ">=" => ("<=", other, one),
            _ => (operator, one, other),
        };
        Some(match operator {
            "<" | "<=" if is_whole => {
                let more = Sum::number(i128::from(operator == "<"));
                format!("(<=0 {})", one.plus(&other, -1)?.plus(&more, 1)?)
            }
            "==" | "!=" | "===" | "!==" if is_whole => {
                format!("({operator}0 {})", one.plus(&other, -1)?.without_sign()?)
            }
            "==" | "!=" | "===" | "!==" => {
                let mut sides = [one.to_string(), other.to_string()];
                sides.sort_unstable();
                format!("({operator} {})", sides.join(" "))
            }
            _ => format!("({operator} {one} {other})"),
        })
    }

    /// Whether nothing indicates that this is not an integer, such as a fraction or a string.
    pub(super) fn is_whole(&self, node: Node<'_>) -> bool {
        let language = self.source.language;
        let node = bare(node);
        let is_fraction = language.floats.contains(&node.kind()) && self.integer(node).is_none();
        if is_fraction || language.strings.contains(&node.kind()) {
            return false;
        }
        let operation = self.operation(node);
        operation.is_none_or(|operation| operation.operands.iter().all(|operand| self.is_whole(*operand)))
    }
}
