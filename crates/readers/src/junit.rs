//! Parses JUnit XML into test cases, no matter which tool wrote it.
//!
//! The format has no standard. This accepts `testcase` elements anywhere, tolerates invalid numbers, and never
//! expands entities that the document defines.

use std::borrow::Cow;

use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use super::{ParsedRun, Report};

/// The maximum number of test cases.
const MAX_CASES: usize = 200_000;
/// The deepest nesting of a valid report.
const MAX_DEPTH: usize = 64;
/// The longest text of one failure.
const MAX_TEXT: usize = 16_000;
/// The longest attribute that is kept completely.
const MAX_ATTRIBUTE: usize = 16_000;

/// One `testcase` element.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Case {
    /// The attribute `classname`.
    pub class: String,
    /// The attribute `name`.
    pub name: String,
    /// The attribute `file`.
    pub file: String,
    /// As written; pytest counts from 0.
    pub line: Option<u32>,
    /// The worst verdict of its elements.
    pub verdict: CaseVerdict,
    /// The attribute `type` of the failure, by which pytest's expected failures differ from skipped tests.
    pub kind: String,
    /// The attribute `message` of the failure.
    pub message: String,
    /// The text inside the failure.
    pub text: String,
    /// The output of the test.
    pub printed: String,
    /// PHPUnit's name of the class, because its `classname` has dots.
    pub php_class: String,
    /// CTest's own word for the outcome.
    pub status: String,
}

impl Case {
    /// What it says about its failure: the text of the element, else its message.
    pub fn complaint(&self) -> &str {
        if self.text.is_empty() {
            &self.message
        } else {
            &self.text
        }
    }
}

/// From best to worst.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CaseVerdict {
    /// No element says otherwise.
    #[default]
    Passed,
    /// It was skipped, or something else keeps it from being a pass, such as a PHPUnit warning.
    Skipped,
    /// It has a `failure`.
    Failed,
    /// It has an `error`.
    Error,
}

/// The test cases of all reports. What cannot be read of them is noted.
pub fn read_all(reports: &[Report], parsed: &mut ParsedRun) -> Vec<Case> {
    let mut cases = Vec::new();
    for report in reports {
        let (more, why) = read(&report.bytes);
        cases.extend(more);
        if let Some(why) = why {
            parsed.miss(&report.path, why);
        }
    }
    cases
}

/// Parses a report as far as it can be read, and says why that is not all of it.
pub fn read(report: &[u8]) -> (Vec<Case>, Option<&'static str>) {
    let report = decoded(report);
    let mut reader = Reader::from_str(&report);
    let mut cases: Vec<Case> = Vec::new();
    let mut path: Vec<String> = Vec::new();
    let mut why = None;
    let mut is_junit = false;
    loop {
        let Ok(event) = reader.read_event() else {
            why = Some("it is not well-formed");
            break;
        };
        match event {
            Event::Start(element) => {
                is_junit |= is_known(&element);
                why = why.or(open(&element, &path, &mut cases));
                path.push(element.local_name().as_ref().to_string());
            }
            Event::Empty(element) => {
                is_junit |= is_known(&element);
                why = why.or(open(&element, &path, &mut cases));
            }
            Event::End(_) => {
                path.pop();
            }
            Event::Text(text) => append(&mut cases, &path, &text.xml10_content()),
            Event::CData(text) => append(&mut cases, &path, &text.xml10_content()),
            Event::GeneralRef(reference) => append(&mut cases, &path, &resolved(&reference)),
            Event::Eof => break,
            _ => {}
        }
        if path.len() > MAX_DEPTH || cases.len() >= MAX_CASES {
            why = Some("it is too large");
            break;
        }
    }
    // A case that is cut off may have failed in the part that is missing.
    let is_open = path.iter().any(|element| element == "testcase");
    cases.pop_if(|case| is_open && case.verdict < CaseVerdict::Failed);
    let why = why
        .or((!path.is_empty()).then_some("it is cut off"))
        .or((!is_junit).then_some("it is not a report of tests"));
    (cases, why)
}

/// Whether an element shows that the document is a report, even if it has no test.
fn is_known(element: &BytesStart<'_>) -> bool {
    matches!(element.local_name().as_ref(), "testsuites" | "testsuite" | "testcase")
}

/// Whether a report can be parsed to its end. A report that a killed process left behind, or that somebody planted,
/// may not be.
pub fn is_whole(report: &[u8]) -> bool {
    let report = decoded(report);
    let mut reader = Reader::from_str(&report);
    let (mut depth, mut elements) = (0usize, 0usize);
    loop {
        match reader.read_event() {
            Ok(Event::Start(_)) => (depth, elements) = (depth + 1, elements + 1),
            Ok(Event::Empty(_)) => elements += 1,
            Ok(Event::End(_)) => depth = depth.saturating_sub(1),
            Ok(Event::Eof) => return depth == 0 && elements > 0,
            Ok(_) => {}
            Err(_) => return false,
        }
        if depth > MAX_DEPTH {
            return false;
        }
    }
}

/// The text of a document: UTF-16 if its byte order mark says so, otherwise UTF-8, without the mark.
pub fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    let wide = |order: fn([u8; 2]) -> u16| {
        let units = bytes[2..].chunks_exact(2).map(|pair| order([pair[0], pair[1]]));
        Cow::Owned(
            char::decode_utf16(units)
                .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
                .collect(),
        )
    };
    match bytes {
        [0xff, 0xfe, ..] => wide(u16::from_le_bytes),
        [0xfe, 0xff, ..] => wide(u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest),
        _ => String::from_utf8_lossy(bytes),
    }
}

