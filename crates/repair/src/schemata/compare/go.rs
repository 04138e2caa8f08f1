//! Makes a Go function log its arguments and results, and call itself with other arguments.

use crate::schemata::rewrite::Literal;

/// The new body of the function with this number, wrapped around the old one, which becomes a separate function that
/// takes the receiver as an argument.
pub(super) fn observed(literal: &Literal, (id, body): (usize, &str)) -> String {
    let signature = &literal.signature;
    let list = literal.arguments.trim_matches(['(', ')']);
    let names = list.split(", ").filter(|name| !name.is_empty());
    let arguments: String = names
        .map(|name| format!(", {}", name.trim_end_matches("...")))
        .collect();
    let results = (0..literal.results).map(|at| format!("greenlightR{at}"));
    let results = results.collect::<Vec<_>>().join(", ");
    let call = format!("greenlightBody{}", literal.arguments);
    let rest = match literal.results {
        0 => format!("{call}\ngreenlightNoted.leave()\n}}"),
        _ => format!("{results} := {call}\ngreenlightNoted.leave({results})\nreturn {results}\n}}"),
    };
    format!(
        "{{ greenlightBody := func{signature} {body}\n\
         greenlightNoted := greenlightEnter({id}, greenlightBody{arguments})\ndefer greenlightNoted.end()\n{rest}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_noted_before_they_are_given() {
        let literal = Literal {
            signature: "(a int, b ...string) (int, error)".into(),
            arguments: "(a, b...)".into(),
            results: 2,
        };
        let text = observed(&literal, (4, "{ return a, nil }"));
        assert_eq!(
            text,
            "{ greenlightBody := func(a int, b ...string) (int, error) { return a, nil }\n\
             greenlightNoted := greenlightEnter(4, greenlightBody, a, b)\ndefer greenlightNoted.end()\n\
             greenlightR0, greenlightR1 := greenlightBody(a, b...)\n\
             greenlightNoted.leave(greenlightR0, greenlightR1)\nreturn greenlightR0, greenlightR1\n}"
        );
    }
}
