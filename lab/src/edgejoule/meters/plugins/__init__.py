"""The meters, one package each."""
