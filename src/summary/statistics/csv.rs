//! Statistics as CSV.

use super::{Day, MAX_NAME, Statistics};
use crate::domain::redact;

impl Statistics {
    /// The number of runs in each state as CSV, with a header.
    pub fn outcomes_as_csv(&self) -> String {
        let rows = self.by_state.iter().map(|(state, runs)| format!("{state},{runs}\r\n"));
        String::from("state,runs\r\n") + &rows.collect::<String>()
    }

    /// The flaky and the broken tests as CSV, with a header. Strangers choose the names: they are quoted, and no
    /// spreadsheet takes one for a formula.
    pub fn tests_as_csv(&self) -> String {
        let flaky = self.flaky_tests.iter().map(|test| {
            let name = csv_text(&test.name);
            format!(
                "{name},flaky,{},{},{},{}\r\n",
                test.red, test.executions, test.runs, test.last
            )
        });
        let broken = self.broken_tests.iter().map(|test| {
            let name = csv_text(&test.name);
            format!("{name},broken-on-base,,,{},{}\r\n", test.runs, test.last)
        });
        String::from("test,kind,red,executions,runs,last\r\n") + &flaky.chain(broken).collect::<String>()
    }

    /// The days as CSV, with a header.
    pub fn days_as_csv(&self) -> String {
        let rows = self.days.iter().map(|day| {
            let Day {
                day,
                runs,
                accepted,
                cost_micros,
                proposed,
                accepted_without_model,
                time_to_green_ms,
            } = day;
            let time = time_to_green_ms.map(|ms| ms.to_string()).unwrap_or_default();
            format!("{day},{runs},{accepted},{cost_micros},{proposed},{accepted_without_model},{time}\r\n")
        });
        String::from("day,runs,accepted,cost_micros,proposed,accepted_without_model,time_to_green_ms\r\n")
            + &rows.collect::<String>()
    }
}

/// A quoted field. <https://owasp.org/www-community/attacks/CSV_Injection>
fn csv_text(text: &str) -> String {
    let text = redact::redact(&redact::visible(&redact::bounded(text, MAX_NAME)));
    let mark = match text.trim_start().starts_with(['=', '+', '-', '@']) {
        true => "'",
        false => "",
    };
    let text = text.replace('"', "\"\"").replace(['\r', '\n', '\t'], " ");
    format!("\"{mark}{text}\"")
}
