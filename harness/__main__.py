"""`coldwarm`, and `python -m harness`: the first step, before a second of imports."""

from __future__ import annotations

import resource
import signal
import sys


def main() -> None:
    """Until the command line heeds an interrupt, that ends us without a word, as other signals do.

    Where files may have a certain size only, no module is kept compiled: Python would keep half of it, which no later
    import could read.
    """
    sys.dont_write_bytecode |= resource.getrlimit(resource.RLIMIT_FSIZE)[0] != resource.RLIM_INFINITY
    if signal.getsignal(signal.SIGINT) == signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from harness import cli

    cli.main()


if __name__ == "__main__":
    main()
