//! Reads what linters and type checkers found.

use super::{Printed, Reading, govet};
use crate::suite::Framework;

pub(super) fn read(framework: Framework, printed: &Printed<'_>) -> Reading {
    match framework {
        Framework::GoVet => govet::read(printed),
        _ => Reading::default(),
    }
}
