//! Numbers with their nouns.

/// `1 test`, `2 tests`: for nouns that take an `s`.
pub fn count(number: u64, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_a_thing_takes_no_s() {
        assert_eq!(count(0, "test"), "0 tests");
        assert_eq!(count(1, "test"), "1 test");
        assert_eq!(count(2, "test"), "2 tests");
    }
}
