//! Expands a matrix into its jobs:
//! <https://docs.github.com/en/actions/how-tos/write-workflows/choose-what-workflows-do/run-job-variations>

use super::expression::{MatrixExtent, Scope, interpolate, structure};
use super::node::Node;

/// GitHub's own limit on the jobs of a matrix.
const MAX_COMBINATIONS: usize = 256;
/// Maximum number of values, including nested ones, in all combinations of one matrix.
const MAX_VALUES: usize = 200_000;

/// The values of one job, in the order in which its name shows them.
pub(super) type Combination = Vec<(String, Node)>;

/// All combinations of a matrix. `None` if it is computed rather than written out, or has too many.
pub(super) fn combinations(matrix: &Node, scope: &Scope) -> Option<Vec<Combination>> {
    let Node::Map(entries) = resolved(matrix, scope)? else {
        return None;
    };
    let mut all: Vec<Combination> = vec![Vec::new()];
    let axes = entries
        .iter()
        .filter(|(name, _)| name != "include" && name != "exclude");
    let mut has_axes = false;
    let mut weight = 0_usize;
    for (name, values) in axes {
        has_axes = true;
        let Node::List(values) = values else { return None };
        weight += values.iter().map(Node::weight).max().unwrap_or_default();
        let count = all.len() * values.len();
        if count > MAX_COMBINATIONS * 4 || count * weight > MAX_VALUES {
            return None;
        }
        let with = |one: &Combination, value: &Node| {
            let mut one = one.clone();
            one.push((name.clone(), value.clone()));
            one
        };
        all = all
            .iter()
            .flat_map(|one| values.iter().map(move |value| with(one, value)))
            .collect();
    }
    let entry = |name: &str| {
        entries
            .iter()
            .find(|(key, _)| key == name)
            .map_or(&[][..], |(_, list)| list.items())
    };
    all.retain(|one| !entry("exclude").iter().any(|excluded| agrees(one, excluded.entries())));
    if !has_axes {
        all.clear();
    }
    let included: usize = entry("include").iter().map(Node::weight).sum();
    if included * all.len().max(1) > MAX_VALUES {
        return None;
    }
    include(&mut all, entry("include"));
    (!all.is_empty() && all.len() <= MAX_COMBINATIONS).then_some(all)
}

/// All combinations of the values that are written out, and whether there may be others. One empty combination if nothing
/// is known.
pub(super) fn known_combinations(matrix: &Node, scope: &Scope) -> (Vec<Combination>, MatrixExtent) {
    if let Some(all) = combinations(matrix, scope) {
        return (all, MatrixExtent::Whole);
    }
    let written: Vec<(&str, Node)> = matrix
        .entries()
        .iter()
        .filter_map(|(name, value)| Some((name.as_str(), known_values(value, scope)?)))
        .collect();
    let is_axis = |name: &str| name != "include" && name != "exclude";
    let has_axes = matrix.entries().iter().any(|(name, _)| is_axis(name));
    let is_left_out = |(name, _): &&(String, Node)| !written.iter().any(|(known, _)| known == name);
    let lacks_any = matrix.entries().iter().any(|entry| is_left_out(&entry));
    let has_known_axes = written.iter().any(|(name, _)| is_axis(name));
    let known = written
        .into_iter()
        // What is included depends on the values that are not known.
        .filter(|(name, _)| !(lacks_any && has_known_axes) || is_axis(name))
        .map(|(name, values)| (name.to_owned(), values))
        .collect();
    match combinations(&Node::Map(known), scope) {
        // Each job has all of its values, even if there are more jobs.
        Some(all) if !has_axes && !lacks_any => (all, MatrixExtent::Whole),
        all => (all.unwrap_or_else(|| vec![Vec::new()]), MatrixExtent::Partial),
    }
}

/// Those values of an axis, or those included jobs, that are known. `None` if none is.
fn known_values(values: &Node, scope: &Scope) -> Option<Node> {
    match resolved(values, scope) {
        Some(list @ Node::List(_)) => Some(list),
        Some(_) => None,
        None => {
            let known = values.items().iter().filter_map(|item| resolved(item, scope));
            let known: Vec<Node> = known.collect();
            (!known.is_empty()).then_some(Node::List(known))
        }
    }
}

/// Adds an `include` entry to every combination whose original values it does not overwrite, else as a new
/// combination.
fn include(all: &mut Vec<Combination>, included: &[Node]) {
    let original: Vec<Combination> = all.clone();
    for more in included.iter().take(MAX_COMBINATIONS) {
        let mut fits = false;
        for (one, own) in all.iter_mut().zip(&original) {
            let overwrites = |(name, value): &(String, Node)| own.iter().any(|(key, old)| key == name && old != value);
            if more.entries().iter().any(overwrites) {
                continue;
            }
            fits = true;
            for (name, value) in more.entries() {
                match one.iter_mut().find(|(key, _)| key == name) {
                    Some((_, old)) => *old = value.clone(),
                    None => one.push((name.clone(), value.clone())),
                }
            }
        }
        if !fits {
            all.push(more.entries().to_vec());
        }
    }
}

/// Whether a combination has all of these values.
fn agrees(one: &Combination, values: &[(String, Node)]) -> bool {
    let has = |(name, value): &(String, Node)| one.iter().any(|(key, own)| key == name && own == value);
    !values.is_empty() && values.iter().all(has)
}

