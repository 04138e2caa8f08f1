use super::*;

fn all() -> Vec<(Framework, &'static str, i32)> {
    use Framework::*;
    vec![
        (Rspec, "rspec/pass", 0), (Rspec, "rspec/fail", 1), (Rspec, "rspec/load", 1), (Rspec, "rspec/missing", 1), (Rspec, "rspec/syntax", 1),
        (Rspec, "rspec/none", 0), (Rspec, "rspec/filtered", 0), (Rspec, "rspec/not_found", 1), (Rspec, "rspec/crash", 134), (Rspec, "rspec/exit", 0),
        (Minitest, "minitest/pass", 0), (Minitest, "minitest/fail", 1), (Minitest, "minitest/fail_quiet", 1), (Minitest, "minitest/spec", 1), (Minitest, "minitest/missing", 1), (Minitest, "minitest/syntax", 1),
        (Minitest, "minitest/none", 0), (Minitest, "minitest/crash", 1), (Minitest, "minitest/testunit_pass", 0), (Minitest, "minitest/testunit_fail", 1), (Minitest, "minitest/testunit_fail_quiet", 1), (Minitest, "minitest/testunit_missing", 1), (Minitest, "minitest/testunit_none", 0),
        (Phpunit, "phpunit/pass", 0), (Phpunit, "phpunit/fail", 2), (Phpunit, "phpunit/fatal", 2), (Phpunit, "phpunit/syntax", 255), (Phpunit, "phpunit/missing", 255), (Phpunit, "phpunit/oom", 255), (Phpunit, "phpunit/crash", 139), (Phpunit, "phpunit/none", 0), (Phpunit, "phpunit/filtered", 0), (Phpunit, "phpunit/not_found", 1), (Phpunit, "phpunit/testdox", 0),
        (Ctest, "ctest/pass", 0), (Ctest, "ctest/fail", 8), (Ctest, "ctest/fail_quiet", 8), (Ctest, "ctest/none", 0), (Ctest, "ctest/not_built", 8), (Ctest, "ctest/build", 2), (Ctest, "ctest/link", 2), (Ctest, "ctest/conf", 1),
        (Compiler, "compiler/gcc", 2), (Compiler, "compiler/clang", 2), (Compiler, "compiler/gcc_missing", 1), (Compiler, "compiler/clang_missing", 1), (Compiler, "compiler/link", 1), (Compiler, "compiler/link_plain", 1), (Compiler, "compiler/link_library", 1), (Compiler, "compiler/warning", 0), (Compiler, "compiler/werror", 1), (Compiler, "compiler/javac", 1),
        (Dotnet, "dotnet/fail", 1), (Dotnet, "dotnet/compile_error", 1),
        (Tap, "tap/bats_fail", 1), (Tap, "tap/perl_fail", 2), (Tap, "tap/prove_fail", 1),
    ]
}

fn more(run: &TestRun) -> String {
    let mut shown = show(run);
    for failure in &run.failures {
        if let (Some(expected), Some(actual)) = (&failure.expected, &failure.actual) {
            write!(shown, "\n{}: wanted {expected:?}, got {actual:?}", failure.name).unwrap();
        }
    }
    if !run.skipped_names.is_empty() { write!(shown, "\nskipped: {}", run.skipped_names.join(", ")).unwrap(); }
    if run.expected_failures > 0 { write!(shown, "\nexpected failures: {}", run.expected_failures).unwrap(); }
    if !run.tally.is_empty() { write!(shown, "\ntally: {:?}", run.tally).unwrap(); }
    shown
}

#[test]
fn zz() {
    for (framework, name, code) in all() {
        let text = fixture(&format!("{name}.txt"));
        let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/outputs");
        let report = ["xml", "json"].iter().find_map(|e| std::fs::read(base.join(format!("{name}.{e}"))).ok());
        println!("CASE {framework:?} {name} {code} text\n{}\nEND", more(&read(framework, &exited(code, &text))));
        if let Some(report) = report {
            println!("CASE {framework:?} {name} {code} report\n{}\nEND", more(&read_with_report(framework, &exited(code, &text), &report)));
        }
        println!("CASE Other {name} {code} other\n{}\nEND", more(&read(Framework::Other, &exited(code, &text))));
    }
}
