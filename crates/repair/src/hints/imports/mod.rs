//! Imports of a name that is used but not imported: as other files of the project import it, from the file of the
//! project that defines it, or from the standard library.

mod go;
mod known;

use greenlight_anchor::RepoPath;
use greenlight_readers::test_path::is_test_path;
use greenlight_syntax::Language;

use self::known::{C, JAVA, NODE, PYTHON};
use super::Hint;
use super::place::{HintPlace, groups, occurrences};

/// Maximum number of files that are read for one name, and of their bytes.
const MAX_FILES: usize = 600;
const MAX_BYTES: usize = 2 << 20;
/// Maximum number of imports that are offered for one name.
const MAX_OFFERED: usize = 4;

/// The modules of Python's standard library.
pub(super) fn python_modules() -> impl Iterator<Item = &'static str> {
    PYTHON.iter().map(|(module, _)| *module)
}

/// Well-known names of one of Python's modules.
pub(super) fn members(module: &str) -> impl Iterator<Item = &'static str> {
    let named = PYTHON.iter().filter(move |(other, _)| *other == module);
    named.flat_map(|(_, names)| names.split(' ').filter(|name| !name.is_empty()))
}

/// Adds an import of a name. The likeliest first.
pub(super) fn missing(place: &HintPlace<'_>, name: &str) -> Vec<Hint> {
    let path = place.path.as_str();
    let mut lines = Vec::new();
    let language = Language::of(path);
    match language {
        Some(Language::Python) => {
            lines.extend(elsewhere(place, name, &["import ", "from "]));
            lines.extend(defined_in_python(place, name));
            lines.extend(PYTHON.iter().filter_map(|(module, names)| {
                let is_module = names.is_empty() && *module == name;
                let is_member = names.split(' ').any(|other| other == name);
                is_module
                    .then(|| format!("import {module}"))
                    .or_else(|| is_member.then(|| format!("from {module} import {name}")))
            }));
        }
        Some(Language::Java) => {
            lines.extend(
                elsewhere(place, name, &["import "])
                    .into_iter()
                    .filter(|line| line.ends_with(&format!(".{name};"))),
            );
            lines.extend(defined_in_java(place, name));
            let of_jdk = JAVA
                .iter()
                .filter(|(_, names)| names.split(' ').any(|other| other == name));
            lines.extend(of_jdk.map(|(package, _)| format!("import {package}.{name};")));
        }
        Some(Language::Go) => return go::missing(place, name),
        Some(Language::JavaScript | Language::TypeScript | Language::Tsx) => {
            let is_module = is_module(&place.text);
            lines.extend(
                elsewhere(place, name, &["import ", "const "])
                    .into_iter()
                    .filter(|line| {
                        line.starts_with("import ") == is_module && (is_module || line.contains("require("))
                    }),
            );
            lines.extend(
                NODE.split_whitespace()
                    .filter(|module| *module == name)
                    .map(|module| match is_module {
                        true => format!("import {module} from 'node:{module}';"),
                        false => format!("const {module} = require('node:{module}');"),
                    }),
            );
            lines.extend(exported(place, name, is_module));
        }
        _ if path.ends_with(".c") || path.ends_with(".h") => {
            let headers = C
                .iter()
                .filter(|(_, names)| names.split(' ').any(|other| other == name));
            lines.extend(headers.map(|(header, _)| format!("#include <{header}>")));
        }
        _ => {}
    }
    let mut seen = Vec::new();
    lines.retain(|line| {
        let is_new = !seen.contains(line) && !place.text.lines().any(|own| own.trim() == line);
        seen.push(line.clone());
        is_new
    });
    let at = line_for_import(&place.text, language);
    let last = lines.iter().take(MAX_OFFERED);
    let hints = (0_u8..).zip(last).filter_map(|(rank, line)| {
        let weight = 1.0 - 0.02 * f32::from(rank);
        let before = if at > place.text.lines().count() as u32 && !place.text.ends_with('\n') {
            "\n"
        } else {
            ""
        };
        let behind = if is_alone(&place.text, language) { "\n" } else { "" };
        place.insert_before(at, &format!("{before}{line}\n{behind}"), weight)
    });
    hints.collect()
}

