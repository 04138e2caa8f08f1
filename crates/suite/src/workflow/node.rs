//! Parses YAML as workflows use it into a tree whose keys keep their order, within narrow bounds.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Budget, Options};

/// Maximum size of a workflow or action.
const MAX_BYTES: usize = 512 << 10;
const MAX_NODES: usize = 30_000;
const MAX_DEPTH: usize = 32;
const MAX_ALIASES: usize = 500;

/// A value of a YAML document. Scalars keep the form in which GitHub inserts them into text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

/// The texts of the list at a key of a document. `None` if there is no such list.
pub(crate) fn texts_at(text: &str, key: &str) -> Option<Vec<String>> {
    let document = parse(text, false)?;
    let items = document.get(key)?.items().iter();
    Some(items.filter_map(Node::text).map(String::from).collect())
}

/// Parses a document, with merge keys (`<<`) or without. `None` if it is not YAML, or is crafted to be expensive.
pub(crate) fn parse(text: &str, has_merges: bool) -> Option<Node> {
    if text.len() > MAX_BYTES {
        return None;
    }
    let mut budget = Budget::default();
    budget.max_nodes = MAX_NODES;
    budget.max_events = 4 * MAX_NODES;
    budget.max_depth = MAX_DEPTH;
    budget.max_aliases = MAX_ALIASES;
    budget.max_anchors = MAX_ALIASES;
    budget.max_documents = 1;
    budget.max_merge_keys = if has_merges { MAX_ALIASES } else { 0 };
    budget.max_total_scalar_bytes = 2 * MAX_BYTES;
    budget.max_recorded_anchor_events = MAX_NODES;
    budget.max_recorded_anchor_bytes = 2 * MAX_BYTES;
    let mut options = Options::default();
    options.budget = Some(budget);
    options.with_snippet = false;
    // `on` is a string, as on GitHub.
    options.strict_booleans = true;
    serde_saphyr::from_str_with_options(text, options).ok()
}

impl Node {
    /// The value of a key. `None` if it is missing or null.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        let Self::Map(entries) = self else { return None };
        let entry = entries.iter().find(|(name, _)| name == key);
        entry.map(|(_, value)| value).filter(|value| **value != Self::Null)
    }

    /// Whether a key is `true`.
    pub(crate) fn says(&self, key: &str) -> bool {
        self.get(key) == Some(&Self::Bool(true))
    }

    pub(crate) fn entries(&self) -> &[(String, Self)] {
        match self {
            Self::Map(entries) => entries,
            _ => &[],
        }
    }

    pub(crate) fn items(&self) -> &[Self] {
        match self {
            Self::List(items) => items,
            _ => &[],
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The number of values in it, itself included.
    pub(crate) fn weight(&self) -> usize {
        1 + match self {
            Self::List(items) => items.iter().map(Self::weight).sum(),
            Self::Map(entries) => entries.iter().map(|(_, value)| value.weight()).sum(),
            _ => 0,
        }
    }

    /// A scalar as text.
    pub(crate) fn scalar(&self) -> Option<String> {
        Some(match self {
            Self::Null => String::new(),
            Self::Bool(value) => value.to_string(),
            Self::Number(value) => value.to_string(),
            Self::Text(text) => text.clone(),
            Self::List(_) | Self::Map(_) => return None,
        })
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("YAML")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_none<E: de::Error>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        Node::deserialize(deserializer)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Node, E> {
        // GitHub also treats numbers in workflows as floating-point.
        Ok(Node::Number(value.to_string().parse().unwrap_or(f64::NAN)))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Number(value.to_string().parse().unwrap_or(f64::NAN)))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Number(value))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Node::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, value)) = map.next_entry::<Node, Node>()? {
            let key = key.scalar().ok_or_else(|| de::Error::custom("a key is not a scalar"))?;
            entries.push((key, value));
        }
        Ok(Node::Map(entries))
    }
}
