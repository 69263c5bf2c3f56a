"""Does a meter tell the truth? Emulated instruments with known joules, and the figures of many seeds.

`instrument` is the contract an emulated instrument follows, `load` the power it is given, `examine` the runs, `table`
what is printed. An emulator lives beside its plug-in (`meters/NAME/emulator.py`) and is announced as an entry point of
the group `edgejoule.conformance`.
"""
