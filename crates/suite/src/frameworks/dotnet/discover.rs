//! Projects of .NET tests, and the solutions they belong to.

use crate::discover::directory::Directory;
use crate::discover::others;
use crate::framework::Framework;
use crate::test_command::TestCommand;

/// References and properties that identify a test project.
const MARKS: [&str; 4] = [
    "Microsoft.NET.Test.Sdk",
    "<IsTestProject>true",
    "MSTest.Sdk",
    "\"TUnit\"",
];

/// A solution, or a project that is a test project.
pub(super) fn discover(place: &Directory<'_>) -> Option<TestCommand> {
    let is_project = |path: &str| [".csproj", ".fsproj", ".vbproj"].iter().any(|end| path.ends_with(end));
    let says = |path: &str| {
        place
            .text(path)
            .is_some_and(|text| MARKS.iter().any(|mark| text.contains(mark)))
    };
    // Properties that several projects share, as MSBuild imports them.
    let is_shared = |path: &&str| [".props", ".targets"].iter().any(|end| path.ends_with(end));
    let mut shared = place.files().filter(is_shared).take(others::MAX_READ);
    let is_told_elsewhere = shared.any(says);
    let is_named = |path: &str| is_told_elsewhere && others::file_name(path).contains("Test");
    let is_test = |path: &&str| says(path) || is_named(path);
    let test = place
        .files()
        .filter(|path| is_project(path))
        .take(others::MAX_READ)
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
        [first, ..] => place.command(
            &["dotnet", "test", main_of(&solutions).unwrap_or(first)],
            Framework::Dotnet,
            first,
        ),
        // Without a solution it uses the project in its directory, or the one that is named.
        [] if !test.contains('/') => place.command(&["dotnet", "test"], Framework::Dotnet, test),
        [] => place.command(&["dotnet", "test", test], Framework::Dotnet, test),
    }
}

/// Beside `A.sln`, others such as `A.Docs.sln` are for a purpose.
fn main_of<'a>(solutions: &[&'a str]) -> Option<&'a str> {
    let starts_all = |name: &&&str| {
        let stem = name.rsplit_once('.').map_or(**name, |(stem, _)| stem);
        solutions.iter().all(|other| other.starts_with(stem))
    };
    solutions.iter().find(starts_all).copied()
}
