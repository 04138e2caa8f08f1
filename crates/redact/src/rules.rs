//! Rules that recognise credentials: those of gitleaks, and some of our own.
//!
//! A rule searches only the text around its keywords. A text without keywords costs one pass, and a text full of
//! them a bounded number.

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::AhoCorasick;
use regex_automata::Input;
use regex_automata::meta::{Builder, Regex};
use regex_syntax::ParserBuilder;
use serde::Deserialize;

/// How many bytes after a keyword a rule searches if its pattern has no longest match.
const UNBOUNDED: usize = 1_024;

/// The beginning of most gitleaks rules. It is not part of the secret; without it, a match begins at the keyword.
const LEAD: &str = r"[\w.-]{0,50}?";
/// The end of most gitleaks rules, which are written for files: a quote, white space or a semicolon.
const END: &str = r#"(?:[\x60'"\s;]|\\[nr]|$)"#;
/// In prose, a value ends where its word ends.
const END_OF_WORD: &str = r"\b{end-half}";

#[derive(Debug, Deserialize)]
struct RulesFile {
    rule: Vec<Rule>,
}

/// One kind of credential.
#[derive(Debug, Deserialize)]
struct Rule {
    /// One of our own rules replaces the gitleaks rule with the same id.
    id: String,
    /// In lower case. Only text near a keyword is searched.
    keywords: Vec<String>,
    regex: String,
    /// The Shannon entropy, in bits per byte, that a value must exceed unless it contains the keyword.
    entropy: Option<f64>,
    /// The capture group of the secret. By default the first group that matched, or else the whole match.
    group: Option<usize>,
    /// Whether a value must contain letters and digits, and not be a name in code.
    #[serde(default)]
    random: bool,
    #[serde(skip)]
    pattern: OnceLock<Option<Pattern>>,
}

#[derive(Debug)]
struct Pattern {
    regex: Regex,
    /// The length of the longest match in bytes, if there is one.
    longest: Option<usize>,
}

struct RuleSet {
    keywords: AhoCorasick,
    /// For each keyword, the indices of its rules.
    of_keyword: Vec<Vec<usize>>,
    rules: Vec<Rule>,
}

static RULES: LazyLock<Option<RuleSet>> = LazyLock::new(|| {
    let mut rules = toml::from_str::<RulesFile>(include_str!("own.toml")).ok()?.rule;
    let theirs = toml::from_str::<RulesFile>(include_str!("gitleaks.toml")).ok()?.rule;
    for rule in theirs {
        if !rules.iter().any(|own| own.id == rule.id) {
            rules.push(rule);
        }
    }
    RuleSet::new(rules)
});

impl RuleSet {
    fn new(rules: Vec<Rule>) -> Option<Self> {
        let mut words: Vec<&str> = rules
            .iter()
            .flat_map(|rule| &rule.keywords)
            .map(String::as_str)
            .collect();
        words.sort_unstable();
        words.dedup();
        let with = |word: &&str| -> Vec<usize> {
            let has = |rule: &Rule| rule.keywords.iter().any(|keyword| keyword == word);
            (0..rules.len()).filter(|at| rules.get(*at).is_some_and(has)).collect()
        };
        let of_keyword = words.iter().map(with).collect();
        let keywords = AhoCorasick::builder().ascii_case_insensitive(true).build(&words).ok()?;
        Some(Self {
            keywords,
            of_keyword,
            rules,
        })
    }

    /// Calls `take` with each part of a text that a rule must search. A part is the text near a keyword; adjacent
    /// parts are merged.
    fn parts<'r>(&'r self, text: &str, mut take: impl FnMut(&'r Rule, Range<usize>)) {
        // For each rule, the part to search next. Most texts have no keyword, and need no table.
        let mut pending: Vec<Option<Range<usize>>> = Vec::new();
        for hit in self.keywords.find_overlapping_iter(text) {
            pending.resize(self.rules.len(), None);
            for &at in self.of_keyword.get(hit.pattern().as_usize()).into_iter().flatten() {
                let (Some(rule), Some(pending)) = (self.rules.get(at), pending.get_mut(at)) else {
                    continue;
                };
                let reach = rule.pattern().and_then(|pattern| pattern.longest).unwrap_or(UNBOUNDED);
                let part = hit.start().saturating_sub(reach)..(hit.end() + reach).min(text.len());
                match pending {
                    Some(before) if before.end >= part.start => before.end = part.end.max(before.end),
                    _ => {
                        if let Some(before) = pending.replace(part) {
                            take(rule, before);
                        }
                    }
                }
            }
        }
        for (rule, part) in self.rules.iter().zip(pending) {
            if let Some(part) = part {
                take(rule, part);
            }
        }
    }
}

impl Rule {
    /// The compiled pattern. Compiled when the first text with one of the rule's keywords arrives.
    fn pattern(&self) -> Option<&Pattern> {
        let compiled = self.pattern.get_or_init(|| {
            let source = self.regex.replace(LEAD, "");
            let parse = |source: &str| {
                let mut parser = ParserBuilder::new().unicode(false).utf8(false).build();
                parser.parse(source).ok()
            };
            let mut hir = parse(&source.replace(END, END_OF_WORD))?;
            let longest = hir.properties().maximum_len();
            if longest.is_none() {
                // A match may end at the length limit instead of the end of the word.
                hir = parse(&source.replace(END, ""))?;
            }
            let regex = Builder::new().build_from_hir(&hir).ok()?;
            Some(Pattern { regex, longest })
        });
        compiled.as_ref()
    }

