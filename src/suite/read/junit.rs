//! Reads JUnit XML into test cases, whoever wrote it.
//!
//! The format has no standard. This takes `testcase` elements wherever they stand, forgives numbers that are none,
//! and never expands an entity that the document defines itself.

use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

/// More cases than this are not read.
const MAX_CASES: usize = 200_000;
/// Deeper nesting than this is not a report.
const MAX_DEPTH: usize = 64;
/// Longest text of one failure that is collected.
const MAX_TEXT: usize = 16_000;

/// One `testcase` element.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Case {
    pub(super) class: String,
    pub(super) name: String,
    pub(super) file: String,
    /// As written; pytest counts from 0.
    pub(super) line: Option<u32>,
    pub(super) verdict: Verdict,
    /// The attribute `message` of the failure.
    pub(super) message: String,
    /// The attribute `type` of the failure: what pytest tells an expected failure from a skipped test by.
    pub(super) kind: String,
    /// The text inside the failure.
    pub(super) text: String,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    #[default]
    Passed,
    Skipped,
    Failed,
    Error,
}

/// Reads a whole report; none if it is not well-formed or beyond the limits.
pub(super) fn cases(report: &[u8]) -> Option<Vec<Case>> {
    let report = String::from_utf8_lossy(report);
    let mut reader = Reader::from_str(&report);
    let mut cases: Vec<Case> = Vec::new();
    let mut path: Vec<String> = Vec::new();
    loop {
        let event = reader.read_event().ok()?;
        match event {
            Event::Start(element) => {
                open(&element, &mut cases)?;
                path.push(element.local_name().as_ref().to_string());
            }
            Event::Empty(element) => open(&element, &mut cases)?,
            Event::End(_) => {
                path.pop();
            }
            Event::Text(text) if in_verdict(&path) => append(&mut cases, &text.xml10_content()),
            Event::CData(text) if in_verdict(&path) => append(&mut cases, &text.xml10_content()),
            Event::GeneralRef(reference) if in_verdict(&path) => append(&mut cases, &resolved(&reference)),
            Event::Eof => break,
            _ => {}
        }
        if path.len() > MAX_DEPTH || cases.len() > MAX_CASES {
            return None;
        }
    }
    path.is_empty().then_some(cases)
}

fn open(element: &BytesStart<'_>, cases: &mut Vec<Case>) -> Option<()> {
    let verdict = match element.local_name().as_ref() {
        "testcase" => {
            cases.push(Case {
                class: attribute(element, "classname"),
                name: attribute(element, "name"),
                file: attribute(element, "file"),
                line: attribute(element, "line").parse().ok(),
                ..Case::default()
            });
            return Some(());
        }
        "skipped" => Verdict::Skipped,
        "failure" => Verdict::Failed,
        "error" => Verdict::Error,
        _ => return Some(()),
    };
    // A verdict outside of a case is not the format.
    let case = cases.last_mut()?;
    case.verdict = verdict;
    case.message = attribute(element, "message");
    case.kind = attribute(element, "type");
    Some(())
}

fn attribute(element: &BytesStart<'_>, name: &str) -> String {
    let Ok(Some(attribute)) = element.try_get_attribute(name) else {
        return String::new();
    };
    attribute
        .normalized_value(XmlVersion::Implicit1_0)
        .map_or_else(|_| attribute.value.to_string(), std::borrow::Cow::into_owned)
}

fn in_verdict(path: &[String]) -> bool {
    matches!(path.last().map(String::as_str), Some("failure" | "error"))
}

fn append(cases: &mut [Case], text: &str) {
    if let Some(case) = cases.last_mut()
        && case.text.len() < MAX_TEXT
    {
        case.text.push_str(text);
    }
}

/// The five predefined entities and character references; any other is shown as it stands.
fn resolved(reference: &BytesRef<'_>) -> String {
    if let Ok(Some(c)) = reference.resolve_char_ref() {
        return c.to_string();
    }
    let name = reference.xml10_content();
    quick_xml::escape::resolve_predefined_entity(&name).map_or_else(|| format!("&{name};"), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_may_nest_and_cases_may_stand_anywhere() {
        let report = br#"<?xml version="1.0"?><testsuites><testcase name="top" classname="c"/>
            <testsuite time="1,234.5"><testsuite><testcase name="a&lt;b" line="x"><failure message="m &amp; n">one &lt;two&gt; &#233;
  <![CDATA[three]]></failure></testcase></testsuite></testsuite></testsuites>"#;
        let cases = cases(report).unwrap();
        assert_eq!(cases.len(), 2);
        assert_eq!((cases[0].name.as_str(), cases[0].verdict), ("top", Verdict::Passed));
        assert_eq!(cases[1].name, "a<b");
        assert_eq!(cases[1].message, "m & n");
        assert_eq!(cases[1].text, "one <two> é\n  three");
    }

    #[test]
    fn entities_of_the_document_are_not_expanded() {
        let report = br#"<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>
            <testsuite><testcase name="n&b;"><error>&b;</error></testcase></testsuite>"#;
        let cases = cases(report).unwrap();
        assert_eq!((cases[0].name.as_str(), cases[0].text.as_str()), ("n&b;", "&b;"));
    }

    #[test]
    fn what_is_no_report_is_refused() {
        assert_eq!(cases(b"<testsuite><testcase name='a'>"), None);
        assert_eq!(cases(b"<failure/>"), None);
        assert_eq!(cases("<a>".repeat(200).as_bytes()), None);
        assert_eq!(cases(b"<a></b>"), None);
        assert_eq!(cases(b"not xml").unwrap_or_default(), []);
    }
}
