"""The nouns of evaluation: frozen, typed, without input or output."""
