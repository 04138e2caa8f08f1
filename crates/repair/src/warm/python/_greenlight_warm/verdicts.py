"""What becomes of a candidate, and the time that it is given."""

PASSES, FAILS, INVALID, TIMEOUT = "passes", "fails", "invalid", "timeout"
# How long a candidate may take, by what the tests take without one.
FACTOR = 10
# How long the tests that passed may take for one candidate.
PASSING = 2.0