/// The values in the parentheses of a job's name: scalars only; objects and lists are flattened.
pub(super) fn display_names(combination: &Combination) -> Vec<String> {
    fn scalars(node: &Node, into: &mut Vec<String>) {
        match node {
            Node::List(items) => items.iter().for_each(|item| scalars(item, into)),
            Node::Map(entries) => entries.iter().for_each(|(_, value)| scalars(value, into)),
            scalar => into.extend(scalar.scalar().filter(|text| !text.is_empty())),
        }
    }
    let mut texts = Vec::new();
    combination.iter().for_each(|(_, node)| scalars(node, &mut texts));
    texts
}

/// The node with the expressions in its texts replaced.
fn resolved(node: &Node, scope: &Scope) -> Option<Node> {
    Some(match node {
        Node::Text(text) => match structure(text, scope) {
            Some(list) => list,
            None => Node::Text(interpolate(text, scope)?),
        },
        Node::List(items) => Node::List(items.iter().map(|item| resolved(item, scope)).collect::<Option<_>>()?),
        Node::Map(entries) => {
            let entries = entries
                .iter()
                .map(|(name, value)| Some((name.clone(), resolved(value, scope)?)));
            Node::Map(entries.collect::<Option<_>>()?)
        }
        other => other.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::node::parse;
    use super::*;

    #[track_caller]
    fn check(yaml: &str, expected: &[&str]) {
        let all = combinations(&parse(yaml, false).unwrap(), &Scope::default()).unwrap_or_default();
        let all: Vec<String> = all.iter().map(|one| display_names(one).join(", ")).collect();
        assert_eq!(all, expected, "{yaml}");
    }

    #[test]
    fn combinations_are_those_of_github() {
        check(
            "{py: [3.9, '3.10'], os: [a, b]}",
            &["3.9, a", "3.9, b", "3.10, a", "3.10, b"],
        );
        check(
            "{py: [1, 2], os: [a, b], exclude: [{py: 1, os: b}, {py: 2}]}",
            &["1, a"],
        );
        check("{include: [{a: 1}, {a: 2, b: x}]}", &["1", "2, x"]);
        check("{set: [{name: x, flags: [-a, -b]}]}", &["x, -a, -b"]);
        // GitHub also reads JSON with single quotes.
        check("{os: '${{ fromJSON(''[\"a\", \"b\"]'') }}'}", &["a", "b"]);
        check("{os: \"${{ fromJSON('[''a'', ''b'']') }}\"}", &["a", "b"]);
        check("\"${{ fromJSON('{\\\"os\\\": [\\\"a\\\"]}') }}\"", &["a"]);
        check("{os: '${{ fromJSON(needs.a.outputs.b) }}'}", &[]);
        let partly = parse("{os: '${{ fromJSON(needs.a.outputs.b) }}', py: [1, 2]}", false).unwrap();
        let (known, extent) = known_combinations(&partly, &Scope::default());
        assert_eq!((known.len(), extent), (2, MatrixExtent::Partial));
        let included = parse("{os: '${{ a() }}', env: [''], include: [{os: b, env: A=1}]}", false).unwrap();
        assert_eq!(known_combinations(&included, &Scope::default()).0.len(), 1);
        // One job with a value that only a runner knows says nothing about the others.
        let named = parse("{include: [{name: a}, {name: '${{ github.repository }}'}]}", false).unwrap();
        let (known, extent) = known_combinations(&named, &Scope::default());
        assert_eq!((known.len(), extent), (1, MatrixExtent::Whole));
        let axis = parse("{os: [a, '${{ github.repository }}'], py: [1, 2]}", false).unwrap();
        let (known, extent) = known_combinations(&axis, &Scope::default());
        assert_eq!((known.len(), extent), (2, MatrixExtent::Partial));
        // The example from GitHub's documentation.
        check(
            "{fruit: [apple, pear], animal: [cat, dog], include: [{color: green}, {color: pink, animal: cat}, \
             {fruit: apple, shape: circle}, {fruit: banana}, {fruit: banana, animal: cat}]}",
            &[
                "apple, cat, pink, circle",
                "apple, dog, green, circle",
                "pear, cat, pink",
                "pear, dog, green",
                "banana",
                "banana, cat",
            ],
        );
    }

    #[test]
    fn computed_and_huge_ones_are_not_known() {
        check("{py: \"${{ fromJSON(needs.a.outputs.b) }}\"}", &[]);
        check("\"${{ fromJSON(needs.a.outputs.b) }}\"", &[]);
        let axis = |name| format!("{name}: [1,2,3,4,5,6,7,8,9,10]");
        check(
            &format!("{{{}, {}, {}, {}}}", axis("a"), axis("b"), axis("c"), axis("d")),
            &[],
        );
        check("{a: []}", &[]);
        let many: Vec<&str> = ["1"; 256].into();
        let large = format!("[{}]", "1, ".repeat(5_000));
        check(&format!("{{a: [{large}], b: [{}]}}", many.join(",")), &[]);
        check(&format!("{{b: [{}], include: [{{a: {large}}}]}}", many.join(",")), &[]);
    }
}
