//! Reads what linters and type checkers found: one file for each of them.

use super::{Printed, Reading, eslint, govet, mypy, ruff, tsc};
use crate::suite::Framework;

pub(super) fn read(framework: Framework, printed: &Printed<'_>) -> Reading {
    match framework {
        Framework::Ruff => ruff::read(printed.text),
        Framework::Mypy => mypy::read(printed.text),
        Framework::Eslint => eslint::read(printed),
        Framework::Tsc => tsc::read(printed),
        Framework::GoVet => govet::read(printed),
        _ => Reading::default(),
    }
}
