//! Expressions as workflows contain them, and some that nobody writes.

use super::*;

#[track_caller]
fn check(text: &str, expected: Option<&str>) {
    let scope = Scope {
        matrix: vec![
            ("python-version".into(), Node::Number(3.1)),
            ("os".into(), Node::Text("ubuntu-latest".into())),
            ("fast".into(), Node::Bool(true)),
            ("set".into(), Node::Map(vec![("flag".into(), Node::Text("-x".into()))])),
        ],
        env: [("WHERE".to_string(), "py".to_string())].into(),
        inputs: [("suite".to_string(), "unit".to_string())].into(),
        runner_os: Some("Linux"),
        ..Scope::default()
    };
    assert_eq!(interpolate(text, &scope).as_deref(), expected, "{text}");
}

#[test]
fn what_follows_from_the_workflow_is_known() {
    check("pytest", Some("pytest"));
    check(
        "py${{ matrix.python-version }}-${{matrix['os']}}",
        Some("py3.1-ubuntu-latest"),
    );
    check("cd ${{ env.WHERE }} && ${{ inputs.suite }}", Some("cd py && unit"));
    check("${{ matrix.set.flag }}|${{ matrix.absent }}|", Some("-x||"));
    check("${{ matrix.os == 'Ubuntu-Latest' && 'yes' || 'no' }}", Some("yes"));
    check("${{ matrix.os != 'x' && (matrix.fast == true) }}", Some("true"));
    check("${{ !matrix.fast || '}}' }}", Some("}}"));
    check("${{ format('{0}-{{{1}}}', runner.os, 'it''s') }}", Some("Linux-{it's}"));
    check("${{ contains(matrix.os, 'UBUNTU') }}", Some("true"));
    check(
        "${{ startsWith(runner.os, 'Win') && secrets.X || 'none' }}",
        Some("none"),
    );
    check("${{ github.workspace }}/a", Some("$GITHUB_WORKSPACE/a"));
    check("${{ matrix.python-version >= 3 && 'new' || 'old' }}", Some("new"));
    check("${{ matrix.set['FLAG'] }}", Some("-x"));
    check("${{ fromJSON('[\"a\", \"it''s\"]')[1] }}", Some("it's"));
    check("${{ join(fromJSON('[1, \"b\"]'), ' ') }}", Some("1 b"));
    check(
        "${{ contains(fromJSON('[\"x\", \"unit\"]'), inputs.suite) }}",
        Some("true"),
    );
    check("${{ case(matrix.fast, 'quick', 'slow') }}", Some("quick"));
}

#[test]
fn what_does_not_is_not_guessed() {
    for text in [
        "${{ secrets.TOKEN }}",
        "${{ secrets.TOKEN || 'none' }}",
        "${{ steps.a.outputs.b }}",
        "${{ env.ABSENT }}",
        "${{ hashFiles('**/lock') }}",
        "${{ fromJSON(secrets.LIST)[0] }}",
        "${{ fromJSON('[1]') }}",
        "${{ matrix.set }}",
        "${{ matrix.*.flag }}",
        "${{ unknown('x') }}",
        "${{ 'open",
        "${{ matrix.os == }}",
        "${{ }}",
        "${{ format('{9}', 1) }}",
        "${{ format('{', 1) }}",
    ] {
        check(text, None);
    }
    check(&format!("${{{{ {}1{} }}}}", "(".repeat(900), ")".repeat(900)), None);
    check(&format!("${{{{ {}1 }}}}", "!".repeat(1_900)), None);
    check(&format!("${{{{ '{}' }}}}", "x".repeat(3_000)), None);
    let nested = format!("{}'x'{}", "format('{0}{0}', ".repeat(40), ")".repeat(40));
    check(&format!("${{{{ {nested} }}}}"), None);
}

#[test]
fn a_step_is_skipped_only_if_its_matrix_or_runner_says_so() {
    let scope = Scope {
        matrix: vec![("os".into(), Node::Text("ubuntu-latest".into()))],
        env: [("RUN".to_string(), "no".to_string())].into(),
        runner_os: Some("Linux"),
        ..Scope::default()
    };
    let skipped = |condition: &str| is_false(&Node::Text(condition.into()), &scope);
    for condition in [
        "matrix.os == 'windows-latest'",
        "${{ matrix.os == 'windows-latest' }}",
        "runner.os != 'Linux'",
        "matrix.absent",
        "false",
    ] {
        assert!(skipped(condition), "{condition}");
    }
    for condition in [
        "matrix.os == 'ubuntu-latest'",
        "success()",
        "always() && matrix.os == 'ubuntu-latest'",
        // An earlier step, or another event, may make these true.
        "env.RUN == 'yes'",
        "github.event_name == 'push'",
        "steps.a.outputs.b == 'c'",
        "matrix.os ==",
        "",
    ] {
        assert!(!skipped(condition), "{condition}");
    }
    let computed = Scope::default();
    assert!(!is_false(&Node::Text("matrix.os == 'x'".into()), &computed));
    assert!(is_false(&Node::Bool(false), &computed));
}

/// A change is on a branch that no condition names, and comes from any repository.
#[test]
fn what_runs_on_the_default_branch_alone_does_not_run_for_a_change() {
    let scope = Scope {
        is_for_changes: true,
        ..Scope::default()
    };
    let skipped = |condition: &str| is_false(&Node::Text(condition.into()), &scope);
    for condition in [
        "github.ref == 'refs/heads/main'",
        "github.repository == 'a/b' && (github.ref == 'refs/heads/main' || startsWith(github.ref, 'refs/heads/release-'))",
        "startsWith(github.ref, 'refs/tags/') && secrets.KEY != ''",
        "github.ref_name == 'main' || github.ref_type == 'tag'",
    ] {
        assert!(skipped(condition), "{condition}");
    }
    for condition in [
        "github.ref != 'refs/heads/main'",
        "github.repository == 'a/b'",
        "github.repository == 'a/b' || github.ref == 'refs/heads/main'",
        "github.repository == 'a/b' && github.ref != 'refs/heads/main'",
    ] {
        assert!(!skipped(condition), "{condition}");
    }
    // As text, it is not known.
    assert_eq!(interpolate("${{ github.ref }}", &scope), None);
}
