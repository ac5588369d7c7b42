"""SGSS: structured generative search summaries. Source: Sakai et al. 2026."""
