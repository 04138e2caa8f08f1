//! Adds up how long some steps took and writes it for people.

use std::time::Duration;

use greenlight_units::clock::{Clock, in_words, millis};
use greenlight_units::count::count;

fn main() {
    let clock = Clock::default();
    for seconds in [3, 42, 80] {
        clock.add(Duration::from_secs(seconds));
    }
    let steps = count(clock.times(), "step");
    show(&format!("{steps} took {}", in_words(clock.wall())));
    show(&format!("a record says {} ms", millis(clock.wall())));
}

#[expect(clippy::print_stdout, reason = "an example prints")]
fn show(text: &str) {
    println!("{text}");
}
