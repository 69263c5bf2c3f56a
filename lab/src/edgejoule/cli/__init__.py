"""The commands, one module each; main.py joins them."""
