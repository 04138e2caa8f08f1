//! Pagination, with a `Link` header for the next page.

use serde_json::{Value, json};

use super::answer::RestAnswer;
use super::route::RouteCall;

/// One page of a list with its `Link` header: 30 items by default, at most 100 with `per_page`.
pub(super) fn page(call: &RouteCall<'_>, items: Vec<Value>) -> RestAnswer {
    let (shown, link) = cut(call, items);
    with_link(RestAnswer::ok(Value::Array(shown)), link)
}

/// One page of a list that GitHub wraps as `{"total_count": …, name: […]}`.
pub(super) fn counted_page(call: &RouteCall<'_>, name: &str, items: Vec<Value>) -> RestAnswer {
    let total = items.len();
    let (shown, link) = cut(call, items);
    with_link(RestAnswer::ok(json!({ "total_count": total, name: shown })), link)
}

fn with_link(answer: RestAnswer, link: Option<String>) -> RestAnswer {
    match link {
        Some(link) => answer.header("link", link),
        None => answer,
    }
}

fn cut(call: &RouteCall<'_>, items: Vec<Value>) -> (Vec<Value>, Option<String>) {
    let wanted = |name: &str, otherwise: usize| {
        call.query
            .get(name)
            .and_then(|text| text.parse().ok())
            .filter(|n| *n > 0)
            .unwrap_or(otherwise)
    };
    let size = wanted("per_page", 30).min(100);
    let page = wanted("page", 1);
    let last = items.len().div_ceil(size).max(1);
    let mut others: Vec<(&String, &String)> = call.query.iter().filter(|(name, _)| *name != "page").collect();
    others.sort();
    let address = |number: usize| {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(&others).append_pair("page", &number.to_string());
        format!("<{}{}?{}>", call.state.api(), call.path, query.finish())
    };
    let mut links = Vec::new();
    if page > 1 {
        links.push(format!("{}; rel=\"prev\"", address(page - 1)));
    }
    if page < last {
        links.push(format!("{}; rel=\"next\"", address(page + 1)));
        links.push(format!("{}; rel=\"last\"", address(last)));
    }
    if page > 1 {
        links.push(format!("{}; rel=\"first\"", address(1)));
    }
    let shown = items
        .into_iter()
        .skip((page - 1).saturating_mul(size))
        .take(size)
        .collect();
    (shown, (!links.is_empty()).then(|| links.join(", ")))
}
