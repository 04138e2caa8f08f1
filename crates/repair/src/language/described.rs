//! What a row of the table of languages says. All of it is data.

use greenlight_syntax::Language as Syntax;

use crate::template::Swap;

/// A description of one language for the templates. All names are node kinds of its tree-sitter grammar.
#[derive(Debug)]
pub(crate) struct TemplateLanguage {
    pub(crate) syntax: Syntax,
    pub(crate) functions: &'static [&'static str],
    /// Constants that can be defined outside of a function.
    pub(crate) constants: &'static [&'static str],
    /// Nodes that give an anonymous function a name: the kind, the field of the name, and the field of the function.
    pub(crate) named_values: &'static [(&'static str, &'static str, &'static str)],
    /// Nodes that own methods, and the field with the owner's name.
    pub(crate) owners: &'static [(&'static str, &'static str)],
    pub(crate) names: &'static [&'static str],
    /// How a method refers to its own object.
    pub(crate) this: &'static str,
    /// Expressions with operators between or before their operands.
    pub(crate) operations: &'static [&'static str],
    /// Operators that only this language has, with the likely alternatives for each.
    pub(crate) swaps: &'static [Swap],
    pub(crate) integers: &'static [&'static str],
    pub(crate) floats: &'static [&'static str],
    pub(crate) strings: &'static [&'static str],
    pub(crate) truths: [&'static str; 2],
    /// The null value.
    pub(crate) nothing: &'static str,
    /// The values that a function returns when there is nothing to do.
    pub(crate) empties: &'static [&'static str],
    /// The prefix of a negation, and its node kind.
    pub(crate) negation: (&'static str, &'static str),
    /// Nodes that contain a condition, and the field it is in.
    pub(crate) conditions: &'static [(&'static str, &'static str)],
    pub(crate) calls: &'static [&'static str],
    /// The field of a call that contains the callee.
    pub(crate) callee: &'static str,
    /// The parenthesised arguments of a call.
    pub(crate) arguments: &'static [&'static str],
    /// Access to a member of a value: the kind, the field of the value, and the field of the member's name.
    pub(crate) attribute: (&'static str, &'static str, &'static str),
    /// Expressions that keep their meaning when `+ 1` is appended.
    pub(crate) operands: &'static [&'static str],
    /// Nodes that contain positions in a sequence: ranges, slices, subscripts.
    pub(crate) positions: &'static [&'static str],
    /// Loops over items: the kind of the loop, and the field with the iterable.
    pub(crate) iterables: &'static [(&'static str, &'static str)],
    /// Operators that concatenate text.
    pub(crate) text_operators: &'static [&'static str],
    /// Nodes that name errors to catch or raise, and names of standard errors.
    pub(crate) errors: (&'static [&'static str], &'static [&'static str]),
    /// What declares how a method is bound, by the name of its first parameter; the last entry applies to any other
    /// name. Empty if the language has no such declarations.
    pub(crate) binders: &'static [(&'static str, &'static str)],
    /// Statements and bindings whose value may be off by one, and the field of the value.
    pub(crate) values: &'static [(&'static str, &'static str)],
    /// Nodes that declare a variable, and the field of its name or pattern.
    pub(crate) bindings: &'static [(&'static str, &'static str)],
    /// Nodes that contain statements.
    pub(crate) blocks: &'static [&'static str],
    /// The return statement: its kind, its keyword, and its terminator.
    pub(crate) returns: (&'static str, &'static str, &'static str),
    /// Statements that leave a loop, an iteration, or the function.
    pub(crate) jumps: &'static [&'static str],
    /// Subtrees that are never edited: non-code, types, and assertions.
    pub(crate) untouched: &'static [&'static str],
    /// Calls that are never edited: assertions and module loading, by the first part of the name.
    pub(crate) untouched_calls: &'static [&'static str],
    /// Methods that are called without being named: by an operator or another node kind, or by a function.
    pub(crate) implied: &'static [(&'static str, &'static [&'static str])],
    /// Macro calls that are never edited either, by prefix of their name.
    pub(crate) untouched_macros: &'static [&'static str],
    pub(crate) style: Style,
}

/// How code of a language is written. In texts, `{}` is a placeholder.
#[derive(Debug)]
pub(crate) struct Style {
    /// Whether indentation delimits blocks.
    pub(crate) is_indented: bool,
    /// A body that returns a given value.
    pub(crate) body: &'static str,
    /// The text around the condition and the only statement of a branch.
    pub(crate) branch: [&'static str; 3],
    /// Tests whether a value is null, empty or otherwise unusable: the usual one, and all of them.
    pub(crate) is_nothing: (&'static str, &'static [&'static str]),
    /// Tests whether a collection of each kind is empty, where that is not how a null value is tested for.
    pub(crate) vacant: &'static [&'static str],
    /// The operator that inverts all bits of a number.
    pub(crate) complement: &'static str,
    /// Whether the language has named arguments.
    pub(crate) has_named_arguments: bool,
    /// The method that compares values, if the operator only tells whether they are the same object.
    pub(crate) equality: Option<&'static str>,
    /// The operator that reads a member of a possibly null value, in place of a dot.
    pub(crate) chaining: Option<&'static str>,
    /// Tests whether a value is nothing and whether it is something, in languages where other values count as false, too.
    pub(crate) presence: &'static [(&'static str, &'static str)],
    /// How an expression starts in an interpolated string, and the prefix or the quotes of such a string.
    pub(crate) interpolation: Option<(&'static str, &'static str)>,
    /// The clause that catches errors, and the node with several of them.
    pub(crate) several_errors: Option<(&'static str, &'static str)>,
    /// Functions that values are often passed through.
    pub(crate) wrappers: &'static [&'static str],
    /// Methods whose calls are often forgotten.
    pub(crate) suffixes: &'static [&'static str],
    /// The operators that join conditions: both, and either.
    pub(crate) logical: [&'static str; 2],
    /// The operator that divides integers.
    pub(crate) division: &'static str,
    /// A number to the power of `{power}`. Empty if the language has no short form.
    pub(crate) power: &'static str,
    /// The size of a collection, of each kind.
    pub(crate) sizes: &'static [&'static str],
    /// Parts of a sequence up to or from `{bound}`.
    pub(crate) parts: &'static [&'static str],
    /// A sequence in reverse, sorted, or without repeated elements.
    pub(crate) rearranged: &'static [&'static str],
    /// A list or text joined to `{other}`.
    pub(crate) joined: &'static [&'static str],
    /// Empty values that are mistaken for each other.
    pub(crate) shapes: &'static [&'static str],
    /// An element of a sequence.
    pub(crate) elements: &'static [&'static str],
    /// A value, or an empty one if there is none.
    pub(crate) defaults: &'static [&'static str],
    /// A value of a mapping by `{key}`, or a default.
    pub(crate) lookups: &'static [&'static str],
    /// Functions and methods with options that are often forgotten.
    pub(crate) options: &'static [(&'static str, &'static [&'static str])],
    /// The greater and the lesser of a value and `{other}`.
    pub(crate) extremes: &'static [&'static str],
    /// Functions that take the title and the body of a test.
    pub(crate) titled: &'static [&'static str],
}
