"""Retrieval of ranked passages: BM25, dense vectors, fusion and reranking."""
