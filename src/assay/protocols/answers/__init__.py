"""Answers and the claims for which they cite passages, for any protocol: what is asked about them,
what labels say, how people edit their marks, and how all that is shown."""
