//! Converts a file into a normal form that is equal for different spellings of the same code.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use tree_sitter::Node;

use super::sum::Sum;
use super::words::{Operation, bare, comparison, integer, logic, short};
use crate::syntax::{Below, Source};

/// Maximum nesting depth that is read.
pub(super) const MAX_DEPTH: usize = 200;
/// Node kinds of all grammars for operators between operands.
const BINARY: [&str; 4] = [
    "binary_expression",
    "binary_operator",
    "boolean_operator",
    "comparison_operator",
];
/// Node kinds for operators before an operand.
const UNARY: [&str; 3] = ["unary_expression", "unary_operator", "not_operator"];
/// Node kinds for compound assignments, with the kind of the equivalent plain assignment.
const CHANGES: [(&str, &str); 5] = [
    ("augmented_assignment", "assignment"),
    ("augmented_assignment_expression", "assignment_expression"),
    ("compound_assignment_expr", "assignment_expression"),
    ("assignment_expression", "assignment_expression"),
    ("assignment_statement", "assignment_statement"),
];
/// A file, and the integer constants in it.
pub(super) struct SpellingReader<'s> {
    pub(super) source: &'s Source,
    numbers: BTreeMap<&'s str, i128>,
    hidden: BTreeSet<String>,
    /// Cached results by node: each node is read in several ways, and its parts as well.
    sums: RefCell<HashMap<usize, Option<Sum>>>,
    forms: RefCell<HashMap<usize, Option<String>>>,
}

impl<'s> SpellingReader<'s> {
    pub(super) fn new(source: &'s Source) -> Self {
        let mut reader = Self {
            source,
            numbers: BTreeMap::new(),
            hidden: BTreeSet::new(),
            sums: RefCell::default(),
            forms: RefCell::default(),
        };
        reader.numbers = reader.named();
        // The cached forms were computed without names.
        reader.sums.borrow_mut().clear();
        reader.forms.borrow_mut().clear();
        reader
    }

    pub(super) fn numbers(&self) -> impl Iterator<Item = (&'s str, i128)> {
        self.numbers.iter().map(|(name, value)| (*name, *value))
    }

    pub(super) fn number(&self, name: &str) -> Option<i128> {
        self.numbers.get(name).copied()
    }

    /// The normal form of the file, except for the values of these names in their definitions. `None` if it is nested
    /// too deeply.
    pub(super) fn normal_form(mut self, hidden: &BTreeSet<String>) -> Option<String> {
        self.hidden.clone_from(hidden);
        self.form(self.source.root(), 0)
    }

