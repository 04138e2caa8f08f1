//! Stories: what a person does on GitHub, and what greenlight does then. One file per verb.

mod approve;
mod cancel;
mod reject;
