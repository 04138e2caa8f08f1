//! Bars of a plot, as numbers for a template of SVG. A crate for plots would bring fonts and more code than these bars.

/// The size of a plot, in the units of its view box.
pub(super) const WIDTH: u64 = 600;
pub(super) const HEIGHT: u64 = 120;

/// One bar, from the bottom up.
pub(super) struct Bar {
    pub(super) x: u64,
    pub(super) y: u64,
    pub(super) width: u64,
    pub(super) height: u64,
    pub(super) label: String,
}

/// One bar for each value.
pub(super) fn bars(values: &[(String, u64)]) -> Vec<Bar> {
    let most = values.iter().map(|(_, value)| *value).max().unwrap_or(0).max(1);
    let slot = (WIDTH / (values.len() as u64).max(1)).max(1);
    let width = (slot * 3 / 4).clamp(1, 40);
    let bar = |(nth, (label, value)): (usize, &(String, u64))| {
        let height = u64::try_from(u128::from(*value) * u128::from(HEIGHT) / u128::from(most)).unwrap_or(HEIGHT);
        Bar {
            x: nth as u64 * slot,
            y: HEIGHT - height,
            width,
            height,
            label: label.clone(),
        }
    };
    values.iter().enumerate().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_to_scale_and_within_the_plot() {
        let shown = bars(&[("a".into(), 0), ("b".into(), 5), ("c".into(), 10)]);
        let heights: Vec<u64> = shown.iter().map(|bar| bar.height).collect();
        assert_eq!(heights, [0, 60, 120]);
        let many: Vec<(String, u64)> = (0..500).map(|n| (n.to_string(), u64::MAX - n)).collect();
        assert!(
            bars(&many)
                .iter()
                .all(|bar| bar.x + bar.width <= WIDTH && bar.y + bar.height <= HEIGHT)
        );
        assert!(bars(&[]).is_empty());
    }
}
