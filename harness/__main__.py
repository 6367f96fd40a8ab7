"""`coldwarm`, and `python -m harness`: the first step, before a second of imports."""

from __future__ import annotations

import signal


def main() -> None:
    """Until the command line heeds an interrupt, that ends us without a word, as other signals do."""
    if signal.getsignal(signal.SIGINT) == signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from harness import cli

    cli.main()


if __name__ == "__main__":
    main()
