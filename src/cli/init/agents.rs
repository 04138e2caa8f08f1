//! `.mcp.json`: the entry by which coding agents start `greenlight mcp`. It is put into the text of an existing file, so
//! that the other entries stay as they are, with their order and layout.

use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::super::Exit;
use super::write::Addition;

/// Where the file goes: Claude Code, and others, look for it at the root of a repository.
pub(super) const PATH: &str = ".mcp.json";

/// The member with all servers, and ours in it.
const SERVERS: &str = "mcpServers";
const OURS: &str = "greenlight";

/// Our entry, and the member that it needs, as lines that are indented by tabs.
const ENTRY: [&str; 4] = ["{", "\t\"command\": \"greenlight\",", "\t\"args\": [\"mcp\"]", "}"];
const WITH_SERVERS: [&str; 6] = [
    "{",
    "\t\"greenlight\": {",
    "\t\t\"command\": \"greenlight\",",
    "\t\t\"args\": [\"mcp\"]",
    "\t}",
    "}",
];

/// A new file, before our entry is put into it.
const EMPTY: &[u8] = b"{}\n";

/// What a person does next.
pub(super) const NEXT: &str = "Next:
  1. start your coding agent again in this folder; it may ask whether you trust the server
  2. ask it to find out why the tests fail, or to let greenlight look for a fix
  3. commit .mcp.json if everyone who works here has `greenlight` on their PATH
`greenlight mcp --help` lists flags for `args`, such as `--install`. Agents that read another file:
https://github.com/greenlight-rs/greenlight/blob/main/docs/how-to/agents.md";

/// The file with our entry, as far as it is missing or different.
///
/// # Errors
/// When the file is not JSON with servers, and what to do.
pub(super) fn added(before: Option<&[u8]>) -> Result<Addition, Exit> {
    let text = std::str::from_utf8(before.unwrap_or(EMPTY)).map_err(|error| unusable(&error))?;
    let (text, replaces) = completed(text)?;
    Ok(Addition { text, replaces })
}

/// The text with our entry, and what is lost if another one has its place.
fn completed(text: &str) -> Result<(String, Option<&'static str>), Exit> {
    let file = Members::of(text).map_err(|error| unusable(&error))?;
    let Some(servers) = file.get(SERVERS) else {
        return Ok((file.with(text, SERVERS, &WITH_SERVERS), None));
    };
    let servers = Members::of(servers.get()).map_err(|_| unusable(&format!("`{SERVERS}` is not an object")))?;
    Ok(match servers.get(OURS) {
        Some(there) if is_ours(there) => (text.into(), None),
        Some(there) => {
            let (layout, begin) = (Layout::of(text), offset(text, there.get()));
            let entry = layout.indented(&ENTRY, layout.indentation_at(text, begin));
            let text = spliced(text, begin..begin + there.get().len(), &entry);
            (text, Some("has another entry named `greenlight`"))
        }
        None => (servers.with(text, OURS, &ENTRY), None),
    })
}

fn ours() -> Value {
    json!({ "command": "greenlight", "args": ["mcp"] })
}

fn is_ours(there: &RawValue) -> bool {
    serde_json::from_str::<Value>(there.get()).is_ok_and(|there| there == ours())
}

fn unusable(why: &dyn fmt::Display) -> Exit {
    Exit::Usage(format!(
        "{PATH} cannot be read: {why}. Nothing was written: fix or remove the file, and run the same command again"
    ))
}

/// The members of an object in their order, each with the text of its value.
struct Members<'t> {
    /// The text of the object.
    object: &'t str,
    members: Vec<(String, &'t RawValue)>,
}

impl<'t> Members<'t> {
    fn of(text: &'t str) -> serde_json::Result<Self> {
        let object = text.trim_matches([' ', '\t', '\r', '\n']);
        let mut deserializer = serde_json::Deserializer::from_str(object);
        let members = (&mut deserializer).deserialize_map(InOrder)?;
        deserializer.end()?;
        Ok(Self { object, members })
    }

    /// The value that counts: the last one of this name.
    fn get(&self, name: &str) -> Option<&'t RawValue> {
        let mut members = self.members.iter().rev();
        members.find(|(other, _)| other == name).map(|(_, value)| *value)
    }

    /// The whole text, of which this object is a part, with another member at the end of the object.
    fn with(&self, text: &str, name: &str, value: &[&str]) -> String {
        let layout = Layout::of(text);
        let begin = offset(text, self.object);
        let Some((_, last)) = self.members.last() else {
            let outer = layout.indentation_at(text, begin);
            let inner = format!("{outer}{}", layout.unit);
            let entry = layout.indented(value, &inner);
            let end = layout.line_end;
            let object = format!("{{{end}{inner}\"{name}\": {entry}{end}{outer}}}");
            return spliced(text, begin..begin + self.object.len(), &object);
        };
        let end = offset(text, last.get()) + last.get().len();
        let opening = self.object.split_once('"').map_or("", |(opening, _)| opening);
        let entry = match opening.contains('\n') {
            true => {
                let inner = layout.indentation_at(text, end);
                let entry = layout.indented(value, inner);
                format!(",{}{inner}\"{name}\": {entry}", layout.line_end)
            }
            // The members of an object on one line stay there.
            false => {
                let entry: Vec<&str> = value.iter().map(|line| line.trim()).collect();
                format!(", \"{name}\": {}", entry.join(" "))
            }
        };
        spliced(text, end..end, &entry)
    }
}

