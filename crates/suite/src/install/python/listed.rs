//! The dependencies listed in `pyproject.toml`, in the standard tables and in those of Poetry, PDM and uv, and in
//! `Pipfile`.

/// Names of requirement files and groups that tests need, besides `requirements` itself.
pub(super) const FOR_TESTS: [&str; 14] = [
    "base",
    "ci",
    "common",
    "core",
    "dev",
    "develop",
    "development",
    "main",
    "test",
    "testing",
    "tests",
    "unit",
    "unittest",
    "pytest",
];

/// Maximum depth of groups and extras that include others, and maximum number of requirements that an extra leads to.
const MAX_INCLUDED: u32 = 5;
const MAX_LISTED: usize = 500;

/// Names of groups that only tests need. Without one, a group for development may contain what they need.
const ONLY_TESTS: [&str; 6] = ["test", "testing", "tests", "unit", "unittest", "pytest"];

/// The requirements in `pyproject.toml`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Requirements {
    /// The project's dependencies, and the groups and extras for its tests.
    pub(super) needed: Vec<String>,
    /// Groups for development next to those for tests: tools that the tests may or may not use.
    pub(super) optional: Vec<String>,
}

/// The project's dependencies, and the groups and extras for tests, including Poetry's.
pub(super) fn requirements(table: &toml::Table) -> Requirements {
    let (extras, groups) = names_for_tests(table);
    let mut lists: Vec<(String, Vec<String>)> = Vec::new();
    for name in extras {
        let list = extra(table, &name).unwrap_or_default();
        lists.push((name, list));
    }
    for name in groups {
        let list = group_named(table, &name).unwrap_or_default();
        lists.push((name, list));
    }
    let has_tests = lists.iter().any(|(name, _)| is_only_for_tests(name));
    let mut listed = Requirements {
        needed: dependencies(table),
        optional: Vec::new(),
    };
    for (name, list) in lists {
        let is_optional = has_tests && !is_only_for_tests(&name);
        let into = if is_optional {
            &mut listed.optional
        } else {
            &mut listed.needed
        };
        into.extend(list);
    }
    let poetry = table.get("tool").and_then(|tool| tool.get("poetry"));
    let old = poetry.and_then(|poetry| poetry.get("dev-dependencies")?.as_table());
    listed.needed.extend(old.into_iter().flat_map(of_poetry_table));
    listed
}

/// The names of the extras and the groups that tests may need.
pub(super) fn names_for_tests(table: &toml::Table) -> (Vec<String>, Vec<String>) {
    let of = |lists: Option<&toml::Value>| -> Vec<String> {
        let names = lists
            .and_then(toml::Value::as_table)
            .into_iter()
            .flat_map(toml::Table::keys);
        names.filter(|name| is_group_for_tests(name)).cloned().collect()
    };
    let extras = of(table
        .get("project")
        .and_then(|project| project.get("optional-dependencies")));
    let mut groups = of(table.get("dependency-groups"));
    groups.extend(of(poetry_groups(table)));
    groups.extend(of(pdm_groups(table)));
    if uv_list(table).is_some() {
        groups.push("dev".into());
    }
    (extras, groups)
}

/// <https://pdm-project.org/en/1.15.5/pyproject/tool-pdm/#development-dependencies>
fn pdm_groups(table: &toml::Table) -> Option<&toml::Value> {
    table.get("tool")?.get("pdm")?.get("dev-dependencies")
}

/// <https://docs.astral.sh/uv/concepts/projects/dependencies/#legacy-dev-dependencies>
fn uv_list(table: &toml::Table) -> Option<&toml::Value> {
    table.get("tool")?.get("uv")?.get("dev-dependencies")
}

/// The packages of a `Pipfile`, those for development among them: <https://pipenv.pypa.io/en/latest/pipfile.html>
pub(super) fn of_pipfile(text: &str) -> Vec<String> {
    let table: toml::Table = text.parse().unwrap_or_default();
    let lists = ["packages", "dev-packages"].map(|name| table.get(name)?.as_table());
    let packages = lists.into_iter().flatten().flatten();
    let requirement = |(name, value): (&String, &toml::Value)| {
        let version = value.as_str().or_else(|| value.get("version")?.as_str())?;
        let extras = strings(value.get("extras")).join(",");
        let extras = if extras.is_empty() {
            extras
        } else {
            format!("[{extras}]")
        };
        let marker = value.get("markers").and_then(toml::Value::as_str);
        let marker = marker.map_or_else(String::new, |marker| format!("; {marker}"));
        Some(format!("{name}{extras}{}{marker}", version.trim().trim_matches('*')))
    };
    packages.filter_map(requirement).take(MAX_LISTED).collect()
}

