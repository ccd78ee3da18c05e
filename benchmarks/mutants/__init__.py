"""Mutation testing: which small changes to the code no pure or mocks test notices.

    settings.py    the packages and bounds of `[tool.mutants]` in pyproject.toml
    tool.py        cosmic-ray, in an environment of their own outside the tree
    operators.py   two more kinds of change: a statement left out, a word changed
    candidates.py  every possible change of a package, and a random sample of them
    codes.py       the change inside a running process: the code of live functions is replaced
    forks.py       work in a forked copy of the warm process, with what it has to say
    running.py     chosen tests in such a copy, on replaced functions or on modules imported anew
    recording.py   which functions each test calls, one file for each test module under build/
    reach.py       the tests that could notice a change, nearest first
    judging.py     one change after the other: noticed, not noticed, does not import
    equivalents.py changes that mean the same, with the reason, from equivalents.yaml
    report.py      figures by package and what was not noticed

docs/adr/0020-mutants-in-a-warm-process.md says why cosmic-ray's own runner is not used. Nothing in
the tree is ever changed on disk.
"""
