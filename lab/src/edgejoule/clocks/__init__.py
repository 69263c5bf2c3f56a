"""Two hosts' clocks: how they are compared, and how a trace is aligned."""