/// Takes in the start of an element, and says what is wrong with it.
fn open(element: &BytesStart<'_>, path: &[String], cases: &mut Vec<Case>) -> Option<&'static str> {
    let verdict = match element.local_name().as_ref() {
        "testcase" => {
            cases.push(Case {
                class: attribute(element, "classname"),
                name: attribute(element, "name"),
                file: attribute(element, "file"),
                line: attribute(element, "line").parse().ok(),
                php_class: attribute(element, "class"),
                status: attribute(element, "status"),
                ..Case::default()
            });
            let mut attributes = element.attributes();
            let is_damaged = attributes.with_checks(false).any(|attribute| attribute.is_err());
            return is_damaged.then_some("the attributes of a test are not well-formed");
        }
        "skipped" | "warning" => CaseVerdict::Skipped,
        "failure" => CaseVerdict::Failed,
        "error" => CaseVerdict::Error,
        _ => return None,
    };
    match path.last().map(String::as_str) {
        Some("testcase") => {}
        // It belongs to the whole suite, and to none of its cases.
        Some("testsuite" | "testsuites") if verdict > CaseVerdict::Skipped => cases.push(Case {
            name: "(outside of the tests)".into(),
            ..Case::default()
        }),
        // A verdict outside of any case is not part of the format.
        None => return Some("it is not a report of tests"),
        Some(_) => return None,
    }
    let case = cases.last_mut()?;
    if verdict >= case.verdict {
        case.verdict = verdict;
        case.kind = attribute(element, "type");
        case.message = attribute(element, "message");
    }
    None
}

/// The value of an attribute, bounded; empty if it is missing.
pub fn attribute(element: &BytesStart<'_>, name: &str) -> String {
    let Ok(Some(attribute)) = element.try_get_attribute(name) else {
        return String::new();
    };
    let mut value = attribute
        .normalized_value(XmlVersion::Implicit1_0)
        .map_or_else(|_| attribute.value.to_string(), Cow::into_owned);
    value.truncate(value.floor_char_boundary(MAX_ATTRIBUTE));
    value
}

fn append(cases: &mut [Case], path: &[String], text: &str) {
    let Some(case) = cases.last_mut() else { return };
    match path.last().map(String::as_str) {
        Some("failure" | "error") => add(&mut case.text, text),
        Some("system-out") if path.iter().any(|element| element == "testcase") => add(&mut case.printed, text),
        _ => {}
    }
}

/// Appends as much of `more` as fits.
pub fn add(text: &mut String, more: &str) {
    let room = MAX_TEXT.saturating_sub(text.len());
    text.push_str(&more[..more.floor_char_boundary(room)]);
}

/// Resolves the five predefined entities and character references; other references stay as they are.
pub fn resolved(reference: &BytesRef<'_>) -> String {
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
        let (cases, why) = read(report);
        assert_eq!(why, None);
        assert_eq!(cases.len(), 2);
        assert_eq!((cases[0].name.as_str(), cases[0].verdict), ("top", CaseVerdict::Passed));
        assert_eq!(cases[1].name, "a<b");
        assert_eq!(cases[1].message, "m & n");
        assert_eq!(cases[1].text, "one <two> é\n  three");
    }

    #[test]
    fn entities_of_the_document_are_not_expanded() {
        let report = br#"<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>
            <testsuite><testcase name="n&b;"><error>&b;</error></testcase></testsuite>"#;
        let (cases, why) = read(report);
        assert_eq!(why, None);
        assert_eq!((cases[0].name.as_str(), cases[0].text.as_str()), ("n&b;", "&b;"));
    }

    #[test]
    fn the_worst_verdict_of_a_case_stands() {
        let report = br#"<testsuite><testcase name="a"><failure message="m"/><skipped message="s"/></testcase>
            <properties><error/></properties><error message="no class"/><skipped/></testsuite>"#;
        let (cases, why) = read(report);
        assert_eq!(why, None);
        let seen: Vec<_> = cases.iter().map(|case| (case.verdict, case.message.as_str())).collect();
        assert_eq!(seen, [(CaseVerdict::Failed, "m"), (CaseVerdict::Error, "no class")]);
    }

    #[test]
    fn wide_characters_are_read_where_their_mark_stands() {
        let report = "\u{feff}<testsuite><testcase name='ä'/></testsuite>";
        let wide: Vec<u8> = report.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for bytes in [report.as_bytes().to_vec(), wide] {
            assert_eq!(read(&bytes).0[0].name, "ä");
            assert!(is_whole(&bytes) && !is_whole(&bytes[..bytes.len() - 4]));
        }
    }

    #[test]
    fn a_damaged_report_is_read_up_to_the_damage() {
        #[track_caller]
        fn check(report: &str, names: &[&str], why: Option<&str>) {
            let (cases, found) = read(report.as_bytes());
            let found_names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
            assert_eq!((found_names.as_slice(), found), (names, why), "{report:.80}");
        }
        let cut = Some("it is cut off");
        check("<testsuite><testcase name='a'/><testcase name='b'>", &["a"], cut);
        check(
            "<testsuite><testcase name='a'/><testcase name='b'><failure>no",
            &["a", "b"],
            cut,
        );
        check(
            "<testsuite><testcase name='a'/><testcase name='b'><system-out>",
            &["a"],
            cut,
        );
        check(
            "<testsuite><testcase name='a'/></oops>",
            &["a"],
            Some("it is not well-formed"),
        );
        check("<testsuite/>", &[], None);
        for foreign in ["", "not xml", "<html><p>no</p></html>", "<failure/>"] {
            check(foreign, &[], Some("it is not a report of tests"));
        }
        check(&"<testsuite>".repeat(200), &[], Some("it is too large"));
        let attributes = Some("the attributes of a test are not well-formed");
        check("<testsuite><testcase name=a></testcase></testsuite>", &[""], attributes);
    }
}
