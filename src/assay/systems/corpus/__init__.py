"""Building a corpus of passages on disk from wikitext, segments and plain tables."""
