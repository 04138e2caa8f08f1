//! Reads what linters and type checkers found; one file per tool.

use super::{Printed, Reading, mypy, ruff};
use crate::suite::Framework;

pub(super) fn read(framework: Framework, printed: &Printed<'_>) -> Reading {
    match framework {
        Framework::Ruff => ruff::read(printed.text),
        Framework::Mypy => mypy::read(printed.text),
        _ => Reading::default(),
    }
}
