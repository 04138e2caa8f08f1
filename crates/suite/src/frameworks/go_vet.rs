//! `go vet`, as text or as JSON (`go vet -json`).

use std::collections::BTreeMap;

use greenlight_readers::{Anomaly, ParsedRun, Printed, location};
use serde::Deserialize;

use crate::framework::Ecosystem;
use crate::frameworks::go;
use crate::frameworks::spec::{FrameworkKind, Spec};

pub(super) const SPEC: Spec = Spec {
    name: "go vet",
    ecosystem: Ecosystem::Go,
    kind: FrameworkKind::Linter,
    is_compiled: true,
    installers: &["go"],
    is_program: |line| line.program() == "go" && line.has("vet"),
    is_check: |line| line.program() == "go" && line.subcommand() == "vet",
    part: go::filter::package,
    parse: |printed| {
        let mut run = parse(printed);
        // With `-json` it succeeds even if it has findings.
        if run.anomaly.is_none() && !run.diagnostics.is_empty() {
            run.anomaly = Some(Anomaly::Findings);
        }
        run
    },
    marks: &["\n# "],
    ..Spec::NEW
};

/// The result of one analyzer for one package: a list of findings, or why the analyzer did not run.
#[derive(Deserialize)]
#[serde(untagged)]
enum AnalyzerResult {
    List(Vec<VetDiagnostic>),
    Other(serde::de::IgnoredAny),
}

#[derive(Deserialize)]
struct VetDiagnostic {
    /// `path:line:column`
    posn: String,
    message: String,
}

/// Results by package and analyzer.
type Packages = BTreeMap<String, BTreeMap<String, AnalyzerResult>>;

fn parse(printed: &Printed<'_>) -> ParsedRun {
    let mut parsed = ParsedRun::default();
    let text = printed.text;
    let json = text.find("\n{\n").map(|at| at + 1).or_else(|| text.find('{'));
    if let Some(start) = json
        && text.lines().any(|line| line.starts_with('{'))
    {
        // There is one document for each package, with comments between them.
        let plain: String = text[start..].lines().filter(|line| !line.starts_with('#')).collect();
        for packages in serde_json::Deserializer::from_str(&plain).into_iter::<Packages>() {
            let Ok(packages) = packages else { break };
            tell(&packages, &mut parsed);
        }
    }
    go::parse::read_build(text, &mut parsed);
    parsed
}

fn tell(packages: &Packages, parsed: &mut ParsedRun) {
    for (analyzer, found) in packages.values().flatten() {
        let AnalyzerResult::List(findings) = found else {
            continue;
        };
        for finding in findings {
            let mut parts = finding.posn.rsplitn(3, ':');
            let (_column, line, path) = (parts.next(), parts.next(), parts.next());
            let place = path.zip(line).and_then(|(path, line)| location(path, line));
            parsed.diagnose(analyzer, place, &format!("{}: {}", finding.posn, finding.message));
        }
    }
}
