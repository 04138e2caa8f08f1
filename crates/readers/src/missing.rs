//! The package that a program looked for and did not find, from the messages of interpreters, compilers and package
//! tools.
//!
//! The message is a claim of the code under test. What follows from it is decided elsewhere, with the tree at hand.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};

use crate::text::pattern;

/// How much of a text is searched, from its end: what ended a program is there.
const MAX_SEARCHED: usize = 64 << 10;
/// A longer word is not the name of a package.
const MAX_NAME: usize = 120;

/// The kind of a package, as its message shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum PackageKind {
    Python,
    JavaScript,
    Rust,
    Go,
    Ruby,
    Php,
    Java,
    C,
}

/// A package, module or file that was looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// As the program wrote it.
    pub name: String,
    /// Its kind.
    pub kind: PackageKind,
}

/// Messages that name what is missing, each in one group.
const MESSAGES: [(PackageKind, &str); 18] = [
    // A module "that is not a package" is there, but lacks a part.
    (
        PackageKind::Python,
        r#"(?:ModuleNotFoundError|ImportError): (?:Error importing plugin "[^"]+": )?No module named '?([\w.]+)(?:$|'$|'[^;]|[^;\w.'])"#,
    ),
    // Node, TypeScript, Jest, Bun, Vite, esbuild, webpack.
    (
        PackageKind::JavaScript,
        r#"[Cc]annot find (?:module|package) ['"]([^'"\s]+)['"]"#,
    ),
    (PackageKind::JavaScript, r#"Failed to resolve import "([^"\s]+)""#),
    (PackageKind::JavaScript, r"Failed to load url (\S+) \("),
    (PackageKind::JavaScript, r#"Could not resolve:? "([^"\s]+)""#),
    (PackageKind::JavaScript, r"Can't resolve '([^'\s]+)'"),
    // npx, which may not download the program.
    (
        PackageKind::JavaScript,
        r"request to https?://\S+/((?:@[^/\s]+(?:/|%2f))?[^/\s@]+) failed: cache mode is 'only-if-cached'",
    ),
    // Cargo, offline.
    (PackageKind::Rust, r"no matching package named `([^`\s]+)` found"),
    (PackageKind::Rust, r"failed to (?:download|get) `([^`\s]+)"),
    // Go writes the version after the module.
    (
        PackageKind::Go,
        r"(?:no required module provides|cannot find module providing) package ([^\s;:]+)",
    ),
    (PackageKind::Go, r"([^\s:@]+)@v[^\s:]+: module lookup disabled"),
    (
        PackageKind::Go,
        r"/mod/cache/download/([^\s:@]+)/@v/[^\s:]+: read-only file system",
    ),
    // Ruby and Bundler.
    (PackageKind::Ruby, r"cannot load such file -- (\S+)"),
    (
        PackageKind::Ruby,
        r"Could not find (?:gem '([\w.-]+)|([\w.-]+?)-\d[\w.]*(?:,| in ))",
    ),
    (PackageKind::Php, r"Failed opening required '([^'\s]+)'"),
    // Maven and Gradle, offline.
    (PackageKind::Java, r"offline mode and the artifact ([\w.-]+:[\w.-]+):"),
    (
        PackageKind::Java,
        r"No cached version of ([\w.-]+:[\w.-]+):\S+ available for offline mode",
    ),
    (PackageKind::C, r"fatal error: ([^\s:]+): No such file or directory"),
];

/// The messages, and which of them a line may contain.
static FOUND: LazyLock<Option<(RegexSet, Vec<Option<Regex>>)>> = LazyLock::new(|| {
    let messages = MESSAGES.map(|(_, message)| message);
    Some((RegexSet::new(messages).ok()?, messages.map(pattern).into()))
});

/// What a text reports as missing. If it names several packages, the last one, which ended the program.
pub fn missing(text: &str) -> Option<Missing> {
    let from = text.ceil_char_boundary(text.len().saturating_sub(MAX_SEARCHED));
    text[from..].lines().rev().find_map(named)
}

fn named(line: &str) -> Option<Missing> {
    let (set, each) = FOUND.as_ref()?;
    let first = set.matches(line).into_iter().next()?;
    let found = each.get(first)?.as_ref()?.captures(line)?;
    let name = found.iter().skip(1).flatten().next()?.as_str();
    let name = match MESSAGES[first].0 {
        PackageKind::Go => &with_capitals(name),
        _ => name,
    };
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "@/._-+:~#$%".contains(c);
    let is_name = name.len() <= MAX_NAME && name.chars().all(is_allowed);
    is_name.then(|| Missing {
        name: name.replace("%2f", "/"),
        kind: MESSAGES[first].0,
    })
}

/// The name of a module of Go, whose cache has `!b` for `B`: <https://go.dev/ref/mod#module-cache>
fn with_capitals(name: &str) -> String {
    let mut parts = name.split('!');
    let mut whole = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let mut letters = part.chars();
        whole.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        whole.push_str(letters.as_str());
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Option<String> {
        missing(text).map(|missing| missing.name)
    }

    #[test]
    fn every_kind_of_message_names_what_is_missing() {
        for (text, expected) in [
            ("E   ModuleNotFoundError: No module named 'a.b'", "a.b"),
            ("ImportError: No module named six", "six"),
            ("ImportError: Error importing plugin \"a\": No module named 'a'", "a"),
            (
                "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'x' imported from /workspace/add.js",
                "x",
            ),
            ("Cannot find module '@a/b/c' from 'src/a.js'", "@a/b/c"),
            (
                "a.ts(1,2): error TS2307: Cannot find module 'x' or its corresponding type declarations.",
                "x",
            ),
            ("error: Cannot find package \"x\" from \"/a.ts\"", "x"),
            (
                "Error: Failed to resolve import \"./lft\" from \"a.js\". Does the file exist?",
                "./lft",
            ),
            (
                "Error: Failed to load url x (resolved id: x). Does the file exist?",
                "x",
            ),
            (
                "error: Could not resolve: \"x\". Maybe you need to \"bun install\"?",
                "x",
            ),
            ("Module not found: Error: Can't resolve 'x' in '/a'", "x"),
            (
                "npm error request to https://registry.npmjs.org/@a%2fb failed: cache mode is 'only-if-cached' but no",
                "@a/b",
            ),
            (
                "npm ERR! request to https://r.test/vitest failed: cache mode is 'only-if-cached'",
                "vitest",
            ),
            ("error: no matching package named `serde` found", "serde"),
            ("error: failed to download `fastrand v2.0.1`", "fastrand"),
            (
                "a.go:3:8: no required module provides package a.b/c; to add it:",
                "a.b/c",
            ),
            (
                "a.go:3:8: cannot find module providing package a.b/c: module lookup disabled",
                "a.b/c",
            ),
            ("go: a.b/c@v1.6.0: module lookup disabled by GOPROXY=off", "a.b/c"),
            (
                "a.go:2: open /go/pkg/mod/cache/download/a.b/!c!d/@v/v1.3.1.lock: read-only file system",
                "a.b/CD",
            ),
            (
                "kernel_require.rb:85:in `require': cannot load such file -- rake/testtask (LoadError)",
                "rake/testtask",
            ),
            (
                "Could not find gem 'rspec (~> 3.0)' in locally installed gems.",
                "rspec",
            ),
            (
                "Could not find rack-test-2.1.0, rake-13.0 in locally installed gems",
                "rack-test",
            ),
            (
                "PHP Fatal error:  Uncaught Error: Failed opening required 'vendor/autoload.php' (include_path",
                "vendor/autoload.php",
            ),
            (
                "[ERROR] Cannot access central (https://repo) in offline mode and the artifact org.junit:junit-bom:pom:5",
                "org.junit:junit-bom",
            ),
            (
                "> No cached version of com.a:b:1.0 available for offline mode.",
                "com.a:b",
            ),
            ("a.c:1:10: fatal error: zlib.h: No such file or directory", "zlib.h"),
        ] {
            assert_eq!(name(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_only_looks_like_it_names_nothing() {
        for text in [
            "",
            "ModuleNotFoundError: No module named 'a.b'; 'a' is not a package",
            "ImportError: cannot import name 'x' from 'a'",
            "Cannot find module 'a b'",
            "Cannot find module '$(id)`x`'",
            "FileNotFoundError: [Errno 2] No such file or directory: 'a'",
            "/usr/bin/python3: No module named pytest",
        ] {
            assert_eq!(missing(text), None, "{text}");
        }
        assert_eq!(missing(&format!("Cannot find module '{}'", "a".repeat(500))), None);
        let text = format!("Cannot find module 'a'\nCannot find module 'b'\n{}", "x".repeat(1_000));
        assert_eq!(name(&text).as_deref(), Some("b"), "the last one");
        let far = format!("Cannot find module 'a'\n{}", "x\n".repeat(100_000));
        assert_eq!(missing(&far), None);
    }
}
