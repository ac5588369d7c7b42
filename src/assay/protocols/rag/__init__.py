"""The protocol for builders of RAG applications: their questions, answers and passages."""
