//! Prints the functions of a file.

use greenlight_syntax::{Below, Language, Parsed};

const FILE: &str =
    "def fare(age):\n    return 2 if age < 12 else 4\n\ndef total(ages):\n    return sum(map(fare, ages))\n";

fn main() {
    let Some(file) = Language::of("fares.py").and_then(|language| Parsed::parse(language, FILE)) else {
        return;
    };
    file.visit(file.tree.root_node(), |node| {
        if let Some(name) = node
            .child_by_field_name("name")
            .filter(|_| node.kind() == "function_definition")
        {
            show(&format!("{}: {}", Parsed::line(node), file.raw(name)));
        }
        Below::Enter
    });
}

#[expect(clippy::print_stdout, reason = "an example prints")]
fn show(line: &str) {
    println!("{line}");
}
