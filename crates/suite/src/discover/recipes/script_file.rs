//! Scripts that go to a folder by their own path, as in `cd "$(dirname "$0")/.."`.

use std::sync::LazyLock;

use regex::{NoExpand, Regex};

use crate::discover::directory::Directory;
use crate::text::pattern;

/// The ways in which a script names the folder that it is in.
static FOLDER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let own = r#"(?:\$0|\$\{0\}|\$\{?BASH_SOURCE(?:\[0\])?\}?)"#;
    let own = format!(r#""?{own}"?"#);
    let real = format!(r#"(?:{own}|"?\$\((?:readlink -f|realpath) (?:-- )?{own}\)"?)"#);
    pattern(&format!(
        r#"\$\( *dirname (?:-- )?{real} *\)|`dirname (?:-- )?{own}`|\$\{{(?:0|BASH_SOURCE(?:\[0\])?)%/\*\}}"#
    ))
});
/// `$(cd folder && pwd)`
static ENTERED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r#"\$\( *cd (?:-P |-- )*"?(?P<folder>[A-Za-z0-9_./-]+)"? *(?:&?>|1>)? *(?:/dev/null)? *(?:2>&1)? *(?:&&|;) *pwd(?: -P)? *\)"#,
    )
});

/// The text of a script with the path of its folder where it asks for that.
pub(super) fn with_its_folder(text: &str, place: &Directory<'_>, path: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
    let (Some(folder), Some(entered)) = (FOLDER.as_ref(), ENTERED.as_ref()) else {
        return text.to_owned();
    };
    let own = path.rsplit_once('/').map_or(".", |(folder, _)| folder);
    let root = place.path(".");
    if !own.chars().chain(root.chars()).all(is_plain) {
        return text.to_owned();
    }
    let text = folder.replace_all(text, NoExpand(own));
    let absolute = format!("$${{GITHUB_WORKSPACE}}/{root}/$folder");
    entered.replace_all(&text, absolute.as_str()).into_owned()
}

#[cfg(test)]
mod tests {
    use greenlight_tree::checkout::Checkout;

    use super::*;

    #[test]
    fn a_script_knows_its_folder() {
        let tree = tempfile::tempdir().unwrap();
        let checkout = Checkout::open(tree.path()).unwrap();
        let place = Directory {
            checkout: &checkout,
            directory: None,
        };
        for (line, expected) in [
            (r#"cd "$(dirname "$0")/..""#, r#"cd "scripts/..""#),
            ("cd $(dirname $0)", "cd scripts"),
            ("cd `dirname $0`/../x", "cd scripts/../x"),
            (r#"cd "${0%/*}/..""#, r#"cd "scripts/..""#),
            (r#"cd "$(dirname "${BASH_SOURCE[0]}")""#, r#"cd "scripts""#),
            (r#"cd "$(dirname "$(readlink -f "$0")")""#, r#"cd "scripts""#),
            (
                r#"HERE="$( cd "$( dirname "${BASH_SOURCE[0]}" )" && pwd )""#,
                r#"HERE="${GITHUB_WORKSPACE}/./scripts""#,
            ),
            (
                r#"ROOT=$(cd "$(dirname "$0")/.." && pwd)"#,
                "ROOT=${GITHUB_WORKSPACE}/./scripts/..",
            ),
            (
                r#"ROOT="$(cd -- "$(dirname -- "$0")" >/dev/null 2>&1; pwd -P)""#,
                r#"ROOT="${GITHUB_WORKSPACE}/./scripts""#,
            ),
        ] {
            assert_eq!(with_its_folder(line, &place, "scripts/test"), expected);
        }
        assert_eq!(
            with_its_folder("cd $(dirname $0)", &place, "a b/test"),
            "cd $(dirname $0)"
        );
    }
}
