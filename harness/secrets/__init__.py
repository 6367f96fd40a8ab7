"""What is a secret in a text: by its own look, by what stands around it, and behind encodings."""
