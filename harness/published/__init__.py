"""Sets that others published: their questions put to a backend through the same child processes, and their figures."""
