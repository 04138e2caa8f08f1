//! Ruby: RSpec, Minitest and test-unit.

use std::sync::LazyLock;

use regex::Regex;

use super::{Place, file_name};
use crate::suite::text::pattern;
use crate::suite::{Framework, TestCommand};

/// `Rake::TestTask.new(:unit)`, `Minitest::TestTask.create`.
static TASK: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r#"(?m)^[^#\n]*\bTestTask\.(?:new|create)\b(?:[ (]+[:'"](\w+))?"#));
/// Loads every test file, in the order of their names.
const LOAD_ALL: &str = r#"Dir["test/**/{test_*,*_test}.rb"].sort.each { |file| require "./#{file}" }"#;

pub(super) fn find(place: &Place<'_>) -> Option<TestCommand> {
    let is_bundled = place.has("Gemfile");
    let command = |argv: &[&str], framework, file: &str| {
        let bundle: &[&str] = if is_bundled && argv[0] != "bin/rails" {
            &["bundle", "exec"]
        } else {
            &[]
        };
        place.command(&[bundle, argv].concat(), framework, file)
    };
    let spec = place
        .files()
        .find(|path| path.starts_with("spec/") && path.ends_with("_spec.rb"));
    let says_minitest = |file: &str| place.text(file).is_some_and(|text| text.contains("minitest"));
    let is_minitest =
        ["spec/spec_helper.rb", "spec/helper.rb"].into_iter().any(says_minitest) || spec.is_some_and(says_minitest);
    if let Some(spec) = spec.filter(|_| !is_minitest) {
        let settings = [".rspec", "spec/spec_helper.rb"]
            .into_iter()
            .find(|file| place.has(file));
        return command(&["rspec"], Framework::Rspec, settings.unwrap_or(spec));
    }
    let is_test = |path: &&str| {
        let name = file_name(path);
        path.starts_with("test/") && name.ends_with(".rb") && (name.starts_with("test_") || name.ends_with("_test.rb"))
    };
    let test = place.files().find(is_test).or(spec)?;
    if place.has("bin/rails") {
        return command(&["bin/rails", "test"], Framework::Minitest, "bin/rails");
    }
    for file in ["Rakefile", "rakefile", "Rakefile.rb"] {
        let text = place.text(file).unwrap_or_default();
        if let Some(task) = TASK.as_ref().and_then(|task| task.captures(&text)) {
            let task = task.get(1).map_or("test", |name| name.as_str());
            return command(&["rake", task], Framework::Minitest, file);
        }
    }
    if spec == Some(test) {
        return None;
    }
    command(&["ruby", "-Ilib", "-Itest", "-e", LOAD_ALL], Framework::Minitest, test)
}
