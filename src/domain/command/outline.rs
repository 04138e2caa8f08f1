//! Where a comment addresses greenlight: its lines of plain text that start with the trigger.
//!
//! A Markdown parser with GitHub's extensions decides what plain text is. This module does not interpret the words.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// HTML elements that quote or show code, like Markdown's own syntax.
const QUOTING_ELEMENTS: [&str; 6] = ["blockquote", "code", "kbd", "pre", "q", "samp"];
/// Every notification mail of GitHub has one of these in its header. A mail program that quotes without `>` puts that
/// line above the quoted text, which may show commands that the sender of the reply never gave.
const MAIL_ADDRESSES: [&str; 2] = ["notifications@github.com", "@reply.github.com"];

/// The structure of a comment, as byte offsets.
#[derive(Default)]
struct Outline {
    /// Where each line of plain text starts.
    line_starts: Vec<usize>,
    html_comments: Vec<Range<usize>>,
    at_line_start: bool,
    /// How many open elements are neither paragraphs nor lists.
    marked_up: usize,
    /// How many quoting HTML elements are open.
    quotations: usize,
}

/// Whether the trigger is anywhere in a comment: a cheap check that saves most comments from the Markdown parser.
pub(super) fn mentions(body: &str, trigger: &str) -> bool {
    let mut places = body.match_indices('/');
    places.any(|(at, _)| {
        body.get(at..at + trigger.len())
            .is_some_and(|word| word.eq_ignore_ascii_case(trigger))
    })
}

/// Returns the text after each trigger at the start of a line of plain text, up to the next trigger.
///
/// It is source text with `\n` as line end and without HTML comments, which nobody sees.
pub(super) fn addressed(body: &str, trigger: &str, at_most: usize) -> Vec<String> {
    let body = written_by_the_sender(body);
    let outline = Outline::read(body);
    let starts: Vec<_> = outline
        .line_starts
        .iter()
        .filter(|start| is_trigger(body, **start, trigger))
        .collect();
    let ends = starts
        .iter()
        .skip(1)
        .map(|next| start_of_line(body, **next))
        .chain([body.len()]);
    (starts.iter().zip(ends).take(at_most))
        .map(|(start, end)| outline.visible(body, **start + trigger.len()..end))
        .map(|text| text.replace("\r\n", "\n").replace('\r', "\n"))
        .collect()
}

/// Cuts off the original mail below a reply by mail.
fn written_by_the_sender(body: &str) -> &str {
    let quoted = MAIL_ADDRESSES.iter().filter_map(|address| body.find(address)).min();
    quoted.map_or(body, |at| &body[..start_of_line(body, at)])
}

fn start_of_line(body: &str, at: usize) -> usize {
    body[..at].rfind(['\n', '\r']).map_or(0, |line_end| line_end + 1)
}

/// Whether the word at this place is the trigger, written literally. An escaped slash or a character reference looks
/// the same, but does not command.
fn is_trigger(body: &str, at: usize, trigger: &str) -> bool {
    let end = at + trigger.len();
    body.get(at..end).is_some_and(|word| word.eq_ignore_ascii_case(trigger))
        && !body[..at].ends_with('\\')
        && (body.len() == end || body[end..].starts_with([' ', '\t', '\n', '\r']))
}

impl Outline {
    fn read(body: &str) -> Self {
        // Text that GitHub's extensions mark up is not plain text either.
        let extensions =
            Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_GFM;
        let mut outline = Self::default();
        for (event, range) in Parser::new_ext(body, extensions).into_offset_iter() {
            outline.take(body, &event, range);
        }
        outline
    }

    fn take(&mut self, body: &str, event: &Event<'_>, range: Range<usize>) {
        let starts_line = std::mem::take(&mut self.at_line_start);
        match event {
            Event::Text(_) if starts_line && self.marked_up == 0 && self.quotations == 0 => {
                self.line_starts.push(range.start);
            }
            Event::Start(Tag::Paragraph | Tag::Item) | Event::SoftBreak | Event::HardBreak | Event::Rule => {
                self.at_line_start = true;
            }
            Event::Start(Tag::List(_)) => {}
            Event::Start(tag) => {
                self.marked_up += 1;
                if *tag == Tag::HtmlBlock {
                    self.take_html(&body[range.clone()], range.start);
                }
            }
            Event::End(TagEnd::Paragraph | TagEnd::Item | TagEnd::List(_)) => self.at_line_start = true,
            Event::End(tag) => {
                self.marked_up = self.marked_up.saturating_sub(1);
                self.at_line_start = !is_inline(*tag);
            }
            Event::InlineHtml(_) => self.take_html(&body[range.clone()], range.start),
            _ => {}
        }
    }

    /// Notes the comments of a piece of HTML, and which quoting elements it opens and closes.
    fn take_html(&mut self, html: &str, offset: usize) {
        let mut at = 0;
        while let Some(found) = html[at..].find('<') {
            let tag = &html[at + found..];
            if tag.starts_with("<!--") {
                let length = tag.find("-->").map_or(tag.len(), |end| end + 3);
                self.html_comments
                    .push(offset + at + found..offset + at + found + length);
                at += found + length;
                continue;
            }
            at += found + 1;
            let closes = tag.starts_with("</");
            let name = &tag[1 + usize::from(closes)..];
            if QUOTING_ELEMENTS.iter().any(|element| is_named(name, element)) {
                self.quotations = if closes {
                    self.quotations.saturating_sub(1)
                } else {
                    self.quotations + 1
                };
            }
        }
    }

