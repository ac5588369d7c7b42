"""Audit of a folder's judge: how it can be fooled, shown on the folder's own units."""
