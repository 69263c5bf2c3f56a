"""Meters: the contract (`base`), the plug-ins, how one is chosen (`discovery`) and sampled (`sampler`)."""
