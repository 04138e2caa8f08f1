//! Reads what linters and type checkers found: one file for each of them.

use super::{Printed, Reading, govet, mypy, ruff};
use crate::suite::Framework;

pub(super) fn read(framework: Framework, printed: &Printed<'_>) -> Reading {
    match framework {
        Framework::Ruff => ruff::read(printed.text),
        Framework::Mypy => mypy::read(printed.text),
        Framework::GoVet => govet::read(printed),
        _ => Reading::default(),
    }
}
