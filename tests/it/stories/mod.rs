//! Stories: what a person does on GitHub, and what greenlight does then. One file per verb, and one per calamity.

mod approve;
mod ask;
mod bound;
mod cancel;
mod ci_step;
mod door;
mod faults;
mod fix;
mod guard;
mod hostile;
mod install;
mod lifecycle;
mod memory;
mod minimal;
mod model;
mod posting;
mod reject;
mod required;
mod restart;
mod secrets;
mod shown;
mod suggestions;
mod traffic;
mod triage;
mod trigger;
mod undo;
