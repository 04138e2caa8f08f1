//! The table of all routes, and matching requests to them.

use std::collections::HashMap;

use percent_encoding::percent_decode_str;

use super::route::Route;

/// The route for a request with its captures. In the tables, literal routes precede those with captures.
pub(super) fn find(method: &str, path: &str) -> Option<(&'static Route, HashMap<&'static str, String>)> {
    let segments: Vec<String> = path
        .split('/')
        .skip(1)
        .map(|part| percent_decode_str(part).decode_utf8_lossy().into_owned())
        .collect();
    let tables: [&'static [Route]; 17] = [
        super::apps::ROUTES,
        super::manifests::ROUTES,
        super::deliveries::ROUTES,
        super::repositories::ROUTES,
        super::history::ROUTES,
        super::statuses::ROUTES,
        super::contents::ROUTES,
        super::pulls::ROUTES,
        super::comments::ROUTES,
        super::reactions::ROUTES,
        super::reviews::ROUTES,
        super::threads::ROUTES,
        super::checks::ROUTES,
        super::actions::ROUTES,
        super::git_data::ROUTES,
        super::branch_rules::ROUTES,
        super::graphql::ROUTES,
    ];
    tables
        .into_iter()
        .flatten()
        .filter(|route| route.method == method)
        .find_map(|route| Some((route, route.captures(&segments)?)))
}
