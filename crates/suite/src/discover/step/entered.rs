//! Options of package managers that run a command in another folder, such as `npm test -w web`.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use greenlight_anchor::RepoPath;
use greenlight_tree::checkout::Checkout;

use crate::discover::directory::is_directory;
use crate::discover::workspaces;
use crate::shell::SimpleCommand;

/// Maximum size of a manifest, and number of manifests that are searched for the name of a package.
const MAX_MANIFEST: usize = 256 << 10;
const MAX_MANIFESTS: usize = 500;
/// Maximum number of packages of one line.
const MAX_PACKAGES: usize = 12;

/// How a package manager is told where to run.
struct Options {
    program: &'static str,
    /// Their value is a folder.
    folder: &'static [&'static str],
    /// Their value is a package of the workspace, or its folder.
    package: &'static [&'static str],
}

const OPTIONS: [Options; 7] = [
    // <https://docs.npmjs.com/cli/using-npm/config>
    Options {
        program: "npm",
        folder: &["--prefix", "-C"],
        package: &["-w", "--workspace"],
    },
    // <https://pnpm.io/filtering>
    Options {
        program: "pnpm",
        folder: &["-C", "--dir"],
        package: &["-F", "--filter"],
    },
    // <https://yarnpkg.com/cli/workspace>
    Options {
        program: "yarn",
        folder: &["--cwd"],
        package: &["workspace"],
    },
    Options {
        program: "bun",
        folder: &["--cwd"],
        package: &["-F", "--filter"],
    },
    // <https://docs.astral.sh/uv/reference/cli/#uv-run>
    Options {
        program: "uv",
        folder: &["--directory"],
        package: &[],
    },
    Options {
        program: "poetry",
        folder: &["-C", "--directory"],
        package: &[],
    },
    Options {
        program: "composer",
        folder: &["-d", "--working-dir"],
        package: &[],
    },
];

/// The packages of a workspace, which are looked for once they are needed.
pub(super) struct Packages<'c> {
    pub(super) checkout: &'c Checkout,
    folders: OnceCell<BTreeMap<String, RepoPath>>,
}

impl<'c> Packages<'c> {
    pub(super) fn new(checkout: &'c Checkout) -> Self {
        Self {
            checkout,
            folders: OnceCell::new(),
        }
    }

    /// The folder of the package of this name.
    fn folder(&self, name: &str) -> Option<&RepoPath> {
        let folders = self.folders.get_or_init(|| {
            let members = workspaces::members(self.checkout).into_iter().take(MAX_MANIFESTS);
            let named = members.filter_map(|folder| {
                let text = self.checkout.read_text(&format!("{folder}/package.json"))?;
                let text = Some(text).filter(|text| text.len() <= MAX_MANIFEST)?;
                let manifest: serde_json::Value = serde_json::from_str(&text).ok()?;
                Some((manifest.get("name")?.as_str()?.to_owned(), folder))
            });
            named.collect()
        });
        folders.get(name)
    }
}

/// An option of a line that says where it runs.
struct PlaceOption {
    /// The index of its word.
    at: usize,
    /// The number of its words.
    length: usize,
    value: String,
    is_folder: bool,
}

/// The options of a line that say where it runs its command.
fn places(words: &[String]) -> Vec<PlaceOption> {
    let program = words.first().map_or("", String::as_str);
    let Some(options) = OPTIONS.iter().find(|options| options.program == program) else {
        return Vec::new();
    };
    // What comes after it is for the command.
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let found = (1..end).filter_map(|at| {
        let (name, joined) = match words[at].split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (words[at].as_str(), None),
        };
        let is_folder = options.folder.contains(&name);
        if !is_folder && !options.package.contains(&name) {
            return None;
        }
        let length = if joined.is_some() { 1 } else { 2 };
        let value = joined.or(words.get(at + 1).map(String::as_str))?.to_owned();
        Some(PlaceOption {
            at,
            length,
            value,
            is_folder,
        })
    });
    found.collect()
}

