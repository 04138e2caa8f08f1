//! What a file offers to templates: its variables by function, its members by value, its literals, expressions and
//! statements.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::error_names;
use super::scope::{asynchronous, declared, functions, is_bound, is_sequence, owner, part, scoped};
use super::site::{Site, is_untouched};
use crate::syntax::{Below, Source};

/// Maximum number of snippets kept for a file, and maximum length of one.
const MAX_PIECES: usize = 6_000;
const MAX_PIECE: usize = 160;
const MAX_LITERALS: usize = 300;
const MAX_BODY: usize = 600;
const MAX_BODIES: usize = 400;

/// Maximum number of snippets that are compared for one place.
const MAX_AROUND: usize = 400;
/// Maximum number of constants of the file that are offered with the variables of a function.
const MAX_CONSTANTS: usize = 24;

/// The names that a file contains, and snippets of its code.
pub(crate) struct KnownNames {
    pub(super) variables: BTreeMap<usize, Vec<String>>,
    pub(super) parts: BTreeMap<(usize, String), BTreeSet<String>>,
    /// Variables that a function uses as sequences, and where it starts.
    sequences: BTreeSet<(usize, String)>,
    /// Variables and constants outside of functions.
    pub(super) constants: Vec<String>,
    /// Errors named anywhere in the file, in order.
    pub(super) errors: Vec<String>,
    pub(super) strings: Vec<Snippet>,
    pub(super) numbers: Vec<Snippet>,
    pub(super) expressions: Vec<Snippet>,
    pub(super) conditions: Vec<Snippet>,
    pub(super) statements: Vec<Snippet>,
    pub(super) returns: Vec<Snippet>,
    pub(super) bodies: Vec<FunctionBody>,
    /// Functions that are defined or waited for, and whether a call of them has to be.
    pub(super) functions: BTreeMap<String, bool>,
    /// Texts that the failures print; they are the same for every file.
    pub(super) printed: Arc<[String]>,
}

/// A snippet of the file.
pub(super) struct Snippet {
    pub(super) kind: String,
    pub(super) parent: String,
    pub(super) text: String,
    pub(super) at: usize,
    /// Start of the function that contains it.
    pub(super) function: usize,
}

/// The body of a function, with its name and parameters.
pub(super) struct FunctionBody {
    pub(super) name: String,
    pub(super) parameters: String,
    pub(super) result: String,
    pub(super) text: String,
    pub(super) at: usize,
}

impl FunctionBody {
    /// Whether a call with this many arguments has no room for more.
    pub(super) fn takes(&self, arguments: usize) -> bool {
        let inside = self.parameters.trim_matches(['(', ')']).trim();
        let is_plain = !inside.contains(['*', '.', '=', '(', '{', '[', '<']);
        let parameters = if inside.is_empty() {
            0
        } else {
            inside.trim_end_matches(',').split(',').count()
        };
        is_plain && parameters == arguments
    }
}

impl KnownNames {
    pub(crate) fn of(source: &Source, printed: Arc<[String]>) -> Self {
        let mut known = Self {
            variables: BTreeMap::new(),
            parts: BTreeMap::new(),
            sequences: BTreeSet::new(),
            constants: Vec::new(),
            errors: Vec::new(),
            strings: Vec::new(),
            numbers: Vec::new(),
            expressions: Vec::new(),
            conditions: Vec::new(),
            statements: Vec::new(),
            returns: Vec::new(),
            bodies: Vec::new(),
            functions: BTreeMap::new(),
            printed,
        };
        source.walk(|path| {
            let place = Site { source, path };
            if is_untouched(&place) {
                return Below::Skip;
            }
            known.name(&place);
            if let Some((name, is_async)) = asynchronous(&place) {
                *known.functions.entry(name.to_string()).or_default() |= is_async;
            }
            known.piece(&place);
            Below::Enter
        });
        known
    }

    fn name(&mut self, place: &Site<'_, '_>) {
        if place.kind() == "identifier" && is_sequence(place) && self.sequences.len() < MAX_LITERALS {
            let own = functions(place).map(|function| (function, place.text().to_string()));
            self.sequences.extend(own);
        }
        let is_name = matches!(place.kind(), "identifier" | "shorthand_property_identifier_pattern");
        if is_name && is_bound(place) && !is_of_function(place) {
            let variables = match functions(place).next() {
                Some(function) => self.variables.entry(function).or_default(),
                None => &mut self.constants,
            };
            let name = place.text().to_string();
            if variables.len() < MAX_LITERALS && !variables.contains(&name) {
                variables.push(name);
            }
        }
        if error_names::is_name(place) && error_names::sounds_like_one(place.text()) {
            let name = place.text().to_string();
            if self.errors.len() < MAX_CONSTANTS && !self.errors.contains(&name) {
                self.errors.push(name);
            }
        }
        if place.kind() == "field_identifier" && place.parent_kind() == "field_declaration" {
            let this = place.source.language.this.to_string();
            self.parts.entry((0, this)).or_default().insert(place.text().into());
        }
        if let Some((value, part)) = part(place) {
            let parts = self.parts.entry((owner(place, value), value.into())).or_default();
            parts.insert(part.into());
        }
        for (value, part) in declared(place).into_iter().chain(scoped(place)) {
            self.parts.entry((0, value.into())).or_default().insert(part.into());
        }
    }

