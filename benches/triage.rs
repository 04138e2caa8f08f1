//! The reliability of triage verdicts on failing tests: how often each verdict is reached for tests with known
//! failure rates, and after how many runs. The numbers are exact, not measured: every possible course of a trial is
//! enumerated.
//!
//! `cargo bench --bench triage` prints the table for the defaults and for other settings of `[triage]`.

use greenlight::domain::triage::StoppingRules;
use greenlight::domain::triage::sequential::error_rates;

fn main() {
    for (runs, confidence) in [(5, 0.95), (3, 0.9), (10, 0.95), (20, 0.99)] {
        let rules = StoppingRules { runs, confidence };
        show(&format!("runs = {runs}, confidence = {} %\n", confidence * 100.0));
        show("  red at  red at    called          called   called broken    mean\n");
        show("    head    base    deterministic    flaky        on base    runs\n");
        let rates = [0.01, 0.05, 0.1, 0.3, 0.5, 0.9, 0.99, 1.0];
        let as_flaky = rates.map(|rate| (rate, Some(rate)));
        let new = rates.map(|rate| (rate, None));
        let made_flaky = [0.5, 0.9, 1.0].map(|rate| (rate, Some(0.0)));
        for (head, base) in as_flaky.into_iter().chain(new).chain(made_flaky) {
            let found = error_rates(&rules, head, base);
            let base = base.map_or("new".into(), |base| format!("{:.0} %", base * 100.0));
            show(&format!(
                "{:>7.0} % {base:>7} {:>14.4} % {:>8.3} % {:>11.3} % {:>8.2}\n",
                head * 100.0,
                found.deterministic * 100.0,
                found.flaky * 100.0,
                found.broken_on_base * 100.0,
                found.mean_runs
            ));
        }
        show("\n");
    }
}

#[expect(clippy::print_stdout, reason = "this is what a bench is for")]
fn show(text: &str) {
    print!("{text}");
}
