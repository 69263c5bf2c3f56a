"""`edgejoule exec`: options, statistics and output of one-line measurements."""
