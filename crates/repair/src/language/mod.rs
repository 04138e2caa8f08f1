//! What the search has to know about a programming language: its grammar, and what the parts it looks for are
//! called in the syntax tree. Everything else in this crate works on any language in the table.

mod described;
mod go;
mod java;
mod javascript;
mod python;
mod rust;

use greenlight_syntax::Language as Syntax;

pub(crate) use self::described::TemplateLanguage;

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
