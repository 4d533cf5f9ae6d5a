"""The command line: one module a command, each imported only when it is asked for. What `serve` does not need, it does not load."""
