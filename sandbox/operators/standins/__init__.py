"""Stand-ins for controllers that do not run here.

Each is a pure function from an object and its surroundings to the status its controller would set.
None says yes without having looked: every reference must exist and fit. What a stand-in cannot
know (whether a proxy starts, whether a metric answers) it does not claim; docs/readiness.md lists
what each one checks.
"""
