"""A board profile of your own: a staged load beside a borrowed meter, and a fit that says how far off it may be.

`stages` is the plan, `machine` makes the load, `drive` walks through it, `observe` joins it with what the meter said
(`recording`: with a file recorded elsewhere), `fit` makes the table and its interval, `profile_file` writes it.
"""
