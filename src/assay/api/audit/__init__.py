"""What a folder's judge can be fooled by, shown on the folder's own units."""
