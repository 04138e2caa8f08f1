//! Invisible characters.

/// Whether readers see a character in its place, or it is a line feed or a tab. Emoji need U+FE0E and U+FE0F; the
/// other variation selectors could hide any text.
pub fn is_visible(c: char) -> bool {
    matches!(c, '\n' | '\t') || !(c.is_control() || is_format(c))
}

/// Default-ignorable characters, and those that only some programs treat as line breaks.
/// <https://www.unicode.org/reports/tr44/#Default_Ignorable_Code_Point>
fn is_format(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0d}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}
