"""EXAM++: grading by exam questions. Source: Farzi & Dietz, EXAM++."""
