"""Recorded sessions of a team's own agents: read, redacted, written as transcripts, and put to backends."""
