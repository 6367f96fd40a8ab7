"""Which promises of the adapter contract does a backend keep? Sequences of operations against a model in memory."""
