//! The JSON schema of `greenlight.toml`, generated from the types of [`super::repository`], for editors and other tools.
//!
//! Names and descriptions are those of the fields, and defaults are those that `greenlight config show` prints. It says
//! less than [`super::parse`], which alone decides.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::field_schema::RANGE;
use super::repository::{RepoConfig, SCHEMA_URL};

/// The schema, as draft 7, which the widespread editors know.
pub fn schema() -> Value {
    let settings = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<RepoConfig>()
        .to_value();
    let defaults = RepoConfig::default().to_string();
    let defaults: Value = toml::from_str(&defaults).unwrap_or_default();
    complete(&mut schema, Some(&defaults));
    if let Value::Object(root) = &mut schema {
        root.insert("$id".into(), SCHEMA_URL.into());
        root.insert("title".into(), "greenlight.toml".into());
    }
    schema
}

/// The schema as text, with a line break at the end.
pub fn schema_text() -> String {
    format!("{:#}\n", schema())
}

/// Puts each field's default and bounds where editors show them.
fn complete(schema: &mut Value, default: Option<&Value>) {
    let Value::Object(schema) = schema else { return };
    schema.remove("default");
    describe(schema);
    if let Some(Value::Object(fields)) = schema.get_mut("properties") {
        for (name, field) in fields {
            complete(field, default.and_then(|default| default.get(name)));
        }
    } else if let Some(default) = default {
        schema.insert("default".into(), default.clone());
    }
}

/// Ends a description with the bounds, and joins its lines.
fn describe(schema: &mut Map<String, Value>) {
    let range = schema.remove(RANGE);
    let Some(Value::String(text)) = schema.get_mut("description") else {
        return;
    };
    *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some(Value::String(range)) = range {
        *text = format!("{}: {range}.", text.trim_end_matches('.'));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every field as `section.field`, with its schema.
    fn fields(prefix: &str, schema: &Value) -> Vec<(String, Value)> {
        let properties = schema["properties"].as_object().into_iter().flatten();
        let of_each = properties.flat_map(|(name, field)| {
            let path = format!("{prefix}{name}");
            match field.get("properties") {
                Some(_) => fields(&format!("{path}."), field),
                None => vec![(path, field.clone())],
            }
        });
        of_each.collect()
    }

    fn accepts(path: &str, value: &str) -> bool {
        let text = match path.rsplit_once('.') {
            Some((section, field)) => format!("[{section}]\n{field} = {value}\n"),
            None => format!("{path} = {value}\n"),
        };
        RepoConfig::parse(&text).is_ok()
    }

    #[test]
    fn every_field_is_described_and_has_its_default() {
        let fields = fields("", &schema());
        assert!(fields.len() > 30, "{}", fields.len());
        for (path, field) in &fields {
            let description = field["description"].as_str().unwrap_or_default();
            let unread = ["`None`", "[`", "  ", "\n"]
                .iter()
                .any(|rust| description.contains(rust));
            assert!(description.ends_with('.') && !unread, "{path}: {field}");
            assert!(
                field["type"].is_string() || field["oneOf"].is_array(),
                "{path}: {field}"
            );
        }
        let default = |wanted: &str| {
            let (_, field) = fields.iter().find(|(path, _)| path == wanted).unwrap();
            field.get("default").cloned()
        };
        assert_eq!(default("limits.day.turns"), Some(600.into()));
        assert_eq!(default("limits.user.turns"), None);
        assert_eq!(default("sandbox.memory"), Some("2GiB".into()));
        assert_eq!(default("execution"), Some("approve".into()));
    }

    /// The bounds of the schema are written beside those of the parser, and are the same.
    #[test]
    fn the_bounds_are_those_of_the_parser() {
        let mut compared = 0;
        for (path, field) in fields("", &schema()) {
            let bound = |name: &str| field[name].as_f64().map(|value| value as i64);
            if let (Some(least), Some(most)) = (bound("minimum"), bound("maximum")) {
                for (value, is_fine) in [(least - 1, false), (least, true), (most, true), (most + 1, false)] {
                    assert_eq!(accepts(&path, &value.to_string()), is_fine, "{path} = {value}");
                }
                compared += 1;
            }
            let Some((_, range)) = field["description"].as_str().and_then(|text| text.rsplit_once(": ")) else {
                continue;
            };
            let Some((least, most)) = range.trim_end_matches('.').split_once(" to ") else {
                continue;
            };
            let longer = |text: &str| match text.find(|c: char| !c.is_ascii_digit()).map(|at| text.split_at(at)) {
                Some((number, unit)) => format!("{}{unit}", number.parse::<u64>().unwrap() + 1),
                None => panic!("{text}"),
            };
            assert!(accepts(&path, &format!("{least:?}")), "{path}: {least}");
            assert!(accepts(&path, &format!("{most:?}")), "{path}: {most}");
            assert!(!accepts(&path, &format!("{:?}", longer(most))), "{path}: {most}");
            compared += 1;
        }
        assert!(compared > 25, "{compared}");
    }
}
