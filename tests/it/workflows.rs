//! The workflow and action files keep to their schemas and to the rules for what runs beside a token.
