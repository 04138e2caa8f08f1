//! .NET: a solution, or a project that says that it is one of tests.

use super::{MAX_READ, Place};
use crate::suite::{Framework, TestCommand};

/// What a project of tests refers to, or calls itself.
const MARKS: [&str; 4] = [
    "Microsoft.NET.Test.Sdk",
    "<IsTestProject>true",
    "MSTest.Sdk",
    "\"TUnit\"",
];

pub(super) fn find(place: &Place<'_>) -> Option<TestCommand> {
    let is_project = |path: &str| [".csproj", ".fsproj", ".vbproj"].iter().any(|end| path.ends_with(end));
    let is_test = |path: &&str| {
        place
            .text(path)
            .is_some_and(|text| MARKS.iter().any(|mark| text.contains(mark)))
    };
    let test = place
        .files()
        .filter(|path| is_project(path))
        .take(MAX_READ)
        .find(is_test)?;
    let here = |end: &str| {
        place
            .files()
            .filter(|path| !path.contains('/') && path.ends_with(end))
            .collect::<Vec<_>>()
    };
    let solutions = [here(".sln"), here(".slnx")].concat();
    match solutions.as_slice() {
        [only] => place.command(&["dotnet", "test"], Framework::Dotnet, only),
        [first, ..] => place.command(&["dotnet", "test", first], Framework::Dotnet, first),
        // Without a solution it takes the project of the directory, or the one that is named.
        [] if !test.contains('/') => place.command(&["dotnet", "test"], Framework::Dotnet, test),
        [] => place.command(&["dotnet", "test", test], Framework::Dotnet, test),
    }
}
