//! What the stories stand on.

pub(crate) mod model;
pub(crate) mod openapi;
