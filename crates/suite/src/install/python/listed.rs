//! The dependencies listed in `pyproject.toml`, in the standard tables and in Poetry's.

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

/// Maximum depth of groups that include groups.
const MAX_INCLUDED: u32 = 5;

/// The requirements in `pyproject.toml`: its dependencies, and the groups and extras for tests, including Poetry's.
pub(super) fn requirements(table: &toml::Table) -> Vec<String> {
    let project = table.get("project");
    let mut found = strings(project.and_then(|project| project.get("dependencies")));
    let extras = project
        .and_then(|project| project.get("optional-dependencies"))
        .and_then(toml::Value::as_table);
    let groups = table.get("dependency-groups").and_then(toml::Value::as_table);
    for (lists, depth) in [(extras, 0), (groups, MAX_INCLUDED)] {
        for name in lists
            .into_iter()
            .flat_map(toml::Table::keys)
            .filter(|name| is_group_for_tests(name))
        {
            found.extend(group(lists, name, depth));
        }
    }
    let poetry = table.get("tool").and_then(|tool| tool.get("poetry"));
    let groups = poetry
        .and_then(|poetry| poetry.get("group")?.as_table())
        .into_iter()
        .flatten();
    let groups = groups
        .filter(|(name, _)| is_group_for_tests(name))
        .filter_map(|(_, group)| group.get("dependencies"));
    let old = poetry.and_then(|poetry| poetry.get("dev-dependencies"));
    let described = poetry
        .filter(|_| project.is_none())
        .and_then(|poetry| poetry.get("dependencies"));
    for list in groups.chain(old).chain(described).filter_map(toml::Value::as_table) {
        found.extend(
            list.iter()
                .filter(|(name, _)| *name != "python")
                .filter_map(|(name, value)| of_poetry(name, value)),
        );
    }
    found
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
    fn every_way_to_list_what_tests_need_is_read() {
        let table: toml::Table = r#"
            [project]
            dependencies = ["click>=8"]
            [project.optional-dependencies]
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
        let mut found = requirements(&table);
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
