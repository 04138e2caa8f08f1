"""Verdicts on candidates, and their time limits."""

PASSES, FAILS, INVALID, TIMEOUT = "passes", "fails", "invalid", "timeout"
# Some failing tests pass; or all fail, but later than before or with a value that is closer.
CLOSER, LATER = "closer", "later"
# Time limit of a candidate, as a multiple of the time without one.
FACTOR = 10
# Time limit of the passing tests for one candidate, in seconds.
PASSING = 2.0
