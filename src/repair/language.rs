//! What the search has to know about a programming language: its grammar, and what the parts it looks for are
//! called in the syntax tree. Everything else in this room works on any language in the table.

use tree_sitter::Language as Grammar;

use super::templates::{Swap, Template};

/// One language, as the templates see it. All names are kinds of nodes in its tree-sitter grammar.
#[derive(Debug)]
pub(super) struct Language {
    pub(super) grammar: fn() -> Grammar,
    /// Of file names, without the dot.
    extensions: &'static [&'static str],
    pub(super) functions: &'static [&'static str],
    /// Constants that can be defined outside a function.
    pub(super) constants: &'static [&'static str],
    /// What methods belong to, and the field that names it.
    pub(super) owners: &'static [(&'static str, &'static str)],
    pub(super) names: &'static [&'static str],
    /// Expressions with operators between or before their operands.
    pub(super) operations: &'static [&'static str],
    /// Operators that only this language has, and what each may have been meant to be.
    pub(super) swaps: &'static [Swap],
    pub(super) integers: &'static [&'static str],
    pub(super) truths: [&'static str; 2],
    /// How a negation starts, and what it is called.
    pub(super) negation: (&'static str, &'static str),
    /// Nodes that hold a condition, and the field it is in.
    pub(super) conditions: &'static [(&'static str, &'static str)],
    pub(super) calls: &'static [&'static str],
    /// The parenthesised list of what a call passes.
    pub(super) arguments: &'static [&'static str],
    /// Reading a part of a value: the kind, the field of the value, and the field of the part's name.
    pub(super) attribute: (&'static str, &'static str, &'static str),
    /// Expressions that stay as they are, when `+ 1` is written after them.
    pub(super) operands: &'static [&'static str],
    /// Where positions in a sequence stand: ranges, slices, subscripts.
    pub(super) positions: &'static [&'static str],
    /// Statements and bindings whose value may be one off, and the field of the value.
    pub(super) values: &'static [(&'static str, &'static str)],
    /// What declares a variable, and the field of its name or pattern.
    pub(super) bindings: &'static [(&'static str, &'static str)],
    /// Subtrees that are never edited: no code, types, or assertions.
    pub(super) untouched: &'static [&'static str],
    /// Methods that are called without being named: by an operator or another kind of node, or by a function.
    pub(super) implied: &'static [(&'static str, &'static [&'static str])],
    /// Calls of macros that are never edited either, by prefix of their name.
    pub(super) untouched_macros: &'static [&'static str],
}

/// The language of a file by its name.
pub(super) fn of(path: &str) -> Option<&'static Language> {
    let (_, extension) = path.rsplit_once('.')?;
    [&RUST, &PYTHON]
        .into_iter()
        .find(|language| language.extensions.contains(&extension))
}

static RUST: Language = Language {
    grammar: || tree_sitter_rust::LANGUAGE.into(),
    extensions: &["rs"],
    functions: &["function_item"],
    constants: &["const_item", "static_item"],
    owners: &[("impl_item", "type"), ("trait_item", "name")],
    names: &["identifier", "field_identifier", "type_identifier"],
    operations: &[
        "binary_expression",
        "compound_assignment_expr",
        "range_expression",
        "range_pattern",
        "token_tree",
    ],
    swaps: &[
        ("&&", &[("||", Template::Logical)]),
        ("||", &[("&&", Template::Logical)]),
        ("/", &[("%", Template::OtherOperator)]),
        ("%", &[("/", Template::OtherOperator)]),
        ("..", &[("..=", Template::Bound)]),
        ("..=", &[("..", Template::Bound)]),
    ],
    integers: &["integer_literal"],
    truths: ["true", "false"],
    negation: ("!", "unary_expression"),
    conditions: &[
        ("if_expression", "condition"),
        ("while_expression", "condition"),
        ("match_pattern", "condition"),
    ],
    calls: &["call_expression"],
    arguments: &["arguments"],
    attribute: ("field_expression", "value", "field"),
    operands: &[
        "identifier",
        "field_expression",
        "call_expression",
        "index_expression",
        "parenthesized_expression",
        "binary_expression",
    ],
    positions: &["range_expression", "index_expression"],
    values: &[
        ("let_declaration", "value"),
        ("assignment_expression", "right"),
        ("compound_assignment_expr", "right"),
        ("return_expression", ""),
        ("field_initializer", "value"),
        ("block", ""),
        ("parenthesized_expression", ""),
    ],
    bindings: &[
        ("parameter", "pattern"),
        ("let_declaration", "pattern"),
        ("let_condition", "pattern"),
        ("for_expression", "pattern"),
        ("closure_parameters", ""),
        ("match_arm", "pattern"),
    ],
    untouched: &[
        "attribute_item",
        "inner_attribute_item",
        "use_declaration",
        "macro_definition",
        "line_comment",
        "block_comment",
        "type_arguments",
        "type_parameters",
        "where_clause",
    ],
    implied: &[
        ("==", &["eq"]),
        ("!=", &["eq"]),
        ("<", &["partial_cmp", "cmp", "lt"]),
        ("<=", &["partial_cmp", "cmp", "le"]),
        (">", &["partial_cmp", "cmp", "gt"]),
        (">=", &["partial_cmp", "cmp", "ge"]),
        ("+", &["add"]),
        ("+=", &["add_assign"]),
        ("-", &["sub", "neg"]),
        ("-=", &["sub_assign"]),
        ("*", &["mul", "deref"]),
        ("/", &["div"]),
        ("%", &["rem"]),
        ("!", &["not"]),
        ("&", &["bitand"]),
        ("|", &["bitor"]),
        ("index_expression", &["index", "index_mut"]),
        ("for_expression", &["into_iter", "next"]),
        ("assert_eq", &["eq", "fmt"]),
        ("assert_ne", &["eq", "fmt"]),
        ("format", &["fmt"]),
        ("write", &["fmt"]),
        ("to_string", &["fmt"]),
        ("sort", &["cmp"]),
        ("parse", &["from_str"]),
        ("into", &["from"]),
        ("try_into", &["try_from"]),
        ("collect", &["from_iter", "next"]),
        ("hash", &["hash"]),
    ],
    untouched_macros: &[
        "assert",
        "debug_assert",
        "panic",
        "unreachable",
        "unimplemented",
        "todo",
    ],
};

