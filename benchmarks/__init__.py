"""What `make speed` runs: the project's own figures, each beside its goal. Never part of the tests."""
