"""A baseline RAG system to evaluate: from a corpus to passages, an index, runs and answers."""
