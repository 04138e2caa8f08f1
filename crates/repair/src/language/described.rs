//! What a row of the table of languages says. All of it is data.

use greenlight_syntax::Language as Syntax;

use crate::template::Swap;

/// One language, as the templates see it. All names are kinds of nodes in its tree-sitter grammar.
#[derive(Debug)]
pub(crate) struct TemplateLanguage {
    pub(crate) syntax: Syntax,
    pub(crate) functions: &'static [&'static str],
    /// Constants that can be defined outside a function.
    pub(crate) constants: &'static [&'static str],
    /// What gives a function without a name one: the kind, the field of the name, and the field of the function.
    pub(crate) named_values: &'static [(&'static str, &'static str, &'static str)],
    /// What methods belong to, and the field that names it.
    pub(crate) owners: &'static [(&'static str, &'static str)],
    pub(crate) names: &'static [&'static str],
    /// What a method calls its own object.
    pub(crate) this: &'static str,
    /// Expressions with operators between or before their operands.
    pub(crate) operations: &'static [&'static str],
    /// Operators that only this language has, and what each may have been meant to be.
    pub(crate) swaps: &'static [Swap],
    pub(crate) integers: &'static [&'static str],
    pub(crate) floats: &'static [&'static str],
    pub(crate) strings: &'static [&'static str],
    pub(crate) truths: [&'static str; 2],
    /// The value that stands for none.
    pub(crate) nothing: &'static str,
    /// What a function gives back when there is nothing to do.
    pub(crate) empties: &'static [&'static str],
    /// How a negation starts, and what it is called.
    pub(crate) negation: (&'static str, &'static str),
    /// Nodes that hold a condition, and the field it is in.
    pub(crate) conditions: &'static [(&'static str, &'static str)],
    pub(crate) calls: &'static [&'static str],
    /// The field of a call that says what is called.
    pub(crate) callee: &'static str,
    /// The parenthesised list of what a call passes.
    pub(crate) arguments: &'static [&'static str],
    /// Reading a part of a value: the kind, the field of the value, and the field of the part's name.
    pub(crate) attribute: (&'static str, &'static str, &'static str),
    /// Expressions that stay as they are, when `+ 1` is written after them.
    pub(crate) operands: &'static [&'static str],
    /// Where positions in a sequence stand: ranges, slices, subscripts.
    pub(crate) positions: &'static [&'static str],
    /// What is gone through item by item: the kind of the loop, and the field.
    pub(crate) iterables: &'static [(&'static str, &'static str)],
    /// Operators that make a text of texts.
    pub(crate) text_operators: &'static [&'static str],
    /// Where the errors are named that are caught or raised, and names of some that every program knows.
    pub(crate) errors: (&'static [&'static str], &'static [&'static str]),
    /// What says how a method is bound, by the name of its first parameter, the last for any other; empty where nothing
    /// does.
    pub(crate) binders: &'static [(&'static str, &'static str)],
    /// Statements and bindings whose value may be one off, and the field of the value.
    pub(crate) values: &'static [(&'static str, &'static str)],
    /// What declares a variable, and the field of its name or pattern.
    pub(crate) bindings: &'static [(&'static str, &'static str)],
    /// What holds statements.
    pub(crate) blocks: &'static [&'static str],
    /// A statement that gives a value back: the kind, its keyword, and how it ends.
    pub(crate) returns: (&'static str, &'static str, &'static str),
    /// Statements that end a loop, a round of it, or the function.
    pub(crate) jumps: &'static [&'static str],
    /// Subtrees that are never edited: no code, types, or assertions.
    pub(crate) untouched: &'static [&'static str],
    /// Calls that are never edited: assertions, and what loads modules, by the first part of the name.
    pub(crate) untouched_calls: &'static [&'static str],
    /// Methods that are called without being named: by an operator or another kind of node, or by a function.
    pub(crate) implied: &'static [(&'static str, &'static [&'static str])],
    /// Calls of macros that are never edited either, by prefix of their name.
    pub(crate) untouched_macros: &'static [&'static str],
    pub(crate) style: Style,
}

/// How code of a language is written. In texts, `{}` stands for what is put in.
#[derive(Debug)]
pub(crate) struct Style {
    /// Whether white space says where a block ends.
    pub(crate) is_indented: bool,
    /// A body that gives this value back.
    pub(crate) body: &'static str,
    /// What surrounds the condition and the only statement of a branch.
    pub(crate) branch: [&'static str; 3],
    /// Whether a value is none or has nothing in it, or is of no use: the usual way, and all ways.
    pub(crate) is_nothing: (&'static str, &'static [&'static str]),
    /// What turns all bits of a number round.
    pub(crate) complement: &'static str,
    /// Whether arguments may be given by name.
    pub(crate) has_named_arguments: bool,
    /// What reads a part of a value that may be none, in place of a dot.
    pub(crate) chaining: Option<&'static str>,
    /// Functions that a value is often passed through.
    pub(crate) wrappers: &'static [&'static str],
    /// Methods that are often forgotten.
    pub(crate) suffixes: &'static [&'static str],
    /// Functions that are given the title of a test and what it does.
    pub(crate) titled: &'static [&'static str],
}
