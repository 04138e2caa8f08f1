//! Amounts of bytes for people.

/// A number of bytes in the largest unit in which it is at least one: `512 B`, `1.5 KiB`, `3 GiB`.
#[expect(clippy::cast_precision_loss, reason = "one digit after the point is shown")]
pub fn in_words(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let digits = usize::from(value.fract() >= 0.05);
    format!("{value:.digits$} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_fits_the_size() {
        for (bytes, words) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1 KiB"),
            (1536, "1.5 KiB"),
            (3 << 30, "3 GiB"),
            (5 << 50, "5120 TiB"),
        ] {
            assert_eq!(in_words(bytes), words);
        }
    }
}
