"""Judges edits of a Python project in one interpreter that has the project's tests loaded.

It runs under Python 3.8 and later, beside the code under test, which can do anything to it: greenlight takes its
answers for claims. `../load.py` imports the package; `entry.py` has what greenlight calls.
"""
