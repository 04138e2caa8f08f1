//! What the search needs to know about a programming language: its grammar, and the names of the relevant parts of
//! its syntax tree. Everything else in this module works on any language in the table.

mod go;
mod java;
mod javascript;
mod python;
mod rust;

use greenlight_syntax::Language as Syntax;

use super::templates::kinds::Swap;

/// A description of one language for the templates. All names are node kinds of its tree-sitter grammar.
#[derive(Debug)]
pub(super) struct TemplateLanguage {
    pub(super) syntax: Syntax,
    pub(super) functions: &'static [&'static str],
    /// Constants that can be defined outside of a function.
    pub(super) constants: &'static [&'static str],
    /// Nodes that give an anonymous function a name: the kind, the field of the name, and the field of the function.
    pub(super) named_values: &'static [(&'static str, &'static str, &'static str)],
    /// Nodes that own methods, and the field with the owner's name.
    pub(super) owners: &'static [(&'static str, &'static str)],
    pub(super) names: &'static [&'static str],
    /// How a method refers to its own object.
    pub(super) this: &'static str,
    /// Expressions with operators between or before their operands.
    pub(super) operations: &'static [&'static str],
    /// Operators that only this language has, with the likely alternatives for each.
    pub(super) swaps: &'static [Swap],
    pub(super) integers: &'static [&'static str],
    pub(super) floats: &'static [&'static str],
    pub(super) strings: &'static [&'static str],
    pub(super) truths: [&'static str; 2],
    /// The null value.
    pub(super) nothing: &'static str,
    /// The values that a function returns when there is nothing to do.
    pub(super) empties: &'static [&'static str],
    /// The prefix of a negation, and its node kind.
    pub(super) negation: (&'static str, &'static str),
    /// Nodes that contain a condition, and the field it is in.
    pub(super) conditions: &'static [(&'static str, &'static str)],
    pub(super) calls: &'static [&'static str],
    /// The field of a call that contains the callee.
    pub(super) callee: &'static str,
    /// The parenthesised arguments of a call.
    pub(super) arguments: &'static [&'static str],
    /// Access to a member of a value: the kind, the field of the value, and the field of the member's name.
    pub(super) attribute: (&'static str, &'static str, &'static str),
    /// Expressions that keep their meaning when `+ 1` is appended.
    pub(super) operands: &'static [&'static str],
    /// Nodes that contain positions in a sequence: ranges, slices, subscripts.
    pub(super) positions: &'static [&'static str],
    /// Loops over items: the kind of the loop, and the field with the iterable.
    pub(super) iterables: &'static [(&'static str, &'static str)],
    /// Operators that concatenate text.
    pub(super) text_operators: &'static [&'static str],
    /// Nodes that name errors to catch or raise, and names of standard errors.
    pub(super) errors: (&'static [&'static str], &'static [&'static str]),
    /// What declares how a method is bound, by the name of its first parameter; the last entry applies to any other
    /// name. Empty if the language has no such declarations.
    pub(super) binders: &'static [(&'static str, &'static str)],
    /// Statements and bindings whose value may be off by one, and the field of the value.
    pub(super) values: &'static [(&'static str, &'static str)],
    /// Nodes that declare a variable, and the field of its name or pattern.
    pub(super) bindings: &'static [(&'static str, &'static str)],
    /// Nodes that contain statements.
    pub(super) blocks: &'static [&'static str],
    /// The return statement: its kind, its keyword, and its terminator.
    pub(super) returns: (&'static str, &'static str, &'static str),
    /// Statements that leave a loop, an iteration, or the function.
    pub(super) jumps: &'static [&'static str],
    /// Subtrees that are never edited: non-code, types, and assertions.
    pub(super) untouched: &'static [&'static str],
    /// Calls that are never edited: assertions and module loading, by the first part of the name.
    pub(super) untouched_calls: &'static [&'static str],
    /// Methods that are called without being named: by an operator or another node kind, or by a function.
    pub(super) implied: &'static [(&'static str, &'static [&'static str])],
    /// Macro calls that are never edited either, by prefix of their name.
    pub(super) untouched_macros: &'static [&'static str],
    pub(super) style: Style,
}

/// How code of a language is written. In texts, `{}` is a placeholder.
#[derive(Debug)]
pub(super) struct Style {
    /// Whether indentation delimits blocks.
    pub(super) is_indented: bool,
    /// A body that returns a given value.
    pub(super) body: &'static str,
    /// The text around the condition and the only statement of a branch.
    pub(super) branch: [&'static str; 3],
    /// Tests whether a value is null, empty or otherwise unusable: the usual one, and all of them.
    pub(super) is_nothing: (&'static str, &'static [&'static str]),
    /// The operator that inverts all bits of a number.
    pub(super) complement: &'static str,
    /// Whether the language has named arguments.
    pub(super) has_named_arguments: bool,
    /// The operator that reads a member of a possibly null value, in place of a dot.
    pub(super) chaining: Option<&'static str>,
    /// Functions that values are often passed through.
    pub(super) wrappers: &'static [&'static str],
    /// Methods whose calls are often forgotten.
    pub(super) suffixes: &'static [&'static str],
    /// Functions that take the title and the body of a test.
    pub(super) titled: &'static [&'static str],
}

/// The language of a file, by its name. Stubs contain no code to repair.
pub(super) fn of(path: &str) -> Option<&'static TemplateLanguage> {
    let syntax = Syntax::of(path).filter(|_| !path.ends_with(".pyi"))?;
    Some(match syntax {
        Syntax::Rust => &rust::RUST,
        Syntax::Python => &python::PYTHON,
        Syntax::JavaScript => &javascript::JAVASCRIPT,
        Syntax::TypeScript => &javascript::TYPESCRIPT,
        Syntax::Tsx => &javascript::TSX,
        Syntax::Go => &go::GO,
        Syntax::Java => &java::JAVA,
    })
}
