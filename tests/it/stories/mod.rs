//! Stories: what a person does on GitHub, and what greenlight does then. One file for each command, and for each kind
//! of trouble.

#![expect(
    clippy::too_many_lines,
    clippy::invisible_characters,
    reason = "whole comments are asserted where they are expected, with what defuses a mention in them"
)]

mod api;
mod approve;
mod ask;
mod bound;
mod budget;
mod cancel;
mod ci_step;
mod codeact;
mod door;
mod explain;
mod faults;
mod fix;
mod fleet;
mod forgets;
mod forgotten;
mod guard;
mod gullible;
mod hostile;
mod install;
mod ladder;
mod lifecycle;
mod limited;
mod limits;
mod logins;
mod looked_at;
mod memory;
mod merged;
mod metrics;
mod minimal;
mod missed;
mod missing;
mod model;
mod monorepo;
mod other_ci;
mod page;
mod pictured;
mod posting;
mod recorded;
mod refactor;
mod refused;
mod reject;
mod renamed;
mod request;
mod requests;
mod required;
mod restart;
mod retarget;
mod rules;
mod secrets;
mod shown;
mod signed_in;
mod signed_in_answers;
mod signed_in_browser;
mod suggestions;
mod tdd;
mod traces;
mod traffic;
mod triage;
mod trigger;
mod undo;
mod uninstalled;
mod unreadable;
mod workers;
