"""Verdicts on candidates, and their time limits."""

PASSES, FAILS, CLOSER, INVALID, TIMEOUT = "passes", "fails", "closer", "invalid", "timeout"
# Time limit of a candidate, as a multiple of the time without one.
FACTOR = 10
# Time limit of the passing tests for one candidate, in seconds.
PASSING = 2.0
