"""From wikitext, segments and plain tables to passages on disk."""
