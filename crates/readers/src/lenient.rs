//! Fields of JSON that another tool wrote, no matter which type they have there: a title may be a list or a number, a
//! list may be missing, a count may be text.

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// One element of a list, which may have an unexpected form without affecting the others.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum MaybeRead<T> {
    /// It has the expected form.
    Read(T),
    /// It has another form, and is to be reported with [`ParsedRun::miss`](crate::ParsedRun::miss).
    Unread(IgnoredAny),
}

/// Any value as text, in the way JavaScript turns it into text. Nothing is empty.
///
/// # Errors
/// When the document is not well-formed.
pub fn text<'de, D: Deserializer<'de>>(field: D) -> Result<String, D::Error> {
    Value::deserialize(field).map(|value| shown(&value))
}

/// A list of texts, one text, or nothing.
///
/// # Errors
/// When the document is not well-formed.
pub fn texts<'de, D: Deserializer<'de>>(field: D) -> Result<Vec<String>, D::Error> {
    Ok(match Value::deserialize(field)? {
        Value::Null => Vec::new(),
        Value::Array(values) => values.iter().map(shown).collect(),
        value => vec![shown(&value)],
    })
}

/// A number that may be written as text. `None` if it is neither, negative or too large.
///
/// # Errors
/// When the document is not well-formed.
pub fn number<'de, D: Deserializer<'de>>(field: D) -> Result<Option<u32>, D::Error> {
    Value::deserialize(field).map(|value| as_number(&value))
}

/// See [`number`].
pub fn as_number(value: &Value) -> Option<u32> {
    match value {
        Value::Number(number) => number.as_u64()?.try_into().ok(),
        Value::String(digits) => digits.trim().parse().ok(),
        _ => None,
    }
}

/// See [`text`].
pub fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(shown).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(default)]
    struct Fields {
        #[serde(deserialize_with = "text")]
        title: String,
        #[serde(deserialize_with = "texts")]
        messages: Vec<String>,
        #[serde(deserialize_with = "number")]
        line: Option<u32>,
    }

    #[test]
    fn fields_of_any_type_are_read() {
        #[track_caller]
        fn check(document: &str, title: &str, messages: &[&str], line: Option<u32>) {
            let fields: Fields = serde_json::from_str(document).unwrap();
            let messages = messages.iter().map(ToString::to_string).collect();
            let title = title.into();
            assert_eq!(fields, Fields { title, messages, line });
        }
        check("{}", "", &[], None);
        check(r#"{"title":null,"messages":null,"line":null}"#, "", &[], None);
        check(r#"{"title":[2010,1,["a"],null]}"#, "2010,1,a,", &[], None);
        check(r#"{"title":7,"messages":"one","line":"12"}"#, "7", &["one"], Some(12));
        check(
            r#"{"title":{"a":1},"messages":[1,"b"],"line":-1}"#,
            r#"{"a":1}"#,
            &["1", "b"],
            None,
        );
        check(r#"{"line":99999999999}"#, "", &[], None);
    }

    #[test]
    fn one_strange_element_leaves_the_others() {
        let list: Vec<MaybeRead<Fields>> =
            serde_json::from_str(r#"[{"title":"a"},3,{"title":"b","title":"c"}]"#).unwrap();
        let read = list.iter().filter(|entry| matches!(entry, MaybeRead::Read(_))).count();
        assert_eq!((read, list.len()), (1, 3));
    }
}
