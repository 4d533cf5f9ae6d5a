"""Kinds that are declared: from the text of a declaration to a kind, its objects, and what is wrong with either."""