/// Whether a file has no import yet, so that a blank line has to follow the first.
fn is_alone(text: &str, language: Option<Language>) -> bool {
    language.is_some() && !text.lines().any(|line| is_import(line, language))
}

fn is_import(line: &str, language: Option<Language>) -> bool {
    match language {
        Some(Language::Python) => line.starts_with("import ") || line.starts_with("from "),
        Some(Language::Java) => line.starts_with("import "),
        Some(Language::JavaScript | Language::TypeScript | Language::Tsx) => {
            line.starts_with("import ") || (line.starts_with("const ") && line.contains("require("))
        }
        _ => line.starts_with("#include"),
    }
}

/// Whether a script has imports or exports.
fn is_module(text: &str) -> bool {
    text.lines()
        .any(|line| line.starts_with("import ") || line.starts_with("export "))
}

/// The line, from 1, before which an import belongs: behind the last one, or behind the beginning of the file.
fn line_for_import(text: &str, language: Option<Language>) -> u32 {
    let (mut last, mut at, mut is_open) = (0, 0, false);
    let mut quote: Option<&str> = None;
    let mut head = 0;
    for line in text.lines() {
        at += 1;
        if is_open {
            is_open = !line.contains([')', '}']);
            last = at;
            continue;
        }
        if is_import(line, language) {
            last = at;
            is_open = (line.contains('(') && !line.contains(')')) || (line.contains('{') && !line.contains('}'));
            continue;
        }
        // Comments, a module's text, `package`, and directives come before all imports.
        let is_head = head + 1 == at
            && match language {
                Some(Language::Python) => match quote {
                    Some(mark) => {
                        if line.contains(mark) {
                            quote = None;
                        }
                        true
                    }
                    None => {
                        let mark = ["\"\"\"", "'''"]
                            .into_iter()
                            .find(|mark| line.trim_start().starts_with(mark));
                        if let Some(mark) = mark {
                            quote = (line.matches(mark).count() == 1).then_some(mark);
                        }
                        mark.is_some() || line.starts_with('#')
                    }
                },
                Some(Language::Java) => {
                    line.starts_with("package ") || line.trim().is_empty() || line.starts_with(['/', ' ', '*'])
                }
                _ => line.starts_with("'use strict'") || line.starts_with("\"use strict\"") || line.starts_with("#!"),
            };
        if is_head {
            head = at;
        }
    }
    last.max(head) + 1
}

/// Lines of other files that import a name.
fn elsewhere(place: &HintPlace<'_>, name: &str, starts: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    each_file(place, |path, text| {
        let is_here = folder(path) == folder(&place.path);
        for line in text
            .lines()
            .filter(|line| starts.iter().any(|start| line.starts_with(start)))
        {
            let is_relative = line.contains("from .") || line.contains("'.") || line.contains("\".");
            let is_whole = !line.ends_with(['(', '\\', '{']) && line.len() < 300;
            if is_whole && (is_here || !is_relative) && occurrences(line, name).next().is_some() {
                found.push(narrowed(line, name));
            }
        }
    });
    found.dedup();
    found
}

/// `from a import b, c` for `c` becomes `from a import c`.
fn narrowed(line: &str, name: &str) -> String {
    let line = line.trim_end();
    if let Some((from, names)) = line.split_once(" import ")
        && from.starts_with("from ")
        && names.contains(',')
    {
        let only = names
            .split(',')
            .map(str::trim)
            .find(|other| occurrences(other, name).next().is_some());
        return format!("{from} import {}", only.unwrap_or(names));
    }
    if let Some(groups) = groups(r"^(import|const) \{([^}]*)\} ?(from .+|= ?require.+)$", line)
        && let [word, names, rest] = groups.as_slice()
    {
        let only = names
            .split(',')
            .map(str::trim)
            .find(|other| occurrences(other, name).next().is_some());
        return format!("{word} {{ {} }} {rest}", only.unwrap_or(names));
    }
    line.to_string()
}