static PYTHON: Language = Language {
    grammar: || tree_sitter_python::LANGUAGE.into(),
    extensions: &["py"],
    functions: &["function_definition"],
    constants: &["assignment"],
    owners: &[("class_definition", "name")],
    names: &["identifier"],
    operations: &[
        "binary_operator",
        "comparison_operator",
        "boolean_operator",
        "augmented_assignment",
    ],
    swaps: &[
        ("and", &[("or", Template::Logical)]),
        ("or", &[("and", Template::Logical)]),
        ("in", &[("not in", Template::Comparison)]),
        ("not in", &[("in", Template::Comparison)]),
        ("is", &[("is not", Template::Comparison)]),
        ("is not", &[("is", Template::Comparison)]),
        ("/", &[("//", Template::Arithmetic)]),
        (
            "//",
            &[
                ("/", Template::OtherOperator),
                ("%", Template::OtherOperator),
                ("*", Template::OtherOperator),
            ],
        ),
        ("%", &[("//", Template::OtherOperator)]),
        ("**", &[("*", Template::OtherOperator)]),
        ("*", &[("**", Template::RareOperator)]),
        ("//=", &[("%=", Template::OtherOperator)]),
        ("%=", &[("//=", Template::OtherOperator)]),
    ],
    integers: &["integer"],
    truths: ["True", "False"],
    negation: ("not ", "not_operator"),
    conditions: &[
        ("if_statement", "condition"),
        ("elif_clause", "condition"),
        ("while_statement", "condition"),
        ("if_clause", ""),
    ],
    calls: &["call"],
    arguments: &["argument_list"],
    attribute: ("attribute", "object", "attribute"),
    operands: &[
        "identifier",
        "attribute",
        "call",
        "subscript",
        "parenthesized_expression",
        "binary_operator",
    ],
    positions: &["slice", "subscript"],
    values: &[
        ("assignment", "right"),
        ("augmented_assignment", "right"),
        ("return_statement", ""),
        ("yield", ""),
        ("lambda", "body"),
        ("parenthesized_expression", ""),
    ],
    bindings: &[
        ("parameters", ""),
        ("lambda_parameters", ""),
        ("default_parameter", "name"),
        ("typed_parameter", ""),
        ("typed_default_parameter", "name"),
        ("assignment", "left"),
        ("for_statement", "left"),
        ("for_in_clause", "left"),
        ("named_expression", "name"),
        ("as_pattern_target", ""),
    ],
    untouched: &[
        "comment",
        "import_statement",
        "import_from_statement",
        "future_import_statement",
        "decorator",
        "type",
        "assert_statement",
        "global_statement",
        "nonlocal_statement",
    ],
    implied: &[
        ("subscript", &["__getitem__", "__setitem__", "__delitem__"]),
        ("for_statement", &["__iter__", "__next__"]),
        ("for_in_clause", &["__iter__", "__next__"]),
        ("list", &["__iter__", "__next__"]),
        ("sorted", &["__iter__", "__lt__"]),
        ("next", &["__next__"]),
        ("with_statement", &["__enter__", "__exit__"]),
        ("call", &["__call__"]),
        ("len", &["__len__"]),
        ("bool", &["__bool__", "__len__"]),
        ("not_operator", &["__bool__", "__len__"]),
        ("str", &["__str__", "__repr__"]),
        ("repr", &["__repr__"]),
        ("hash", &["__hash__"]),
        ("reversed", &["__reversed__"]),
        ("in", &["__contains__", "__iter__"]),
        ("not in", &["__contains__", "__iter__"]),
        ("==", &["__eq__"]),
        ("!=", &["__eq__", "__ne__"]),
        ("<", &["__lt__"]),
        ("<=", &["__le__"]),
        (">", &["__gt__", "__lt__"]),
        (">=", &["__ge__"]),
        ("+", &["__add__", "__radd__"]),
        ("+=", &["__iadd__", "__add__"]),
        ("-", &["__sub__", "__neg__"]),
        ("*", &["__mul__", "__rmul__"]),
        ("/", &["__truediv__"]),
        ("//", &["__floordiv__"]),
        ("%", &["__mod__"]),
        ("&", &["__and__"]),
        ("|", &["__or__"]),
        ("^", &["__xor__"]),
        ("<<", &["__lshift__"]),
        (">>", &["__rshift__"]),
        ("attribute", &["__getattr__"]),
    ],
    untouched_macros: &[],
};
