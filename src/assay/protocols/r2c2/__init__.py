"""R2C2: RAG Responses, Confident and Correct? The organisers' pipeline, steps 3 to 6."""
