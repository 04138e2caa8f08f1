//! What the search has to know about a programming language: its grammar, and what the parts it looks for are
//! called in the syntax tree. Everything else in this room works on any language in the table.

mod go;
mod java;
mod javascript;
mod python;
mod rust;

use greenlight_syntax::Language as Syntax;

use super::templates::kinds::Swap;

/// One language, as the templates see it. All names are kinds of nodes in its tree-sitter grammar.
#[derive(Debug)]
pub(super) struct TemplateLanguage {
    pub(super) syntax: Syntax,
    pub(super) functions: &'static [&'static str],
    /// Constants that can be defined outside a function.
    pub(super) constants: &'static [&'static str],
    /// What gives a function without a name one: the kind, the field of the name, and the field of the function.
    pub(super) named_values: &'static [(&'static str, &'static str, &'static str)],
    /// What methods belong to, and the field that names it.
    pub(super) owners: &'static [(&'static str, &'static str)],
    pub(super) names: &'static [&'static str],
    /// What a method calls its own object.
    pub(super) this: &'static str,
    /// Expressions with operators between or before their operands.
    pub(super) operations: &'static [&'static str],
    /// Operators that only this language has, and what each may have been meant to be.
    pub(super) swaps: &'static [Swap],
    pub(super) integers: &'static [&'static str],
    pub(super) floats: &'static [&'static str],
    pub(super) strings: &'static [&'static str],
    pub(super) truths: [&'static str; 2],
    /// The value that stands for none.
    pub(super) nothing: &'static str,
    /// What a function gives back when there is nothing to do.
    pub(super) empties: &'static [&'static str],
    /// How a negation starts, and what it is called.
    pub(super) negation: (&'static str, &'static str),
    /// Nodes that hold a condition, and the field it is in.
    pub(super) conditions: &'static [(&'static str, &'static str)],
    pub(super) calls: &'static [&'static str],
    /// The field of a call that says what is called.
    pub(super) callee: &'static str,
    /// The parenthesised list of what a call passes.
    pub(super) arguments: &'static [&'static str],
    /// Reading a part of a value: the kind, the field of the value, and the field of the part's name.
    pub(super) attribute: (&'static str, &'static str, &'static str),
    /// Expressions that stay as they are, when `+ 1` is written after them.
    pub(super) operands: &'static [&'static str],
    /// Where positions in a sequence stand: ranges, slices, subscripts.
    pub(super) positions: &'static [&'static str],
    /// What is gone through item by item: the kind of the loop, and the field.
    pub(super) iterables: &'static [(&'static str, &'static str)],
    /// Operators that make a text of texts.
    pub(super) text_operators: &'static [&'static str],
    /// Where the errors are named that are caught or raised, and names of some that every program knows.
    pub(super) errors: (&'static [&'static str], &'static [&'static str]),
    /// What says how a method is bound, by the name of its first parameter, the last for any other; empty where nothing
    /// does.
    pub(super) binders: &'static [(&'static str, &'static str)],
    /// Statements and bindings whose value may be one off, and the field of the value.
    pub(super) values: &'static [(&'static str, &'static str)],
    /// What declares a variable, and the field of its name or pattern.
    pub(super) bindings: &'static [(&'static str, &'static str)],
    /// What holds statements.
    pub(super) blocks: &'static [&'static str],
    /// A statement that gives a value back: the kind, its keyword, and how it ends.
    pub(super) returns: (&'static str, &'static str, &'static str),
    /// Statements that end a loop, a round of it, or the function.
    pub(super) jumps: &'static [&'static str],
    /// Subtrees that are never edited: no code, types, or assertions.
    pub(super) untouched: &'static [&'static str],
    /// Calls that are never edited: assertions, and what loads modules, by the first part of the name.
    pub(super) untouched_calls: &'static [&'static str],
    /// Methods that are called without being named: by an operator or another kind of node, or by a function.
    pub(super) implied: &'static [(&'static str, &'static [&'static str])],
    /// Calls of macros that are never edited either, by prefix of their name.
    pub(super) untouched_macros: &'static [&'static str],
    pub(super) style: Style,
}

/// How code of a language is written. In texts, `{}` stands for what is put in.
#[derive(Debug)]
pub(super) struct Style {
    /// Whether white space says where a block ends.
    pub(super) is_indented: bool,
    /// A body that gives this value back.
    pub(super) body: &'static str,
    /// What surrounds the condition and the only statement of a branch.
    pub(super) branch: [&'static str; 3],
    /// Whether a value is none or has nothing in it, or is of no use: the usual way, and all ways.
    pub(super) is_nothing: (&'static str, &'static [&'static str]),
    /// What turns all bits of a number round.
    pub(super) complement: &'static str,
    /// Whether arguments may be given by name.
    pub(super) has_named_arguments: bool,
    /// What reads a part of a value that may be none, in place of a dot.
    pub(super) chaining: Option<&'static str>,
    /// Functions that a value is often passed through.
    pub(super) wrappers: &'static [&'static str],
    /// Methods that are often forgotten.
    pub(super) suffixes: &'static [&'static str],
    /// Functions that are given the title of a test and what it does.
    pub(super) titled: &'static [&'static str],
}

/// The language of a file by its name. Stubs have no code to repair.
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
