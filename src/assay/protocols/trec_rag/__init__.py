"""The TREC RAG track: relevance, nuggets, support and relevance judgment (R, AG, RAG, RJ)."""
