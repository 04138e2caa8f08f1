//! Projects of .NET tests, and the solutions they belong to.

use crate::discover::directory::Directory;
use crate::discover::others;
use crate::framework::Framework;
use crate::test_command::{TestCommand, leave_out};

/// References and properties that identify a test project.
const MARKS: [&str; 8] = [
    "Microsoft.NET.Test.Sdk",
    "<IsTestProject>true",
    "MSTest.Sdk",
    "\"TUnit\"",
    // By their names, its projects are test projects:
    // <https://github.com/dotnet/arcade/blob/main/Documentation/ArcadeSdk.md>
    "Microsoft.DotNet.Arcade.Sdk",
    // Projects that are run without the SDK's test host:
    // <https://learn.microsoft.com/dotnet/core/testing/microsoft-testing-platform-intro>
    "\"xunit.v3",
    "<UseMicrosoftTestingPlatformRunner>true",
    "<TestingPlatformDotnetTestSupport>true",
];

/// Maximum number of folders above a project in which a solution is looked for, of solutions in one, and size of one.
const MAX_ABOVE: usize = 4;
const MAX_SOLUTIONS: usize = 10;
const MAX_SOLUTION: usize = 1 << 20;

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
    let projects = place.files().filter(|path| is_project(path)).take(others::MAX_READ);
    let tests: Vec<&str> = projects.filter(is_test).collect();
    let test = *tests.first()?;
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
        [] => {
            let named = above(place, test, &tests).or_else(|| beside(place, &tests));
            let mut command = place.command(
                &["dotnet", "test", named.unwrap_or(test)],
                Framework::Dotnet,
                named.unwrap_or(test),
            )?;
            for other in tests.iter().skip(1).filter(|_| named.is_none()) {
                leave_out(&mut command.left_out, &format!("dotnet test {other}"));
            }
            Some(command)
        }
    }
}

/// The solution anywhere in the tree that names most test projects by their paths, if it names several.
fn beside<'p>(place: &'p Directory<'_>, tests: &[&str]) -> Option<&'p str> {
    let solutions = place
        .files()
        .filter(|path| path.ends_with(".sln") || path.ends_with(".slnx"));
    let counted = solutions.take(MAX_SOLUTIONS).map(|solution| {
        let text = place.text(solution).filter(|text| text.len() <= MAX_SOLUTION);
        let text = text.unwrap_or_default().replace('\\', "/");
        let folder = solution.rsplit_once('/').map_or("", |(folder, _)| folder);
        let up = "../".repeat(folder.split('/').filter(|part| !part.is_empty()).count());
        let named = tests.iter().filter(|test| text.contains(&format!("{up}{test}")));
        (named.count(), solution)
    });
    let best = counted.reduce(|best, next| if next.0 > best.0 { next } else { best });
    best.filter(|(named, _)| *named > 1).map(|(_, solution)| solution)
}

/// The nearest solution above a test project that names several: of those in one folder, the one that names most.
fn above<'p>(place: &'p Directory<'_>, test: &str, tests: &[&str]) -> Option<&'p str> {
    let mut folder = test;
    for _ in 0..MAX_ABOVE {
        folder = folder.rsplit_once('/')?.0;
        let is_solution = |name: &str| !name.contains('/') && (name.ends_with(".sln") || name.ends_with(".slnx"));
        let inside = |path: &str| {
            path.strip_prefix(folder)
                .and_then(|rest| rest.strip_prefix('/'))
                .map(str::len)
        };
        let is_here = |path: &&str| inside(path).is_some_and(|length| is_solution(&path[path.len() - length..]));
        let names = |solution: &&str| {
            let text = place
                .text(solution)
                .filter(|text| text.len() <= MAX_SOLUTION)
                .unwrap_or_default();
            let names = |path: &&&str| inside(path).is_some() && text.contains(others::file_name(path));
            tests.iter().filter(names).count()
        };
        let solutions = place.files().filter(is_here).take(MAX_SOLUTIONS);
        // The first of those that name as many.
        let best = solutions
            .map(|solution| (names(&solution), solution))
            .reduce(|best, next| if next.0 > best.0 { next } else { best });
        if let Some((_, solution)) = best.filter(|(named, _)| *named > 1) {
            return Some(solution);
        }
    }
    None
}

/// Beside `A.sln`, others such as `A.Docs.sln` are for a purpose.
fn main_of<'a>(solutions: &[&'a str]) -> Option<&'a str> {
    let starts_all = |name: &&&str| {
        let stem = name.rsplit_once('.').map_or(**name, |(stem, _)| stem);
        solutions.iter().all(|other| other.starts_with(stem))
    };
    solutions.iter().find(starts_all).copied()
}

#[cfg(test)]
mod tests {
    use greenlight_tree::checkout::Checkout;

    use crate::discover::{Hints, find};
    use crate::test_command::TestSettings;

    #[track_caller]
    fn check(solutions: &[(&str, &str)], expected: &str) {
        let project = "<PackageReference Include=\"Microsoft.NET.Test.Sdk\" />";
        let projects = [
            ("lib/src/a.Tests/a.Tests.csproj", project),
            ("lib/src/b.Tests/b.Tests.csproj", project),
        ];
        let tree = tempfile::tempdir().unwrap();
        for (path, text) in projects.iter().chain(solutions) {
            let path = tree.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let checkout = Checkout::open(tree.path()).unwrap();
        let settings = TestSettings::default();
        let found = find(&checkout, &settings, &Hints::default()).unwrap();
        assert_eq!(found.argv.join(" "), expected);
    }

    #[test]
    fn the_solution_above_a_project_is_the_one_with_most_tests() {
        let one = ("lib/src/a.sln", "a.Tests.csproj");
        let all = ("lib/src/all.slnx", "a.Tests.csproj b.Tests.csproj");
        let above = ("lib/all.sln", "a.Tests.csproj b.Tests.csproj");
        check(&[one, all, above], "dotnet test lib/src/all.slnx");
        check(&[one, above], "dotnet test lib/all.sln");
        check(&[above], "dotnet test lib/all.sln");
        let first = "dotnet test lib/src/a.Tests/a.Tests.csproj";
        check(&[one, ("lib/docs.sln", ""), ("other/all.sln", above.1)], first);
        let named = "\"..\\lib\\src\\a.Tests\\a.Tests.csproj\" \"..\\lib\\src\\b.Tests\\b.Tests.csproj\"";
        check(&[("other/all.sln", named)], "dotnet test other/all.sln");
    }
}
