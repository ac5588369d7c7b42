"""A baseline RAG system to evaluate: corpus to passages, index, runs and answers."""
