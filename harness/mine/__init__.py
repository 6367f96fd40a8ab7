"""A repository's history -> a private suite of stories about what really changed in it."""
