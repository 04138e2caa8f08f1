//! Finds the source lines that a line of a bundle was made of, in the source map beside it. Maps are untrusted: they
//! are only read for the names and lines of files that exist.
//! <https://tc39.es/ecma426/>

use std::collections::BTreeSet;

use serde::Deserialize;

/// Larger maps are not read.
pub(super) const MAX_BYTES: usize = 8 << 20;
/// A line that was made of more source lines than this is of a minified file and points nowhere.
const MAX_LINES: usize = 8;

#[derive(Deserialize)]
struct SourceMap {
    #[serde(default, rename = "sourceRoot")]
    source_root: Option<String>,
    #[serde(default)]
    sources: Vec<Option<String>>,
    #[serde(default)]
    mappings: String,
}

/// The sources of these lines of a bundle, from 1: the bundle's line, a path as the map names it, and a line. Empty if
/// the map cannot be read.
pub(super) fn sources(map: &str, lines: &BTreeSet<u32>) -> Vec<(u32, String, u32)> {
    let Ok(map) = serde_json::from_str::<SourceMap>(map) else {
        return Vec::new();
    };
    let root = map.source_root.unwrap_or_default();
    let (mut source, mut original) = (0_i64, 0_i64);
    let mut found = Vec::new();
    for (at, line) in (1_u32..).zip(map.mappings.split(';')) {
        let mut places = BTreeSet::new();
        for segment in line.split(',') {
            // Only differences from the segment before are stored: column, source, line, column and name.
            let Some([_, by_source, by_line, ..]) = numbers(segment)
                .as_deref()
                .and_then(|all| all.first_chunk::<3>().copied())
            else {
                continue;
            };
            (source, original) = (source.saturating_add(by_source), original.saturating_add(by_line));
            places.insert((source, original));
        }
        if !lines.contains(&at) || places.len() > MAX_LINES {
            continue;
        }
        found.extend(places.into_iter().filter_map(|(source, original)| {
            let name = map.sources.get(usize::try_from(source).ok()?)?.as_ref()?;
            Some((
                at,
                format!("{root}{name}"),
                u32::try_from(original).ok()?.checked_add(1)?,
            ))
        }));
    }
    found
}

/// Base 64 VLQ: five bits a digit, the lowest first, the sign in the lowest bit.
fn numbers(segment: &str) -> Option<Vec<i64>> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut numbers, mut number, mut shift) = (Vec::new(), 0_i64, 0_u32);
    for byte in segment.bytes() {
        let digit = i64::try_from(DIGITS.iter().position(|other| *other == byte)?).ok()?;
        number |= (digit & 31).checked_shl(shift)?;
        shift += 5;
        if digit & 32 == 0 {
            numbers.push(if number & 1 == 1 { -(number >> 1) } else { number >> 1 });
            (number, shift) = (0, 0);
        } else if shift > 30 || numbers.len() > 5 {
            return None;
        }
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_bundle_lead_to_their_sources() {
        // Line 1 is of a.js:1, line 2 of a.js:3 and b.js:1, line 3 of nothing.
        let map =
            r#"{"version":3,"sourceRoot":"../","sources":["src/a.js","src/b.js"],"mappings":"AAAA;AAEA,ICFA;;A"}"#;
        let of = |lines: &[u32]| sources(map, &lines.iter().copied().collect());
        assert_eq!(of(&[1]), [(1, "../src/a.js".into(), 1)]);
        assert_eq!(of(&[2]), [(2, "../src/a.js".into(), 3), (2, "../src/b.js".into(), 1)]);
        assert_eq!(of(&[3, 9]), []);
    }

    #[test]
    fn hostile_maps_lead_nowhere() {
        let all: BTreeSet<u32> = (1..5).collect();
        for map in [
            "",
            "[]",
            r#"{"sources":[null],"mappings":"AAAA"}"#,
            r#"{"sources":["a"],"mappings":"ADDA;AAD//////////A,ü"}"#,
            r#"{"sources":["a"],"mappings":"gggggggggggggB"}"#,
        ] {
            assert_eq!(sources(map, &all), [], "{map}");
        }
        let minified = format!(r#"{{"sources":["a"],"mappings":"{}"}}"#, "AACA,".repeat(100));
        assert_eq!(sources(&minified, &all), []);
    }
}
