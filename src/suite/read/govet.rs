//! Reads `go vet`, as text or as JSON (`go vet -json`).

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Printed, Reading, go, location};

/// What one analyzer found in one package: a list, or why it did not run.
#[derive(Deserialize)]
#[serde(untagged)]
enum Found {
    List(Vec<Finding>),
    Other(serde::de::IgnoredAny),
}

#[derive(Deserialize)]
struct Finding {
    /// `path:line:column`
    posn: String,
    message: String,
}

/// Packages, and in them analyzers.
type Packages = BTreeMap<String, BTreeMap<String, Found>>;

pub(super) fn read(printed: &Printed<'_>) -> Reading {
    let mut reading = Reading::default();
    let text = printed.text;
    let json = text.find("\n{\n").map(|at| at + 1).or_else(|| text.find('{'));
    if let Some(start) = json
        && text.lines().any(|line| line.starts_with('{'))
    {
        // One document a package, with comments between them.
        let plain: String = text[start..].lines().filter(|line| !line.starts_with('#')).collect();
        for packages in serde_json::Deserializer::from_str(&plain).into_iter::<Packages>() {
            let Ok(packages) = packages else { break };
            tell(&packages, &mut reading);
        }
    }
    go::read_build(text, &mut reading);
    reading
}

fn tell(packages: &Packages, reading: &mut Reading) {
    for (analyzer, found) in packages.values().flatten() {
        let Found::List(findings) = found else { continue };
        for finding in findings {
            let mut parts = finding.posn.rsplitn(3, ':');
            let (_column, line, path) = (parts.next(), parts.next(), parts.next());
            let place = path.zip(line).and_then(|(path, line)| location(path, line));
            reading.diagnose(analyzer, place, &format!("{}: {}", finding.posn, finding.message));
        }
    }
}
