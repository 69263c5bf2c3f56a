"""The emulated instruments, a module for each meter of this package, and what mains plugs have in common."""
