//! Plots of days as SVG. The style sheet sets their colours and font, which light and dark share.

use plotters::chart::ChartBuilder;
use plotters::drawing::{DrawingAreaErrorKind, IntoDrawingArea as _};
use plotters::element::Rectangle;
use plotters::prelude::SVGBackend;
use plotters::style::{BLACK, Color as _, IntoFont as _};

/// The size of a plot, in the units of its view box.
const SIZE: (u32, u32) = (600, 160);
/// Room for the labels of the axes.
const LEFT: u32 = 56;
const BELOW: u32 = 24;
/// Room for the right half of the last label.
const RIGHT: u32 = 28;
const FONT_SIZE: u32 = 13;
/// How many labels an axis has at most.
const DAYS: usize = 8;
const VALUES: usize = 4;
/// Half of a bar, where a day is 1 wide.
const HALF_BAR: f64 = 0.4;
/// How far from the middle of a day a label of the axis may be: the labels' places are sums of fractions.
const NEAR: f64 = 1e-6;
/// A value beyond this is drawn as this one: the axis has to be able to count a little further.
const HIGHEST: u64 = 1 << 52;

type Failed = DrawingAreaErrorKind<std::io::Error>;

/// One bar for each pair of a day and its value. `in_words` labels the axis of the values.
///
/// # Errors
///
/// If it cannot be drawn, as with a label that XML cannot hold.
pub(super) fn bars(days: &[(String, u64)], in_words: fn(u64) -> String) -> Result<String, Failed> {
    let highest = days.iter().map(|(_, value)| *value).max().unwrap_or(0);
    let highest = highest.clamp(1, HIGHEST);
    let label = |x: &f64| {
        let nearest = x.round();
        let day = days.get(nearest as usize).filter(|_| (nearest - x).abs() < NEAR);
        day.map_or_else(String::new, |(day, _)| day.clone())
    };
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        let mut chart = ChartBuilder::on(&area)
            .margin(8)
            .margin_right(RIGHT)
            .x_label_area_size(BELOW)
            .y_label_area_size(LEFT)
            .build_cartesian_2d(-0.5..days.len() as f64 - 0.5, 0..highest)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .max_light_lines(1)
            .x_labels(DAYS)
            .y_labels(VALUES)
            .label_style(("sans-serif", FONT_SIZE).into_font())
            .x_label_formatter(&label)
            .y_label_formatter(&|value| in_words(*value))
            .draw()?;
        let bar = |(nth, (_, value)): (usize, &(String, u64))| {
            let middle = nth as f64;
            let corners = [(middle - HALF_BAR, 0), (middle + HALF_BAR, (*value).min(highest))];
            Rectangle::new(corners, BLACK.filled())
        };
        chart.draw_series(days.iter().enumerate().map(bar))?;
        area.present()?;
    }
    Ok(svg)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The heights of the bars, as the picture has them.
    fn heights(svg: &str) -> Vec<u32> {
        let height = |rect: &str| rect.split("height=\"").nth(1)?.split('"').next()?.parse().ok();
        svg.split("<rect ").skip(1).filter_map(height).collect()
    }

    #[test]
    fn bars_are_to_scale() {
        let days = [("a".into(), 0), ("b".into(), 5), ("c".into(), 10)];
        let svg = bars(&days, |value| value.to_string()).unwrap();
        let heights = heights(&svg);
        assert_eq!(heights.len(), 3, "{svg}");
        assert_eq!(heights[0], 0, "{svg}");
        assert!(heights[1] > 0 && heights[2].abs_diff(2 * heights[1]) <= 2, "{svg}");
    }

    #[test]
    fn axes_are_labelled_in_words() {
        let days = [("2026-11-01".into(), 1_500_000), ("2026-11-02".into(), 2_000_000)];
        let svg = bars(&days, |value| format!("{value} <micros>")).unwrap();
        assert!(svg.contains("2026-11-01") && svg.contains("2026-11-02"), "{svg}");
        assert!(
            svg.contains("2000000 &lt;micros&gt;") && !svg.contains("<micros>"),
            "{svg}"
        );
    }

    #[test]
    fn any_values_can_be_drawn() {
        let many: Vec<_> = (0..500).map(|nth| (nth.to_string(), u64::MAX - nth)).collect();
        assert_eq!(heights(&bars(&many, |value| value.to_string()).unwrap()).len(), 500);
        assert!(bars(&[("a".into(), 0)], |value| value.to_string()).is_ok());
        assert!(bars(&[], |value| value.to_string()).is_ok());
        let week: Vec<_> = (0..7).map(|nth| (format!("day {nth}"), nth)).collect();
        let svg = bars(&week, |value| value.to_string()).unwrap();
        assert!(week.iter().all(|(day, _)| svg.contains(day)), "{svg}");
    }

    #[test]
    fn the_policy_for_styles_has_nothing_to_refuse() {
        let svg = bars(&[("a".into(), 1)], |value| value.to_string()).unwrap();
        assert!(!svg.contains("style") && !svg.contains("href"), "{svg}");
    }
}
