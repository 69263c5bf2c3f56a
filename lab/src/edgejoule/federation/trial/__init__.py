"""Policies compared by real runs: databases on the servers of a federation, in rounds that interleave the policies."""
