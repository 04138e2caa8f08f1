//! Reads the TRX reports of `dotnet test`, and what it prints.

use super::{Printed, Reading};

pub(super) fn read(_printed: &Printed<'_>) -> Reading {
    Reading::default()
}