/// Collects the members of an object.
struct InOrder;

impl<'de> Visitor<'de> for InOrder {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(members)
    }
}

/// How a text is indented, and how its lines end.
struct Layout {
    unit: String,
    line_end: &'static str,
}

impl Layout {
    fn of(text: &str) -> Self {
        let indented = text.lines().find(|line| line.starts_with([' ', '\t']));
        let unit = indented.map(|line| indentation(line).to_string());
        Self {
            unit: unit.unwrap_or_else(|| "  ".into()),
            line_end: if text.contains("\r\n") { "\r\n" } else { "\n" },
        }
    }

    /// The indentation of the line at this place.
    fn indentation_at<'t>(&self, text: &'t str, at: usize) -> &'t str {
        let before = text.get(..at).unwrap_or(text);
        let begin = before.rfind('\n').map_or(0, |end| end + 1);
        indentation(text.get(begin..).unwrap_or_default())
    }

    /// Lines with this layout, at this indentation.
    fn indented(&self, lines: &[&str], indentation: &str) -> String {
        let lines: Vec<String> = lines.iter().map(|line| line.replace('\t', &self.unit)).collect();
        lines.join(&format!("{}{indentation}", self.line_end))
    }
}

fn indentation(line: &str) -> &str {
    let text = line.trim_start_matches([' ', '\t']);
    line.get(..line.len() - text.len()).unwrap_or_default()
}

/// Where a part of a text begins in it.
fn offset(text: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize)
}

fn spliced(text: &str, range: std::ops::Range<usize>, new: &str) -> String {
    let before = text.get(..range.start).unwrap_or(text);
    let after = text.get(range.end..).unwrap_or_default();
    format!("{before}{new}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn after(before: &str) -> String {
        let first = added(Some(before.as_bytes())).unwrap();
        let again = added(Some(first.text.as_bytes())).unwrap();
        assert_eq!(
            (&again.text, again.replaces),
            (&first.text, None),
            "a second run changes it"
        );
        let mut wanted: Value = serde_json::from_str(before).unwrap();
        wanted[SERVERS][OURS] = ours();
        assert_eq!(
            serde_json::from_str::<Value>(&first.text).unwrap(),
            wanted,
            "{}",
            first.text
        );
        first.text
    }

    #[test]
    fn a_new_file_has_our_entry() {
        let text = added(None).unwrap().text;
        let file: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(file, json!({ SERVERS: { OURS: ours() } }));
        assert!(
            text.starts_with("{\n  \"mcpServers\": {\n    \"greenlight\": {\n      \"command\""),
            "{text}"
        );
        assert_eq!(added(Some(text.as_bytes())).unwrap().text, text);
    }

    #[test]
    fn what_is_there_keeps_its_order_and_layout() {
        let before = "{\n    \"z\": [1,2],\n    \"mcpServers\": {\n        \"web\": {\"url\": \"https://example.org\"}\n    },\n    \
                      \"a\": {}\n}\n";
        assert_eq!(
            after(before),
            before.replace(
                "example.org\"}\n",
                "example.org\"},\n        \"greenlight\": {\n            \"command\": \"greenlight\",\n            \
                 \"args\": [\"mcp\"]\n        }\n"
            )
        );
        let tabs = "{\r\n\t\"mcpServers\": {\r\n\t\t\"b\": {\r\n\t\t\t\"command\": \"b\"\r\n\t\t}\r\n\t}\r\n}";
        let text = after(tabs);
        assert!(
            text.contains("\r\n\t\t},\r\n\t\t\"greenlight\": {\r\n\t\t\t\""),
            "{text:?}"
        );
        assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
    }

    #[test]
    fn an_object_without_members_and_one_on_a_line_are_completed() {
        for before in [
            "{}",
            " {\n}\n",
            "{\"mcpServers\": {}}",
            "{\n  \"mcpServers\": {\n  }\n}\n",
            "{\"mcpServers\":{\"a\":{\"command\":\"}\"}}}",
            "{\"a\": \"\\\"mcpServers\\\": {}\", \"mcpServers\": {\"\u{20ac}\": {}}}",
            "{\"mcpServers\": {\"old\": {}}, \"mcpServers\": {\"new\": {}}}",
            "{\"a\": 1}",
            "{\n\t\"a\": 1\n}",
        ] {
            after(before);
        }
        assert_eq!(
            after("{\"a\": 1}"),
            "{\"a\": 1, \"mcpServers\": { \"greenlight\": { \"command\": \"greenlight\", \"args\": [\"mcp\"] } }}"
        );
    }

    #[test]
    fn another_entry_of_ours_is_replaced_alone() {
        let before =
            "{\n  \"mcpServers\": {\n    \"greenlight\": {\"command\": \"/opt/greenlight\"},\n    \"a\": {}\n  }\n}\n";
        assert!(added(Some(before.as_bytes())).unwrap().replaces.is_some());
        assert!(after(before).contains("\"a\": {}\n"));
    }

    #[test]
    fn what_is_not_json_with_servers_is_refused() {
        for before in [
            &b""[..],
            b"{\"mcpServers\": {},}",
            b"// a comment\n{}",
            b"[]",
            b"{\"mcpServers\": []}",
            b"{} {}",
            b"\xff",
        ] {
            let Err(Exit::Usage(why)) = added(Some(before)) else {
                panic!("{before:?}")
            };
            assert!(why.starts_with(".mcp.json cannot be read: "), "{why}");
        }
    }
}