fn poetry_groups(table: &toml::Table) -> Option<&toml::Value> {
    table.get("tool")?.get("poetry")?.get("group")
}

/// The project's own dependencies.
pub(super) fn dependencies(table: &toml::Table) -> Vec<String> {
    let project = table.get("project");
    let mut found = strings(project.and_then(|project| project.get("dependencies")));
    let poetry = table.get("tool").and_then(|tool| tool.get("poetry"));
    let described = poetry
        .filter(|_| project.is_none())
        .and_then(|poetry| poetry.get("dependencies")?.as_table());
    found.extend(described.into_iter().flat_map(of_poetry_table));
    found
}

/// What one of the project's extras asks for. `None` if `pyproject.toml` does not list it.
pub(super) fn extra(table: &toml::Table, name: &str) -> Option<Vec<String>> {
    let mut found = Vec::new();
    extend_with_extra(table, name, MAX_INCLUDED, &mut found)?;
    Some(found)
}

/// What all of the project's extras ask for.
pub(super) fn all_extras(table: &toml::Table) -> Vec<String> {
    let lists = table
        .get("project")
        .and_then(|project| project.get("optional-dependencies"));
    let names = lists
        .and_then(toml::Value::as_table)
        .into_iter()
        .flat_map(toml::Table::keys);
    let mut found: Vec<String> = names.filter_map(|name| extra(table, name)).flatten().collect();
    found.sort_unstable();
    found.dedup();
    found
}

fn extend_with_extra(table: &toml::Table, name: &str, depth: u32, found: &mut Vec<String>) -> Option<()> {
    let project = table.get("project")?;
    let lists = project.get("optional-dependencies")?.as_table()?;
    let (_, list) = lists.iter().find(|(key, _)| normal(key) == normal(name))?;
    let own = project.get("name").and_then(toml::Value::as_str).map(normal);
    for requirement in strings(Some(list)) {
        // An extra may include others of the same project; its package in the registry is another version.
        let included = requirement.strip_suffix(']').and_then(|text| text.split_once('['));
        match included.filter(|(package, _)| own.as_deref() == Some(normal(package).as_str())) {
            Some((_, names)) if depth > 0 => {
                for name in names.split(',') {
                    extend_with_extra(table, name.trim(), depth - 1, found);
                }
            }
            Some(_) => {}
            None if found.len() < MAX_LISTED => found.push(requirement),
            None => {}
        }
    }
    Some(())
}

/// What one of the project's dependency groups asks for. `None` if `pyproject.toml` does not list it.
pub(super) fn group_named(table: &toml::Table, name: &str) -> Option<Vec<String>> {
    let groups = table.get("dependency-groups").and_then(toml::Value::as_table);
    if groups.is_some_and(|groups| groups.contains_key(name)) {
        return Some(group(groups, name, MAX_INCLUDED));
    }
    if let Some(list) = pdm_groups(table).and_then(|groups| groups.get(name)) {
        return Some(strings(Some(list)));
    }
    if let Some(list) = uv_list(table).filter(|_| name == "dev") {
        return Some(strings(Some(list)));
    }
    let group = poetry_groups(table)?.get(name)?.get("dependencies")?.as_table()?;
    Some(of_poetry_table(group))
}

/// <https://packaging.python.org/en/latest/specifications/name-normalization/>
fn normal(name: &str) -> String {
    name.trim().to_ascii_lowercase().replace(['_', '.'], "-")
}

fn of_poetry_table(list: &toml::Table) -> Vec<String> {
    let packages = list.iter().filter(|(name, _)| *name != "python");
    packages.filter_map(|(name, value)| of_poetry(name, value)).collect()
}

fn is_only_for_tests(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.split(['-', '_', '.']).any(|word| ONLY_TESTS.contains(&word))
}

fn is_group_for_tests(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.split(['-', '_', '.']).all(|word| FOR_TESTS.contains(&word))
}

