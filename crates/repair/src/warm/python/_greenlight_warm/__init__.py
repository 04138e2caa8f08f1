"""Judges edits of a Python project in one interpreter that has the project's tests loaded.

It runs under Python 3.8 and later, together with the code under test, which can manipulate it: greenlight treats its
answers as claims. `../load.py` imports the package; `entry.py` contains what greenlight calls.
"""