    fn piece(&mut self, place: &Site<'_, '_>) {
        let language = place.source.language;
        let (kind, node) = (place.kind(), place.node());
        if !node.is_named() {
            return;
        }
        if language.functions.contains(&kind) && self.bodies.len() < MAX_BODIES {
            self.body(place);
        }
        if node.end_byte() - node.start_byte() > MAX_PIECE {
            return;
        }
        let is_statement = language.blocks.contains(&place.parent_kind()) && !kind.contains("comment");
        let is_value = place.stands_in(language.values) || language.arguments.contains(&place.parent_kind());
        let is_return = place.parent_kind() == language.returns.0;
        let kept: [(bool, &mut Vec<Snippet>, usize); 6] = [
            (language.strings.contains(&kind), &mut self.strings, MAX_LITERALS),
            (
                language.integers.contains(&kind) || language.floats.contains(&kind),
                &mut self.numbers,
                MAX_LITERALS,
            ),
            (
                place.is_condition() || is_comparison(place),
                &mut self.conditions,
                MAX_PIECES,
            ),
            (
                is_statement && !place.text().contains('\n'),
                &mut self.statements,
                MAX_PIECES,
            ),
            (is_return, &mut self.returns, MAX_PIECES),
            (
                is_value || language.operands.contains(&kind) || matches!(kind, "array" | "list" | "object"),
                &mut self.expressions,
                MAX_PIECES,
            ),
        ];
        for (is_wanted, pieces, most) in kept {
            if is_wanted && pieces.len() < most {
                pieces.push(Snippet {
                    kind: kind.to_string(),
                    parent: place.parent_kind().to_string(),
                    text: place.text().to_string(),
                    at: node.start_byte(),
                    function: functions(place).next().unwrap_or(0),
                });
            }
        }
    }

    fn body(&mut self, place: &Site<'_, '_>) {
        let field = |field| {
            let node = place.node().child_by_field_name(field)?;
            Some(place.source.text_of(node).to_string())
        };
        if let (Some(name), Some(text)) = (field("name"), field("body"))
            && text.len() <= MAX_BODY
        {
            self.bodies.push(FunctionBody {
                name,
                parameters: field("parameters").unwrap_or_default(),
                result: field("return_type").or_else(|| field("type")).unwrap_or_default(),
                text,
                at: place.node().start_byte(),
            });
        }
    }

    /// Whether the code around uses a variable as a sequence, so that it is no number.
    pub(super) fn is_sequence(&self, place: &Site<'_, '_>, name: &str) -> bool {
        functions(place).any(|function| self.sequences.contains(&(function, name.to_string())))
    }

    /// Variables that are visible at the node: the innermost function's first, then those of outer ones, then
    /// constants.
    pub(super) fn variables_at(&self, place: &Site<'_, '_>) -> Vec<&String> {
        let own = functions(place).filter_map(|function| self.variables.get(&function));
        own.flatten()
            .chain(self.constants.iter().take(MAX_CONSTANTS))
            .filter(|name| !matches!(name.as_str(), "cls" | "_"))
            .collect()
    }
}

/// The snippets nearest to this position; the others are not looked at, however many a file has.
pub(super) fn around(pieces: &[Snippet], at: usize) -> &[Snippet] {
    let from = pieces
        .partition_point(|piece| piece.at < at)
        .saturating_sub(MAX_AROUND / 2);
    pieces
        .get(from..pieces.len().min(from + MAX_AROUND))
        .unwrap_or_default()
}

/// Whether the name is bound to a function, which is called and not compared or returned: `const f = (a) => a`.
fn is_of_function(place: &Site<'_, '_>) -> bool {
    let value = place.above(1).and_then(|step| step.node.child_by_field_name("value"));
    place.field() == "name" && value.is_some_and(|value| place.source.language.functions.contains(&value.kind()))
}

/// Whether the node is a comparison, or a side of `and` or `or`.
fn is_comparison(place: &Site<'_, '_>) -> bool {
    matches!(
        place.kind(),
        "comparison_operator" | "boolean_operator" | "not_operator"
    ) || place.node().child_by_field_name("operator").is_some_and(|operator| {
        matches!(
            place.source.text_of(operator),
            "<" | "<=" | ">" | ">=" | "==" | "!=" | "===" | "!==" | "&&" | "||"
        )
    })
}
