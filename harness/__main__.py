"""`python -m harness` is `coldwarm`."""

from harness.cli import main

main()
