"""Sources. One public module is one source; a module with a leading underscore is machinery. Nothing here imports app."""