/// A line for several packages of a workspace, as one line for each. Unchanged if one of them is unknown.
pub(super) fn for_each_package(packages: &Packages<'_>, line: SimpleCommand) -> Vec<SimpleCommand> {
    let places = places(&line.words);
    let is_known = |place: &PlaceOption| !place.is_folder && packages.folder(&place.value).is_some();
    if places.len() < 2 || places.len() > MAX_PACKAGES || !places.iter().all(is_known) {
        return vec![line];
    }
    let only = |wanted: &PlaceOption| {
        let is_of_another = |at: usize| {
            let others = places.iter().filter(|other| other.at != wanted.at);
            others
                .into_iter()
                .any(|other| (other.at..other.at + other.length).contains(&at))
        };
        let words = line.words.iter().enumerate();
        let words = words
            .filter(|(at, _)| !is_of_another(*at))
            .map(|(_, word)| word.clone());
        SimpleCommand {
            words: words.collect(),
            ..line.clone()
        }
    };
    places.iter().map(only).collect()
}

/// The folder in which a line runs its command, and the command without the option that says so. Unchanged if there is
/// none, if there are several, or if the folder is unknown.
pub(super) fn entered(
    packages: &Packages<'_>,
    directory: Option<RepoPath>,
    mut words: Vec<String>,
) -> (Option<RepoPath>, Vec<String>) {
    let places = places(&words);
    let [place] = places.as_slice() else {
        return (directory, words);
    };
    let below = below(directory.as_ref(), &place.value).filter(|path| is_directory(packages.checkout, path));
    let inner = match place.is_folder {
        true => below,
        false => packages
            .folder(&place.value)
            .cloned()
            .or(below.filter(|_| place.value.contains('/'))),
    };
    if inner.is_none() {
        return (directory, words);
    }
    words.drain(place.at..(place.at + place.length).min(words.len()));
    (inner, words)
}

fn below(directory: Option<&RepoPath>, value: &str) -> Option<RepoPath> {
    let value = value.trim_matches(['{', '}']);
    let value = value.trim_start_matches("./").trim_end_matches('/');
    match directory {
        Some(above) => format!("{above}/{value}").parse().ok(),
        None => value.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discover::tests::tree;

    #[test]
    fn the_folder_that_an_option_names_is_entered() {
        let (_tree, checkout) = tree(&[
            ("package.json", r#"{"workspaces": ["packages/*"]}"#),
            ("packages/a/package.json", r#"{"name": "@x/a"}"#),
            ("packages/b/package.json", r#"{"name": "b"}"#),
            ("libs/b/pyproject.toml", "[project]\nname = 'b'\n"),
        ]);
        for (line, expected) in [
            ("npm test -w @x/a", "packages/a: npm test"),
            ("npm run test --workspace=packages/a", "packages/a: npm run test"),
            ("npm --prefix packages/a test", "packages/a: npm test"),
            ("pnpm --filter @x/a test -- -w x", "packages/a: pnpm test -- -w x"),
            ("pnpm -F ./packages/a run test", "packages/a: pnpm run test"),
            ("pnpm --filter {packages/a} test", "packages/a: pnpm test"),
            ("yarn workspace @x/a test", "packages/a: yarn test"),
            ("uv run --directory libs/b pytest", "libs/b: uv run pytest"),
            ("poetry -C libs/b run pytest", "libs/b: poetry run pytest"),
        ] {
            let words = line.split(' ').map(String::from).collect();
            let (directory, words) = entered(&Packages::new(&checkout), None, words);
            let directory = directory.map_or_else(String::new, |directory| directory.to_string());
            assert_eq!(format!("{directory}: {}", words.join(" ")), expected);
        }
        let line = |line: &str| SimpleCommand {
            words: line.split(' ').map(String::from).collect(),
            ..SimpleCommand::default()
        };
        let each = |text: &str| {
            let lines = for_each_package(&Packages::new(&checkout), line(text)).into_iter();
            lines.map(|line| line.words.join(" ")).collect::<Vec<_>>().join("; ")
        };
        assert_eq!(
            each("pnpm --filter @x/a -F b run test -- -F c"),
            "pnpm --filter @x/a run test -- -F c; pnpm -F b run test -- -F c"
        );
        for unchanged in ["pnpm --filter @x/a --filter other test", "npm test -w @x/a", "pytest"] {
            assert_eq!(each(unchanged), unchanged);
        }
        // Unknown, outside of the tree, or several.
        for line in [
            "npm test -w other",
            "npm test -w @x/a -w b",
            "pnpm --filter @x/a... test",
            "npm --prefix ../up test",
            "npm --prefix",
            "npm test -- -w @x/a",
            "pytest -C libs/b",
            // It only chooses the environment.
            "uv run --package b pytest",
        ] {
            let words: Vec<String> = line.split(' ').map(String::from).collect();
            assert_eq!(
                entered(&Packages::new(&checkout), None, words.clone()),
                (None, words),
                "{line}"
            );
        }
    }
}
