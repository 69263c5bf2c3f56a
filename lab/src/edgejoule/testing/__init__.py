"""Is a meter right? Emulated instruments with known joules, and the figures of many seeds.

`instrument` is the contract an emulated instrument follows, `load` the power it is given, `examine` the runs, `table`
the printed table. The emulators of this package's meters are in `instruments/`; each is announced as an entry point of
the group `edgejoule.conformance`, as are those of other packages. Only `edgejoule conformance` and tests import this
folder.
"""
