"""The protocol for builders of RAG applications: questions, answers and passages of their own."""
