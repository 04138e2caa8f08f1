//! GitHub's own examples keep to its description, and planted mistakes are found.