    /// Appends the ranges of the secrets in one part of a text.
    fn search(&self, text: &[u8], part: Range<usize>, found: &mut Vec<Range<usize>>) {
        let Some(pattern) = self.pattern() else { return };
        let end_of_part = part.end;
        for captures in pattern.regex.captures_iter(Input::new(text).span(part)) {
            let group = |at| captures.get_group(at);
            let first = (1..captures.group_len()).find_map(group);
            let secret = self.group.and_then(group).or(first).or_else(|| group(0));
            let Some(mut secret) = secret.map(|span| span.start..span.end) else {
                continue;
            };
            if !self.is_secret(text, &secret) {
                continue;
            }
            if pattern.longest.is_none() && secret.end == end_of_part {
                let rest = text.get(end_of_part..).unwrap_or_default();
                secret.end += rest.iter().take_while(|byte| is_of_a_token(**byte)).count();
            }
            found.push(secret);
        }
    }

    fn is_secret(&self, text: &[u8], secret: &Range<usize>) -> bool {
        let value = text.get(secret.clone()).unwrap_or_default();
        let is_its_own_proof = || {
            let value = value.to_ascii_lowercase();
            let contains = |word: &String| value.windows(word.len()).any(|part| part == word.as_bytes());
            self.keywords.iter().any(contains)
        };
        if self.random {
            let is_called = matches!(text.get(secret.end), Some(b'(' | b'[' | b'{' | b'<'));
            if is_called || !is_random(value) {
                return false;
            }
        } else if is_its_own_proof() {
            return true;
        }
        self.entropy.is_none_or(|least| entropy(value) > least)
    }
}

/// Whether one word of a value has letters and digits, unlike most names, paths, versions and types.
fn is_random(value: &[u8]) -> bool {
    let is_mixed = |word: &[u8]| {
        let digits = word.iter().filter(|byte| byte.is_ascii_digit()).count();
        let letters = word.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
        word.len() >= 8 && digits >= 2 && letters >= 2
    };
    let is_between = |byte: &u8| matches!(byte, b'.' | b'/' | b'_' | b'-');
    value.split(is_between).any(is_mixed)
}

fn is_of_a_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'-' | b'.' | b'%')
}

/// The Shannon entropy in bits per byte.
fn entropy(value: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in value {
        if let Some(count) = counts.get_mut(usize::from(*byte)) {
            *count += 1;
        }
    }
    let length = u32::try_from(value.len()).unwrap_or(u32::MAX);
    let share = |count: &u32| f64::from(*count) / f64::from(length);
    let used = counts.iter().filter(|count| **count > 0).map(share);
    -used.map(|share| share * share.log2()).sum::<f64>()
}

/// The ranges of the secrets in a text, in order, without overlap, at character boundaries.
pub(super) fn secrets(text: &str) -> Vec<Range<usize>> {
    let Some(rules) = RULES.as_ref() else {
        // Without the rules, the whole text counts as secret.
        return (!text.is_empty()).then_some(0..text.len()).into_iter().collect();
    };
    let mut found = Vec::new();
    rules.parts(text, |rule, part| rule.search(text.as_bytes(), part, &mut found));
    joined(text, found)
}

/// The ranges sorted and merged, extended to character boundaries.
fn joined(text: &str, mut found: Vec<Range<usize>>) -> Vec<Range<usize>> {
    found.sort_unstable_by_key(|range| range.start);
    let mut joined: Vec<Range<usize>> = Vec::with_capacity(found.len());
    for range in found {
        let range = text.floor_char_boundary(range.start)..text.ceil_char_boundary(range.end);
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The match of a rule must be bounded, so that a text full of partial matches is not rescanned for each of them.
    #[test]
    fn each_rule_is_read_and_has_a_bound() {
        let rules = RULES.as_ref().unwrap();
        let is_own = |id: &str| include_str!("own.toml").contains(&format!("id = \"{id}\""));
        let mut unbounded = Vec::new();
        for rule in &rules.rules {
            let pattern = rule.pattern().unwrap_or_else(|| panic!("{}", rule.id));
            match pattern.longest {
                Some(longest) => assert!(longest <= UNBOUNDED, "{}: {longest}", rule.id),
                None => unbounded.push(rule.id.as_str()),
            }
            assert!(
                rule.keywords.iter().all(|word| word.to_ascii_lowercase() == *word),
                "{}",
                rule.id
            );
        }
        assert!(rules.rules.len() > 230, "{}", rules.rules.len());
        // Check each rule before you add it here: every one of these matches a single character class to its end,
        // like our own.
        let names: Vec<&str> = unbounded.into_iter().filter(|id| !is_own(id)).collect();
        insta::assert_snapshot!(names.join(" "), @"1password-service-account-token facebook-page-access-token flyio-access-token microsoft-teams-webhook slack-app-token slack-bot-token slack-legacy-token yandex-access-token");
    }

    /// How many bytes the patterns look at for each byte of the text.
    #[test]
    fn a_text_of_keywords_costs_a_bounded_number_of_passes() {
        let rules = RULES.as_ref().unwrap();
        let words: Vec<&str> = rules
            .rules
            .iter()
            .flat_map(|rule| &rule.keywords)
            .map(String::as_str)
            .collect();
        let all = words.join(" ");
        let most = [
            "sk_live_",
            "curl -u ",
            "glpat-",
            "discord = ",
            "?sig=",
            "password=",
            "xapp-1-A",
            "|",
            &all,
        ];
        let work = |text: &str| {
            let mut work = 0;
            rules.parts(text, |_, part| work += part.len());
            work
        };
        for piece in most {
            let text = piece.repeat(1_000_000 / piece.len());
            assert!(work(&text) <= 60 * text.len(), "{piece}: {}", work(&text) / text.len());
        }
        assert_eq!(work(&"nothing of the kind. ".repeat(50_000)), 0);
    }
}
