"""From passages to ranked lists: BM25, dense vectors, fusion, reranking."""