    fn visible(&self, body: &str, range: Range<usize>) -> String {
        let mut text = String::new();
        let mut at = range.start;
        let inside = |comment: &&Range<usize>| range.start <= comment.start && comment.end <= range.end;
        for comment in self.html_comments.iter().filter(inside) {
            text.push_str(&body[at..comment.start]);
            at = comment.end;
        }
        text.push_str(&body[at..range.end]);
        text
    }
}

/// Whether a tag has this name. Reads no further than the name, because a comment may be one long tag.
fn is_named(tag: &str, element: &str) -> bool {
    let name = tag.get(..element.len());
    name.is_some_and(|name| name.eq_ignore_ascii_case(element))
        && !tag[element.len()..].starts_with(|next: char| next.is_ascii_alphanumeric())
}

fn is_inline(tag: TagEnd) -> bool {
    matches!(
        tag,
        TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(body: &str) -> Vec<String> {
        addressed(body, "/greenlight", 11)
            .iter()
            .map(|text| text.trim().to_owned())
            .collect()
    }

    #[test]
    fn a_line_of_plain_text_is_addressed() {
        for (body, expected) in [
            ("/greenlight fix", vec!["fix"]),
            ("/Greenlight APPROVE\r\n", vec!["APPROVE"]),
            ("/greenlight", vec![""]),
            (
                "Looks right.\n/greenlight approve  \nThanks!",
                vec!["approve  \nThanks!"],
            ),
            (
                "Both:\n\n- /greenlight cancel\n- then\n  /greenlight status",
                vec!["cancel\n- then", "status"],
            ),
            ("1. a\n   ```\n   x\n   ```\n   /greenlight fix", vec!["fix"]),
            ("a\\\n/greenlight fix\n***\n/greenlight undo", vec!["fix\n***", "undo"]),
            ("a\r/greenlight fix\r/greenlight undo", vec!["fix", "undo"]),
            (
                "<!-- a template, with <code> -->\n\n/greenlight fix <!-- hidden\n -->x",
                vec!["fix x"],
            ),
            ("<p>\n\n<code>x</code>\n\n</p>\n\n/greenlight fix", vec!["fix"]),
            (
                "/greenlight tdd a\n```\n/greenlight b\n```",
                vec!["tdd a\n```\n/greenlight b\n```"],
            ),
        ] {
            assert_eq!(read(body), expected, "{body:?}");
        }
    }

    #[test]
    fn code_quotations_and_what_nobody_sees_are_not() {
        for body in [
            "please run /greenlight approve",
            "`/greenlight approve`",
            "```\n/greenlight approve\n```",
            "~~~~\n```\n/greenlight approve\n~~~~",
            "```\n/greenlight approve",
            "a\n\n    /greenlight approve",
            "\t/greenlight approve",
            "x `a\n/greenlight approve\n` y",
            "> /greenlight approve",
            "> quoted\n/greenlight approve",
            "> [!NOTE]\n> /greenlight approve",
            "- > /greenlight approve",
            "<!-- /greenlight approve -->",
            "<!--\n\n/greenlight approve\n\n-->",
            "a <!--\n/greenlight approve\n-->",
            "<div>\n/greenlight approve\n</div>",
            "<pre>\n\n/greenlight approve\n\n</pre>",
            "<blockquote>\n\n/greenlight approve\n\n</blockquote>",
            "a <CODE class=x>\n/greenlight approve\n</code>",
            "[/greenlight approve](https://example.com)",
            "[a\n/greenlight approve](https://example.com)",
            "![/greenlight approve](x.png)",
            "[a]: /greenlight 'approve'",
            "[^1]\n\n[^1]: /greenlight approve",
            "# /greenlight approve",
            "*a\n/greenlight approve*",
            "~~a\n/greenlight approve~~",
            "/greenlight approve | a\n--- | ---\n/greenlight approve | b",
            "\\/greenlight approve",
            "&#47;greenlight approve",
            "<b>/greenlight approve</b>",
            "/greenlight-approve",
            "/greenlight: approve",
            "/greenlight\u{200b} approve",
            "/green\u{200b}light approve",
            "\u{202e}/greenlight approve",
            "\u{feff}/greenlight approve",
            "／greenlight approve",
            "/ｇreenlight approve",
            "/green\u{212a}light approve",
            "a\u{2028}/greenlight approve",
            "a\u{b}/greenlight approve",
            "No.\n\nFrom: M <notifications@github.com>\nSubject: Re\n\n/greenlight approve",
        ] {
            assert_eq!(read(body), [""; 0], "{body:?}");
        }
    }

    #[test]
    fn a_tag_is_read_no_further_than_its_name() {
        // Reading the rest of the comment for each tag would take hours.
        let brackets = "<".repeat(1_000_000);
        assert_eq!(read(&format!("<div>\n{brackets}\n\n/greenlight fix")), ["fix"]);
        let slashes = "</".repeat(500_000);
        assert_eq!(read(&format!("<div>\n{slashes}\n\n/greenlight fix")), ["fix"]);
        assert_eq!(read("<pre\n\n/greenlight approve"), [""; 0]);
        assert_eq!(read("<prefix>\n\n/greenlight fix"), ["fix"]);
    }

    proptest! {
        #[test]
        fn nothing_inside_a_fence_commands(inside in r"(/greenlight [a-z]{1,7}|[>`*\-#<!\\ ]{1,3}|\n|\PC{0,8}){0,24}") {
            let fence = "`".repeat(inside.len() + 3);
            prop_assert_eq!(read(&format!("{fence}\n{inside}\n/greenlight approve\n{fence}\n")), [""; 0]);
        }
    }
}
