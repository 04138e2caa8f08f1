//! Compares the documented settings with the code that reads them: the example of a `greenlight.toml`, and the inputs
//! of the action.

use std::collections::BTreeSet;

use clap::Args as _;
use greenlight::config::flags::Flags;
use greenlight::config::repository::{RepoConfig, SCHEMA_URL};
use greenlight::config::schema::{schema, schema_text};

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The example with its `#:` lines uncommented.
fn uncommented() -> String {
    read("greenlight.example.toml").replace("\n#: ", "\n")
}

/// The fields of a section, as the parser lists them in its error about an unknown field.
fn fields(section: &str) -> Vec<String> {
    let header = if section.is_empty() {
        String::new()
    } else {
        format!("[{section}]\n")
    };
    RepoConfig::parse(&format!("{header}no_such_field_anywhere = 1"))
        .unwrap_err()
        .known
}

#[test]
fn the_example_shows_the_defaults() {
    assert_eq!(
        RepoConfig::parse(&read("greenlight.example.toml")),
        Ok(RepoConfig::default())
    );
}

#[test]
fn the_example_with_every_line_switched_on_is_understood() {
    let config = RepoConfig::parse(&uncommented()).unwrap();
    assert_eq!(config.test.command.as_deref(), Some("pytest -q"));
    assert_eq!(config.limits.day.patch_lines, Some(2_000));
    // Only fields without a default may differ from the defaults.
    let default = RepoConfig::default();
    assert_eq!(
        (config.execution, &config.gate, &config.sandbox),
        (default.execution, &default.gate, &default.sandbox)
    );
}

#[test]
fn the_example_explains_every_field_there_is() {
    let example: toml::Table = uncommented().parse().unwrap();
    let mut sections: Vec<(String, toml::Table)> = vec![(String::new(), example)];
    let mut seen = Vec::new();
    while let Some((section, table)) = sections.pop() {
        let shown: BTreeSet<String> = table.keys().cloned().collect();
        let there_are: BTreeSet<String> = fields(&section).into_iter().collect();
        assert!(!there_are.is_empty(), "[{section}]");
        assert_eq!(shown, there_are, "[{section}]");
        seen.push(section.clone());
        for (key, value) in table {
            if let toml::Value::Table(inner) = value {
                sections.push((format!("{section}.{key}").trim_start_matches('.').into(), inner));
            }
        }
    }
    assert!(seen.contains(&"limits.day".into()) && seen.len() == 13, "{seen:?}");
}

#[test]
fn every_field_of_the_example_has_a_comment_above_it() {
    let text = read("greenlight.example.toml");
    let mut above = "";
    for line in text.lines() {
        let field = line.trim_start_matches("#: ");
        let is_field = field.starts_with(|c: char| c.is_ascii_lowercase()) && field.contains(" = ");
        let in_day = line.starts_with("#: ") && above.starts_with("#: ") || above.starts_with("[limits.");
        assert!(!is_field || above.starts_with("# ") || in_day, "{line}");
        above = line;
    }
}

#[test]
fn the_action_sets_variables_that_are_read() {
    let action = read("action.yml");
    let flags = Flags::augment_args(clap::Command::new("greenlight"));
    let help: String = flags
        .get_arguments()
        .filter_map(|flag| Some(flag.get_help()?.to_string() + "\n"))
        .collect();
    let lines = action
        .lines()
        .filter_map(|line| line.trim().split_once(": ${{ inputs."));
    let set: BTreeSet<(&str, &str)> = lines
        .filter(|(name, _)| name.starts_with("GREENLIGHT_"))
        .map(|(name, rest)| (name, rest.trim_end_matches(" }}")))
        .collect();
    assert!(set.len() >= 5, "{set:?}");
    for (variable, input) in set {
        assert!(help.contains(variable), "{variable} is read by nobody");
        let meant = variable
            .trim_start_matches("GREENLIGHT_")
            .to_lowercase()
            .replace('_', "-");
        assert_eq!(meant, input);
    }
}

/// The schema that is published is the generated one; `just schema` writes it.
#[test]
fn the_published_schema_is_up_to_date() {
    let path = "docs/greenlight.schema.json";
    assert!(SCHEMA_URL.ends_with(&format!("/v{}/{path}", env!("CARGO_PKG_VERSION"))));
    assert!(
        read(path) == schema_text(),
        "{path} is outdated: `just schema` writes it"
    );
}

#[test]
fn the_schema_accepts_what_the_parser_accepts() {
    let schema = schema();
    assert!(jsonschema::draft7::meta::is_valid(&schema));
    let validator = jsonschema::validator_for(&schema).unwrap();
    let problems = |text: &str| -> Vec<String> {
        let file: serde_json::Value = toml::from_str(text).unwrap();
        validator.iter_errors(&file).map(|error| error.to_string()).collect()
    };
    for good in [read("greenlight.example.toml"), uncommented(), String::new()] {
        assert_eq!(problems(&good), [""; 0]);
    }
    for bad in [
        "excution = \"approve\"",
        "execution = \"always\"",
        "limits.turns = 0",
        "limits.day.turns = \"many\"",
        "limits.cost_usd = -1",
        "test.timeout = 600",
        "test.timeout = \"600\"",
        "test.command = \"a\\nb\"",
        "sandbox.memory = \"2GB\"",
        "sandbox.network = [\"https://pypi.org\"]",
        "sandbox.require = [\"memmory\"]",
        "protect.paths = [\"!a\"]",
        "gate.no_such_field = 1",
    ] {
        assert_eq!(problems(bad).len(), 1, "{bad}");
        assert!(RepoConfig::parse(bad).is_err(), "{bad}");
    }
}