    /// Constants outside of functions whose values are integers and that are defined only once.
    fn named(&self) -> BTreeMap<&'s str, i128> {
        let language = self.source.language;
        let mut found: BTreeMap<&'s str, Option<i128>> = BTreeMap::new();
        self.source.walk(|path| {
            let Some(step) = path.last() else {
                return Below::Skip;
            };
            if language.functions.contains(&step.node.kind()) {
                return Below::Skip;
            }
            if let Some((name, value)) = self.definition(step.node) {
                let value = self.sum(value, 0).and_then(|sum| sum.as_number());
                found.entry(name).and_modify(|known| *known = None).or_insert(value);
            }
            Below::Enter
        });
        found
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect()
    }

    /// The name and value of a constant that a node defines.
    fn definition<'t>(&self, node: Node<'t>) -> Option<(&'s str, Node<'t>)> {
        if !self.source.language.constants.contains(&node.kind()) {
            return None;
        }
        let field = |names: [&str; 2]| names.iter().find_map(|name| node.child_by_field_name(name));
        let (name, value) = (field(["name", "left"])?, bare(field(["value", "right"])?));
        let name = self.text(name);
        let shouts = name.chars().any(char::is_uppercase) && !name.chars().any(char::is_lowercase);
        let is_constant = matches!(node.kind(), "const_item" | "const_spec")
            || node
                .parent()
                .is_some_and(|parent| self.text(parent).starts_with("const "));
        (shouts || is_constant).then_some((name, value))
    }

    pub(super) fn text(&self, node: Node<'_>) -> &'s str {
        self.source.text.get(node.byte_range()).unwrap_or_default()
    }

    /// The form of any node.
    pub(super) fn form(&self, node: Node<'_>, depth: usize) -> Option<String> {
        let node = bare(node);
        if depth > MAX_DEPTH {
            return None;
        }
        if let Some(known) = self.forms.borrow().get(&node.id()) {
            return known.clone();
        }
        let form = self.read(node, depth);
        self.forms.borrow_mut().insert(node.id(), form.clone());
        form
    }

    fn read(&self, node: Node<'_>, depth: usize) -> Option<String> {
        if let Some(operation) = self.operation(node)
            && (logic(&operation).is_some() || comparison(&operation).is_some())
        {
            return self.condition(node, (false, false), depth);
        }
        if self.negated(node).is_some() {
            return self.condition(node, (false, false), depth);
        }
        if let Some(sum) = self.sum(node, depth) {
            return Some(sum.to_string());
        }
        self.plain(node, depth).map(short)
    }

    /// The form of a node that is neither a sum nor a condition: its kind and its parts.
    pub(super) fn plain(&self, node: Node<'_>, depth: usize) -> Option<String> {
        if node.kind().contains("comment") {
            return Some(String::new());
        }
        if node.child_count() == 0 || self.source.language.strings.contains(&node.kind()) {
            return Some(self.literal(node));
        }
        if let Some((name, _)) = self.definition(node).filter(|(name, _)| self.hidden.contains(*name)) {
            return Some(format!("({} {name})", node.kind()));
        }
        if let Some(operation) = self.operation(node) {
            return self.operated(node.kind(), &operation, depth);
        }
        if let Some(form) = self.changed(node, depth).or_else(|| self.range(node, depth)) {
            return Some(form);
        }
        let conditions = self.source.language.conditions;
        let mut parts = vec![node.kind().to_string()];
        let mut cursor = node.walk();
        let mut more = cursor.goto_first_child();
        while more {
            let (child, field) = (cursor.node(), cursor.field_name().unwrap_or_default());
            let is_condition = child.is_named() && conditions.contains(&(node.kind(), field));
            let part = match is_condition {
                true => self.condition(child, (false, true), depth + 1)?,
                false => self.form(child, depth + 1)?,
            };
            if !part.is_empty() {
                parts.push(part);
            }
            more = cursor.goto_next_sibling();
        }
        if self.is_symmetric(node) {
            parts.sort_unstable();
        }
        Some(format!("({})", parts.join(" ")))
    }

    /// Whether the order of arguments does not matter, as for a minimum or maximum.
    fn is_symmetric(&self, node: Node<'_>) -> bool {
        let language = self.source.language;
        let called = node.parent().filter(|call| language.calls.contains(&call.kind()));
        let called = called.and_then(|call| call.child_by_field_name(language.callee));
        language.arguments.contains(&node.kind())
            && called.is_some_and(|callee| {
                let name = self.text(callee).rsplit(['.', ':']).next().unwrap_or_default();
                matches!(name, "min" | "max")
            })
    }

    /// A number in a canonical notation; any other literal unchanged.
    fn literal(&self, node: Node<'_>) -> String {
        let language = self.source.language;
        let text = self.text(node);
        let number = || {
            text.replace('_', "")
                .parse::<f64>()
                .ok()
                .map(|number| format!("{number:?}"))
        };
        let is_float = language.floats.contains(&node.kind());
        is_float.then(number).flatten().unwrap_or_else(|| text.to_string())
    }

    /// Operands in their order, or sorted if the order does not matter.
    fn operated(&self, kind: &str, operation: &Operation<'_>, depth: usize) -> Option<String> {
        let operands = operation.operands.iter().map(|operand| self.form(*operand, depth + 1));
        let mut operands: Vec<String> = operands.collect::<Option<_>>()?;
        if matches!(operation.operators.as_slice(), [only] if matches!(only.as_str(), "*" | "&" | "|" | "^")) {
            operands.sort_unstable();
        }
        Some(format!(
            "({kind} {} {})",
            operation.operators.join(" "),
            operands.join(" ")
        ))
    }

    /// `x += 1` as `x = x + 1`.
    fn changed(&self, node: Node<'_>, depth: usize) -> Option<String> {
        let (_, plain) = CHANGES.iter().find(|(kind, _)| *kind == node.kind())?;
        let (left, right) = (node.child_by_field_name("left")?, node.child_by_field_name("right")?);
        let operator = self.source.text.get(left.end_byte()..right.start_byte())?.trim();
        let operator = operator
            .strip_suffix('=')
            .filter(|operator| matches!(*operator, "+" | "-"))?;
        let times = if operator == "-" { -1 } else { 1 };
        let (left_form, right_form) = (self.form(bare(left), depth + 1)?, self.term(bare(right), depth + 1)?);
        let sum = Sum::of(left_form.clone()).plus(&right_form, times)?;
        Some(format!("({plain} {left_form} = {sum})"))
    }

    /// `0..=9` as `0..10`.
    fn range(&self, node: Node<'_>, depth: usize) -> Option<String> {
        (node.kind() == "range_expression" && node.named_child_count() == 2).then_some(())?;
        let (from, to) = (node.named_child(0)?, node.named_child(1)?);
        let operator = self.source.text.get(from.end_byte()..to.start_byte())?.trim();
        let more = i128::from(operator == "..=");
        let end = self.term(to, depth + 1)?.plus(&Sum::number(more), 1)?;
        Some(format!("(range_expression {} {end})", self.form(from, depth + 1)?))
    }

    /// A node as a term of a sum, opaque if necessary.
    pub(super) fn term(&self, node: Node<'_>, depth: usize) -> Option<Sum> {
        match self.sum(node, depth) {
            Some(sum) => Some(sum),
            None => Some(Sum::of(self.form(node, depth)?)),
        }
    }

    /// A sum, an integer, or the name of one. `None` for anything else.
    pub(super) fn sum(&self, node: Node<'_>, depth: usize) -> Option<Sum> {
        let node = bare(node);
        if depth > MAX_DEPTH {
            return None;
        }
        if let Some(known) = self.sums.borrow().get(&node.id()) {
            return known.clone();
        }
        let sum = self.added(node, depth);
        self.sums.borrow_mut().insert(node.id(), sum.clone());
        sum
    }

    fn added(&self, node: Node<'_>, depth: usize) -> Option<Sum> {
        if let Some(number) = self.integer(node) {
            return Some(Sum::number(number));
        }
        if node.child_count() == 0 {
            let number = self.numbers.get(self.text(node))?;
            let is_name = self.source.language.names.contains(&node.kind());
            return is_name.then(|| Sum::number(*number));
        }
        if UNARY.contains(&node.kind()) {
            let inner = node.named_child(0)?;
            let is_minus = self.source.text.get(node.start_byte()..inner.start_byte())?.trim() == "-";
            return Sum::default().plus(&is_minus.then(|| self.term(inner, depth + 1)).flatten()?, -1);
        }
        let operation = self.operation(node)?;
        let ([left, right], [operator]) = (operation.operands.as_slice(), operation.operators.as_slice()) else {
            return None;
        };
        let times = match operator.as_str() {
            "+" => 1,
            "-" => -1,
            "*" => {
                let (left, right) = (self.term(*left, depth + 1)?, self.term(*right, depth + 1)?);
                let (number, other) = match (left.as_number(), right.as_number()) {
                    (Some(number), _) => (number, right),
                    (None, Some(number)) => (number, left),
                    (None, None) => return None,
                };
                return Sum::default().plus(&other, number);
            }
            _ => return None,
        };
        // String concatenation depends on the order.
        self.is_whole(node).then_some(())?;
        self.term(*left, depth + 1)?.plus(&self.term(*right, depth + 1)?, times)
    }

    pub(super) fn integer(&self, node: Node<'_>) -> Option<i128> {
        let language = self.source.language;
        language.integers.contains(&node.kind()).then_some(())?;
        integer(self.text(node))
    }

    /// The operand of a negation.
    pub(super) fn negated<'t>(&self, node: Node<'t>) -> Option<Node<'t>> {
        let (sign, kind) = self.source.language.negation;
        (node.kind() == kind).then_some(())?;
        let inner = node.named_child(0)?;
        let written = self.source.text.get(node.start_byte()..inner.start_byte())?;
        (written.trim() == sign.trim()).then_some(inner)
    }

    /// The operands and the operators between them.
    pub(super) fn operation<'t>(&self, node: Node<'t>) -> Option<Operation<'t>> {
        BINARY.contains(&node.kind()).then_some(())?;
        let mut cursor = node.walk();
        let operands: Vec<Node<'t>> = node
            .named_children(&mut cursor)
            .filter(|child| !child.kind().contains("comment"))
            .collect();
        let between = operands.windows(2).map(|pair| {
            let text = self.source.text.get(pair[0].end_byte()..pair[1].start_byte())?;
            Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
        });
        let operators: Vec<String> = between.collect::<Option<_>>()?;
        (!operators.is_empty()).then_some(Operation { operands, operators })
    }
}
