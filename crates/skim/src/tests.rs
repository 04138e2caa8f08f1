//! What is kept, beside what a real reader keeps, and what is left to that reader.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

const PATHS: [&str; 4] = ["a", "b.c", "b.d.a", "d.b"];

fn skimmed(json: &str) -> Option<String> {
    skim(json.as_bytes(), &Fields::new(&PATHS)).map(|kept| String::from_utf8(kept).unwrap())
}

#[test]
fn only_what_is_asked_for_is_kept() {
    for (json, kept) in [
        ("{}", "{}"),
        (" { } \n", "{}"),
        (
            r#"{"x": 1, "a": {"b" : [1, "]"]}, "y": "}"}"#,
            r#"{"a":{"b" : [1, "]"]}}"#,
        ),
        (
            r#"{"b":{"x":[{}],"c":-1.5E+3,"d":{"a":true,"b":0}}}"#,
            r#"{"b":{"c":-1.5E+3,"d":{"a":true}}}"#,
        ),
        (
            r#"{"d":[{"b":1,"a":2},{"a":3},null,"s"]}"#,
            r#"{"d":[{"b":1},{},null,"s"]}"#,
        ),
        // A reader that wants an object says what is there instead.
        (r#"{"b":"a string","d":null}"#, r#"{"b":"a string","d":null}"#),
        (r#"{"x":"\\","a":"\"\\\"","y":"\\\\\""}"#, r#"{"a":"\"\\\""}"#),
        // A name that is there twice stays so, and one with escapes may be any.
        (r#"{"a":1,"a":2}"#, r#"{"a":1,"a":2}"#),
        (r#"{"\u0061":1,"x":2}"#, r#"{"\u0061":1}"#),
    ] {
        assert_eq!(skimmed(json).as_deref(), Some(kept), "{json}");
    }
}

#[test]
fn what_is_broken_is_left_to_the_reader() {
    for json in [
        "",
        "[]",
        "1",
        "\"a\"",
        "{",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":}",
        "{\"a\":1",
        "{\"a\":1,",
        "{\"a\":1,}",
        "{,}",
        "{\"a\":1 \"b\":2}",
        "{\"a\" 1}",
        "{a:1}",
        "{\"x\":[}",
        "{\"x\":[1}",
        "{\"x\":{]}",
        "{\"x\":\"",
        "{\"x\":\"\\",
        "{\"d\":[1,]}",
        "{\"d\":[1 2]}",
        "{\"d\":[",
        "{\"x\":\u{e4}}",
        "{} {}",
        "{}x",
        "{\"x\":]}",
    ] {
        assert_eq!(skimmed(json), None, "{json}");
    }
}

#[test]
fn deep_nesting_is_left_to_the_reader() {
    let nested = |depth: usize| format!("{{\"x\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(skimmed(&nested(127)).as_deref(), Some("{}"));
    assert_eq!(skimmed(&nested(128)), None);
    assert_eq!(skimmed(&nested(1_000_000)), None);
}

/// The same by a real reader.
fn filtered(value: &Value, fields: &Fields) -> Value {
    match value {
        Value::Object(members) if !fields.is_whole() => {
            let wanted = |(name, value): (&String, &Value)| {
                let wanted = fields.of(name.as_bytes())?;
                Some((name.clone(), filtered(value, wanted)))
            };
            Value::Object(members.iter().filter_map(wanted).collect::<Map<_, _>>())
        }
        Value::Array(elements) if !fields.is_whole() => {
            elements.iter().map(|element| filtered(element, fields)).collect()
        }
        other => other.clone(),
    }
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<i32>().prop_map(|eighths| Value::from(f64::from(eighths) / 8.0)),
        "[a-d\"\\\\{}\\[\\],:\u{e4}\n]{0,6}".prop_map(Value::from),
        // Longer than a block, with backslashes at its end.
        "[a\"\\\\}]{40,90}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map("[abcdx]{1}|[a-d\"\\\\\u{e4}]{0,3}", inner, 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn it_keeps_what_a_real_reader_keeps(value in values(), pretty in any::<bool>()) {
        let json = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let fields = Fields::new(&PATHS);
        let kept = skim(json.as_bytes(), &fields);
        prop_assert_eq!(kept.is_some(), value.is_object());
        if let Some(kept) = kept {
            let mut kept: Value = serde_json::from_slice(&kept).unwrap();
            // Names with escapes are kept for the reader, which ignores them.
            kept = filtered(&kept, &fields);
            prop_assert_eq!(kept, filtered(&value, &fields));
        }
    }

    #[test]
    fn bytes_of_any_kind_do_no_harm(json in prop::collection::vec(prop_oneof![
        Just(b'"'), Just(b'\\'), Just(b'{'), Just(b'}'), Just(b'['), Just(b']'), Just(b':'), Just(b','), Just(b'a'), any::<u8>()
    ], 0..60)) {
        let _kept = skim(&json, &Fields::new(&PATHS));
        let _kept = skim(&[b"{\"a\":", json.as_slice(), b"}"].concat(), &Fields::new(&PATHS));
    }
}