fn defined_in_python(place: &HintPlace<'_>, name: &str) -> Vec<String> {
    let mut found = Vec::new();
    let starts = [
        format!("def {name}("),
        format!("class {name}:"),
        format!("class {name}("),
        format!("{name} = "),
    ];
    each_file(place, |path, text| {
        if text
            .lines()
            .any(|line| starts.iter().any(|start| line.starts_with(start)))
        {
            let module = path.as_str().trim_end_matches(".py").trim_end_matches("/__init__");
            let module = module.strip_prefix("src/").unwrap_or(module).replace('/', ".");
            let is_beside = folder(path) == folder(&place.path) && !folder(path).is_empty();
            let own = path
                .as_str()
                .rsplit('/')
                .next()
                .unwrap_or_default()
                .trim_end_matches(".py");
            if is_beside && place.text.lines().any(|line| line.starts_with("from .")) {
                found.push(format!("from .{own} import {name}"));
            }
            found.push(format!("from {module} import {name}"));
        }
    });
    found
}

fn defined_in_java(place: &HintPlace<'_>, name: &str) -> Vec<String> {
    let mut found = Vec::new();
    let file = format!("{name}.java");
    each_file(place, |path, text| {
        if path.as_str().rsplit('/').next() == Some(&file)
            && let Some(groups) = groups(r"(?m)^package ([\w.]+);", text)
            && folder(path) != folder(&place.path)
        {
            found.push(format!("import {}.{name};", groups.concat()));
        }
    });
    found
}

fn exported(place: &HintPlace<'_>, name: &str, is_module: bool) -> Vec<String> {
    let mut found = Vec::new();
    let declared = format!(
        r"(?m)^export (?:default )?(?:async )?(?:function|class|const|let|interface|type|enum) {}\b",
        regex::escape(name)
    );
    let listed = format!(
        r"(?m)(?:^module\.exports = \{{[^}}]*\b{0}\b|^exports\.{0}\b)",
        regex::escape(name)
    );
    each_file(place, |path, text| {
        let pattern = if is_module { &declared } else { &listed };
        if groups(pattern, text).is_some()
            && let Some(specifier) = relative(&place.path, path)
        {
            found.push(match is_module {
                true => format!("import {{ {name} }} from '{specifier}';"),
                false => format!("const {{ {name} }} = require('{specifier}');"),
            });
        }
    });
    found
}

/// The relative path from one file to another, without the extension of TypeScript.
fn relative(from: &RepoPath, to: &RepoPath) -> Option<String> {
    let (from, to) = (folder(from), to.as_str());
    let mut above = 0;
    let mut base = from;
    let below = loop {
        match base {
            "" => break Some(to),
            base => {
                if let Some(rest) = to.strip_prefix(base).and_then(|rest| rest.strip_prefix('/')) {
                    break Some(rest);
                }
            }
        }
        above += 1;
        base = base.rsplit_once('/').map_or("", |(base, _)| base);
    }?;
    let up = if above == 0 {
        "./".to_string()
    } else {
        "../".repeat(above)
    };
    let below = [".ts", ".tsx"]
        .iter()
        .find_map(|end| below.strip_suffix(end))
        .unwrap_or(below);
    Some(format!("{up}{below}"))
}

/// Visits the project's files of the same language, except tests.
fn each_file(place: &HintPlace<'_>, mut visit: impl FnMut(&RepoPath, &str)) {
    let kind = Language::of(place.path.as_str());
    let mut bytes = 0;
    let others = place
        .checkout
        .paths()
        .into_iter()
        .filter(|path| **path != place.path && Language::of(path.as_str()) == kind && !is_test_path(path.as_str()));
    for path in others.take(MAX_FILES) {
        let text = place.checkout.read_text(path.as_str()).unwrap_or_default();
        bytes += text.len();
        if bytes > MAX_BYTES {
            break;
        }
        visit(path, &text);
    }
}

fn folder(path: &RepoPath) -> &str {
    path.as_str().rsplit_once('/').map_or("", |(folder, _)| folder)
}
