//! Reads what linters and type checkers found.

use super::{Printed, Reading, eslint, tsc};
use crate::suite::Framework;

pub(super) fn read(framework: Framework, printed: &Printed<'_>) -> Reading {
    match framework {
        Framework::Eslint => eslint::read(printed),
        Framework::Tsc => tsc::read(printed),
        _ => Reading::default(),
    }
}
