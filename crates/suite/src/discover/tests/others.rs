//! C, Ruby, PHP, .NET, shell, Perl, and tasks of any project.

use super::*;

#[test]
fn c_projects_are_built_and_run_beside_their_sources() {
    let cmake = "cmake -S . -B .greenlight-build && cmake --build .greenlight-build --parallel 2 && \
                 cd .greenlight-build && ctest --output-on-failure";
    check(
        &[
            ("CMakeLists.txt", "project(a)\nenable_testing()"),
            ("Makefile", "test:\n\tx"),
        ],
        &format!("{cmake} [Ctest, -] from `CMakeLists.txt`"),
    );
    check(
        &[
            ("CMakeLists.txt", "PROJECT (a)"),
            ("tests/CMakeLists.txt", "  include( CTest )"),
        ],
        &format!("{cmake} [Ctest, -] from `tests/CMakeLists.txt`"),
    );
    check(
        &[
            ("CMakeLists.txt", "project(a)\n# enable_testing()"),
            ("Makefile", "check: all\n\t./t"),
        ],
        "make check [Other, -] from `Makefile`",
    );
    check(
        &[("meson.build", "project('a')"), ("t/meson.build", "test('a', exe)")],
        "meson setup .greenlight-build && meson test -C .greenlight-build --print-errorlogs [Meson, -] from \
         `t/meson.build`",
    );
    check(
        &[("configure.ac", ""), ("Makefile.am", "TESTS = a b")],
        "autoreconf -fi && ./configure && make check [Other, -] from `Makefile.am`",
    );
}