fn strings(value: Option<&toml::Value>) -> Vec<String> {
    let list = value.and_then(toml::Value::as_array).into_iter().flatten();
    list.filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

/// A group and the groups that it includes, see <https://peps.python.org/pep-0735/>.
fn group(groups: Option<&toml::Table>, name: &str, depth: u32) -> Vec<String> {
    let list = groups.and_then(|groups| groups.get(name));
    let mut found = strings(list);
    for item in list
        .and_then(toml::Value::as_array)
        .into_iter()
        .flatten()
        .filter(|_| depth > 0)
    {
        if let Some(included) = item.get("include-group").and_then(toml::Value::as_str) {
            found.extend(group(groups, included, depth - 1));
        }
    }
    found
}

/// Converts a Poetry requirement to the standard syntax: `^1.2` means at least 1.2, and below the next breaking
/// version.
fn of_poetry(name: &str, value: &toml::Value) -> Option<String> {
    let is_optional = value.get("optional").and_then(toml::Value::as_bool) == Some(true);
    let version = value
        .as_str()
        .or_else(|| value.get("version")?.as_str())
        .filter(|_| !is_optional)?;
    let marker = value
        .get("markers")
        .and_then(toml::Value::as_str)
        .map(|marker| format!("; {marker}"));
    let versions: Vec<String> = version.split(',').map(|part| compatible(part.trim())).collect();
    Some(format!(
        "{name}{}{}",
        versions.join(",").trim_matches(','),
        marker.unwrap_or_default()
    ))
}

fn compatible(version: &str) -> String {
    let next = |number: &str, keep: usize| -> Option<String> {
        let mut parts: Vec<u32> = number.split('.').map_while(|part| part.parse().ok()).collect();
        parts.truncate(keep);
        *parts.last_mut()? += 1;
        let parts: Vec<String> = parts.iter().map(u32::to_string).collect();
        Some(parts.join("."))
    };
    let bounded = |number: &str, keep: usize| match next(number, keep) {
        Some(next) => format!(">={number},<{next}"),
        None => format!(">={number}"),
    };
    if let Some(number) = version.strip_prefix('^') {
        bounded(number, 1 + number.split('.').take_while(|part| *part == "0").count())
    } else if let Some(number) = version.strip_prefix('~').filter(|number| !number.starts_with('=')) {
        bounded(number, 2)
    } else if version == "*" {
        String::new()
    } else if version.starts_with(|c: char| c.is_ascii_digit()) {
        format!("=={version}")
    } else {
        version.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_managers_list_groups_and_packages() {
        let table: toml::Table = "[tool.pdm.dev-dependencies]\ntest = ['hypothesis>=6']\ndocs = ['sphinx']\n\
                                  [tool.uv]\ndev-dependencies = ['pytest']\n"
            .parse()
            .unwrap();
        assert_eq!(group_named(&table, "docs"), Some(vec!["sphinx".into()]));
        assert_eq!(group_named(&table, "dev"), Some(vec!["pytest".into()]));
        let found = requirements(&table);
        assert_eq!(
            (found.needed, found.optional),
            (vec!["hypothesis>=6".into()], vec!["pytest".into()])
        );
        let pipfile = "[[source]]\nurl = 'https://x'\n[packages]\nsix = '*'\nown = { path = '.' }\n\
                       httpx = { version = '>=1', extras = ['http2'], markers = \"os_name == 'posix'\" }\n\
                       [dev-packages]\npytest = '==9.0'\n";
        assert_eq!(
            of_pipfile(pipfile),
            ["httpx[http2]>=1; os_name == 'posix'", "six", "pytest==9.0"]
        );
        assert!(of_pipfile("no table").is_empty());
    }

    #[test]
    fn every_way_to_list_what_tests_need_is_read() {
        let table: toml::Table = r#"
            [project]
            name = "Own_Name"
            dependencies = ["click>=8"]
            [project.optional-dependencies]
            all = ["own-name[test, docs]"]
            docs = ["sphinx"]
            test = ["freezegun"]
            [dependency-groups]
            tests = ["pytest>9", { include-group = "fast" }]
            fast = ["pytest-xdist"]
            [tool.poetry.group.dev.dependencies]
            attrs = "^21.4.0"
            zero = "^0.3.1"
            close = { version = "~1.2", markers = "python_version < '3.9'" }
            any = "*"
            exact = "1.0"
            left-out = { version = "1", optional = true }
        "#
        .parse()
        .unwrap();
        let found = requirements(&table);
        assert_eq!(
            (&found.optional, extra(&table, "all")),
            (
                &[
                    "any",
                    "attrs>=21.4.0,<22",
                    "close>=1.2,<1.3; python_version < '3.9'",
                    "exact==1.0",
                    "zero>=0.3.1,<0.4"
                ]
                .map(String::from)
                .to_vec(),
                Some(vec!["freezegun".into(), "sphinx".into()])
            )
        );
        assert_eq!(all_extras(&table), ["freezegun", "sphinx"]);
        let mut found = [found.needed, found.optional].concat();
        found.sort_unstable();
        assert_eq!(
            found,
            [
                "any",
                "attrs>=21.4.0,<22",
                "click>=8",
                "close>=1.2,<1.3; python_version < '3.9'",
                "exact==1.0",
                "freezegun",
                "pytest-xdist",
                "pytest>9",
                "zero>=0.3.1,<0.4",
            ]
        );
    }
}