#[test]
fn deno_projects_say_what_their_tests_may_do() {
    check(
        &[("deno.json", "{}"), ("a/shop_test.ts", "")],
        "deno test [Deno, -] from `deno.json`",
    );
    check(
        &[("deno.json", r#"{"tasks":{"test":"deno test --allow-read src/"}}"#)],
        "deno test --allow-read src/ [Deno, -] from `deno.json`",
    );
    check(
        &[(
            "deno.json",
            r#"{"tasks":{"test":{"command":"deno test -A && deno lint"}}}"#,
        )],
        "deno task test [Deno, -] from `deno.json`",
    );
    check(
        &[("deno.jsonc", "// ours\n{}"), ("test.js", "")],
        "deno test [Deno, -] from `deno.jsonc`",
    );
    check(
        &[
            ("package.json", r#"{"scripts":{"test":"deno test -A"}}"#),
            ("deno.json", "{}"),
        ],
        "deno test -A [Deno, -] from `package.json`",
    );
    assert!(found(&[("deno.json", "{}"), ("main.ts", "")], &TestSettings::default()).starts_with("no tests"));
}

#[test]
fn ruby_projects_say_which_of_its_frameworks_they_use() {
    check(
        &[
            (".rspec", ""),
            ("Gemfile", ""),
            ("Rakefile", ""),
            ("spec/a_spec.rb", ""),
        ],
        "bundle exec rspec [Rspec, -] from `.rspec`",
    );
    check(&[("spec/a_spec.rb", "")], "rspec [Rspec, -] from `spec/a_spec.rb`");
    let rakefile = "require 'rake/testtask'\nRake::TestTask.new(:unit) do |t|\nend\n";
    check(
        &[("Rakefile", rakefile), ("test/test_a.rb", ""), ("Makefile", "test:\n")],
        "rake unit [Minitest, -] from `Rakefile`",
    );
    check(
        &[
            ("Rakefile", "Rake::TestTask.new"),
            ("spec/a_spec.rb", "require 'minitest/autorun'"),
        ],
        "rake test [Minitest, -] from `Rakefile`",
    );
    check(
        &[("bin/rails", ""), ("Gemfile", ""), ("test/models/a_test.rb", "")],
        "bin/rails test [Minitest, -] from `bin/rails`",
    );
    check(
        &[("test/a_test.rb", "")],
        r#"ruby -Ilib -Itest -e 'Dir["test/**/{test_*,spec_*,*_test}.rb"].sort.each { |file| require "./#{file}" }' [Minitest, -] from `test/a_test.rb`"#,
    );
}

#[test]
fn php_and_dotnet_projects() {
    let scripts = r#"{"scripts":{"test":"phpunit --testsuite unit"},"require-dev":{"phpunit/phpunit":"^10"}}"#;
    check(
        &[("composer.json", scripts), ("phpunit.xml", "")],
        "vendor/bin/phpunit --testsuite unit [Phpunit, -] from `composer.json`",
    );
    check(
        &[(
            "composer.json",
            r#"{"scripts":{"test":["@lint","@unit"],"lint":"phpstan","unit":"phpunit -v"}}"#,
        )],
        "vendor/bin/phpunit -v [Phpunit, -] from `composer.json`",
    );
    check(
        &[("composer.json", r#"{"scripts":{"test":["phpunit a","phpunit b"]}}"#)],
        "composer run-script test [Phpunit, -] from `composer.json`",
    );
    check(
        &[
            ("composer.json", r#"{"require-dev":{"phpunit/phpunit":"^10"}}"#),
            ("phpunit.xml.dist", ""),
        ],
        "vendor/bin/phpunit [Phpunit, -] from `phpunit.xml.dist`",
    );
    check(&[("phpunit.xml", "")], "phpunit [Phpunit, -] from `phpunit.xml`");
    let project = r#"<PackageReference Include="Microsoft.NET.Test.Sdk" />"#;
    check(
        &[("Shop.sln", ""), ("Shop.Tests/Shop.Tests.csproj", project)],
        "dotnet test [Dotnet, -] from `Shop.sln`",
    );
    check(
        &[("T/T.csproj", project), ("README.md", "")],
        "dotnet test T/T.csproj [Dotnet, -] from `T/T.csproj`",
    );
}

#[test]
fn scripts_and_tasks() {
    check(&[("test/a.bats", "")], "bats --tap test [Tap, -] from `test/a.bats`");
    check(&[("a.bats", "")], "bats --tap . [Tap, -] from `a.bats`");
    assert!(found(&[("Units/shell.d/input.bats", "")], &TestSettings::default()).starts_with("no tests"));
    check(
        &[("cpanfile", ""), ("t/a.t", "")],
        "prove -lrv t [Tap, -] from `cpanfile`",
    );
    check(
        &[("Makefile", ".PHONY: test\nTESTS := a\nall test: lib\n\t./t\ncheck:\n")],
        "make test [Other, -] from `Makefile`",
    );
    check(
        &[("justfile", "test := 'x'\n@check *args: build\n  x")],
        "just check [Other, -] from `justfile`",
    );
    check(
        &[("Taskfile.yml", "version: '3'\ntasks:\n  test:\n    cmds: [x]\n")],
        "task test [Other, -] from `Taskfile.yml`",
    );
    // A language's manifest takes precedence over a task.
    check(
        &[("Makefile", "test:\n"), ("go.mod", "module m")],
        "go test ./... [Go, -] from `go.mod`",
    );
}

#[test]
fn elixir_swift_and_pest_projects() {
    check(
        &[("mix.exs", ""), ("lib/a.ex", ""), ("test/a_test.exs", "")],
        "mix test [Exunit, -] from `mix.exs`",
    );
    check(
        &[("Package.swift", ""), ("Tests/ATests/ATests.swift", "")],
        "swift test [Swift, -] from `Package.swift`",
    );
    check(
        &[
            ("phpunit.xml", ""),
            ("composer.json", r#"{"require-dev":{"pestphp/pest":"^3"}}"#),
        ],
        "vendor/bin/pest [Pest, -] from `phpunit.xml`",
    );
    check(
        &[("composer.json", r#"{"scripts":{"test":"pest --parallel"}}"#)],
        "vendor/bin/pest --parallel [Pest, -] from `composer.json`",
    );
}

#[test]
fn scripts_of_unknown_runners_have_the_variables_of_ci() {
    let manifest = r#"{"scripts": {"test": "own test", "test-coverage": "own test --coverage=x", "test-more": "own more", "cov": "own cov",
        "test:format": "prettier x --list-different"}}"#;
    let files = [("package.json", manifest)];
    let lines = |steps: &str| lines_of_job(&format!("steps: [{steps}]"), &files);
    assert_eq!(lines("{run: npm test, env: {A: 1}}"), ["A=1 npm test"]);
    assert_eq!(
        lines("{run: npm run test -- -v, env: {A: 1}}"),
        ["A=1 npm run test -- -v"]
    );
    assert_eq!(
        lines(
            "{run: npm run test-coverage}, {run: npm run test-more, env: {A: 1}}, {run: npm run cov}, {run: npm run test:format}"
        ),
        ["npm run test", "A=1 npm run test-more"]
    );
}

#[test]
fn packages_of_a_workspace_have_the_variables_of_ci() {
    let files = [
        ("package.json", r#"{"name": "root"}"#),
        ("pnpm-workspace.yaml", "packages: [packages/*]\n"),
        (
            "packages/a/package.json",
            r#"{"name": "a", "scripts": {"test": "vitest run"}}"#,
        ),
        (
            "packages/b/package.json",
            r#"{"name": "b", "scripts": {"test": "own test"}}"#,
        ),
    ];
    for line in ["pnpm run -r test", "pnpm -r test", "npm test --workspaces"] {
        let lines = lines_of_job(&format!("steps: [{{run: '{line}', env: {{ONLY: unit}}}}]"), &files);
        assert_eq!(
            lines,
            [
                "cd packages/a && ONLY=unit npx vitest run",
                "cd packages/b && ONLY=unit npm test"
            ],
            "{line}"
        );
    }
}

#[test]
fn coverage_of_php_needs_an_extension_and_is_left_out() {
    let files = [("composer.json", "{}"), ("phpunit.xml", "<phpunit/>")];
    let line = "vendor/bin/phpunit --coverage-text -v --coverage-clover a.xml --coverage-html=b";
    assert_eq!(
        lines_of_job(&format!("steps: [{{run: {line}}}]"), &files),
        ["vendor/bin/phpunit -v"]
    );
}

#[test]
fn specs_whose_helper_loads_minitest_are_no_rspec() {
    let spec = |helper: &str| {
        let files = [
            ("spec/a_spec.rb", "require_relative 'x_helper'\n"),
            ("spec/core/x_helper.rb", helper),
            ("Rakefile", ""),
        ];
        lines_of_job("steps: [{run: rake spec_ci}]", &files)
    };
    assert_eq!(spec("gem 'minitest'\n"), ["rake spec_ci"]);
    assert_eq!(spec("require 'rspec'\n"), ["rspec"]);
}

#[test]
fn a_profile_called_like_a_phase_stays() {
    let files = [("pom.xml", "<project/>")];
    let lines = |line: &str| lines_of_job(&format!("steps: [{{run: {line}}}]"), &files);
    assert_eq!(lines("mvn -B verify -P deploy"), ["mvn -B verify -P deploy"]);
    assert_eq!(lines("mvn -B verify site deploy"), ["mvn -B verify"]);
}

#[test]
fn a_manifest_elsewhere_is_a_suite_of_its_directory() {
    let files = [("Cargo.toml", "[package]\n"), ("core/Cargo.toml", "[package]\n")];
    let lines = |steps: &str| lines_of_job(&format!("steps: [{steps}]"), &files);
    for option in ["--manifest-path core/Cargo.toml", "--manifest-path=./core/Cargo.toml"] {
        let steps = format!("{{run: cargo test}}, {{run: cargo test {option} --all-features}}");
        assert_eq!(
            lines(&steps),
            ["cargo test", "cd core && cargo test --all-features"],
            "{option}"
        );
    }
    let top = [
        ("Cargo.toml", "[package]\nname = 'a'\n[workspace]\nmembers = ['core']\n"),
        files[1],
    ];
    let ci = "on: push\njobs: {test: {runs-on: ubuntu-latest, steps: [{run: cargo test}, \
              {run: cargo test --manifest-path core/Cargo.toml}]}}\n";
    let (_directory, checkout) = tree(&[&[(".github/workflows/ci.yml", ci)], &top[..]].concat());
    let found = select(
        &checkout,
        find_all(&checkout, &TestSettings::default(), &hints(&checkout)),
        [],
    );
    let found: Vec<String> = found.wanted.iter().map(ToString::to_string).collect();
    assert_eq!(found, ["cargo test", "cd core && cargo test"]);
    assert_eq!(
        lines("{run: cargo test --manifest-path}")[0],
        "cargo test --manifest-path"
    );
    let outside = "cargo test --manifest-path ../other/Cargo.toml";
    assert_eq!(lines(&format!("{{run: {outside}}}"))[0], outside);
}

#[test]
fn variables_may_be_one_value_of_the_matrix_and_name_a_file() {
    let files = [
        ("Gemfile", "gem 'minitest'\n"),
        ("Rakefile", "Rake::TestTask.new(:test)\n"),
        ("test/a_test.rb", "require 'minitest/autorun'\n"),
    ];
    let job = "strategy: {matrix: {env: [{ORM: active}]}}, env: '${{ matrix.env }}', \
               steps: [{run: bundle exec rake, env: {BUNDLE_GEMFILE: '${{ github.workspace }}/gemfiles/a.gemfile'}}]";
    assert_eq!(
        lines_of_job(job, &files),
        ["BUNDLE_GEMFILE=./gemfiles/a.gemfile ORM=active bundle exec rake"]
    );
}
