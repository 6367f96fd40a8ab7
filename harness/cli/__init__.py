"""The command line. Exit codes: 0 good, 1 a check failed, 2 bad usage or bad input, 3 something could not run."""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import click

from harness import paths
from harness.cli import (
    cache,
    calibrate,
    check,
    cost,
    demo,
    env,
    gate,
    github,
    mcp,
    mine,
    plan,
    play,
    promises,
    published,
    suite,
    trend,
    upgrades,
)
from harness.cli.common import COULD_NOT_RUN, GOOD, say, stop, unheard
from harness.machine import extras, git, shortage

AGAIN = 0.01
"""Seconds after which an interrupt that nothing could be raised by is raised."""


def main() -> NoReturn:
    """Every error a user can cause is one line on standard error."""
    gc.set_threshold(100_000, 50, 50)  # a run's events are many and hold no cycles: collecting them took a third
    # Before any file is opened, which would get the number of a closed stream.
    _replace_closed()
    _degrade()
    heeded = _heed_signals()
    # A git hook sets GIT_DIR, which would lead our git to the caller's repository.
    git.forget_caller()
    _find_temporary()
    code: int | str | None = None
    try:
        try:
            code = _run()
        finally:  # whoever ends us now would only meet the interpreter at its own tidying, which answers by a traceback
            _ignore(heeded)
    except KeyboardInterrupt:  # between two of the lines above, or in the words of an error
        code = COULD_NOT_RUN if code is None else code
    sys.exit(code)


def _run() -> int | str | None:
    """The exit code of the command."""
    try:
        _check_checkout()
        # By itself click ends an interrupted command with 1, which says that a check failed.
        commands.main(standalone_mode=False)
        return GOOD
    except click.ClickException as error:
        with unheard():
            error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        say("stopped")
    except SystemExit as ending:  # to click, a reader that has gone is exit code 1, which says that a gate is broken
        # click tells this by nothing but the class that it puts in the place of standard output.
        gone = type(sys.stdout).__name__ == "_PacifyFlushWrapper"
        return COULD_NOT_RUN if gone else ending.code
    except OSError as error:
        where = error.filename2 or error.filename or "standard output or a file"  # of a copy: whereto
        say(f"{where}: {shortage.explain_error(error) or error.strerror or error}")
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        say(extras.explain_lack(name, "this command") if name in extras.EXTRAS else _describe_fault(error))
    except Exception as error:
        say(shortage.explain_error(error) or _describe_fault(error))
    return COULD_NOT_RUN


def _find_temporary() -> None:
    """A TMPDIR that is named from here is meant from here, also by children, which work elsewhere."""
    if place := os.environ.get("TMPDIR"):
        with suppress(FileNotFoundError):  # the working folder is gone, which the command says
            os.environ["TMPDIR"] = str(Path(place).absolute())


def _describe_fault(error: Exception) -> str:
    message = f"{type(error).__name__}: {error}"[:500]
    return f"{message}; a fault of coldwarm: please report it, with {_keep_traceback(error)}"


def _keep_traceback(error: Exception) -> str:
    """Writes a traceback to a file: where it is."""
    # A message may hold lone surrogates, as of a path, which UTF-8 cannot write.
    text = "".join(traceback.format_exception(error)).encode("utf-8", "backslashreplace")
    try:
        file, name = tempfile.mkstemp(prefix="coldwarm-traceback-", suffix=".txt")
        with os.fdopen(file, "wb") as stream:
            stream.write(text)
    except OSError:
        return "the traceback that could be written nowhere"
    return name


def _replace_closed() -> None:
    """A stream that the caller has closed leads nowhere: else the next file that is opened would get its number, and
    what a library prints there.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            place = os.open(os.devnull, os.O_RDWR)
            if place != number:
                os.dup2(place, number)
                os.close(place)
            setattr(sys, name, os.fdopen(number, "r" if number == 0 else "w", encoding="utf-8"))


def _degrade() -> None:
    """What the terminal's encoding lacks is printed as an escape."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _heed_signals() -> Sequence[signal.Signals]:
    """What ends a process politely is an interrupt: everything that was started is ended and cleaned up. Once is
    enough; the next one would cut the cleaning short. What the caller has told us to ignore stays ignored.
    """
    heeded = [
        each for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if signal.getsignal(each) != signal.SIG_IGN
    ]

    def interrupt(*_: object) -> None:
        _ignore(heeded)
        raise KeyboardInterrupt

    def ask_again(met: sys.UnraisableHookArgs) -> None:
        """Where nothing can be raised, as in a callback of a library, an interrupt would be printed and forgotten."""
        if met.exc_type is KeyboardInterrupt:
            signal.signal(signal.SIGALRM, interrupt)
            signal.setitimer(signal.ITIMER_REAL, AGAIN)
        else:
            sys.__unraisablehook__(met)

    sys.unraisablehook = ask_again
    for each in heeded:
        signal.signal(each, interrupt)
    # The timer of `ask_again` may be running when the command ends.
    return [*heeded, signal.SIGALRM]


def _ignore(signals: Sequence[signal.Signals]) -> None:
    for each in signals:
        signal.signal(each, signal.SIG_IGN)


def _check_checkout() -> None:
    """Other packages are called `adapters` and `tasks` too; ours must be the ones beside this harness."""
    import importlib.util

    for name in ("adapters", "tasks"):
        spec = importlib.util.find_spec(name)
        places = list(spec.submodule_search_locations or ()) if spec else []
        if not any(Path(place).parent == paths.ROOT for place in places):
            stop(
                f"the package '{name}' comes from {places or 'nowhere'}, not from {paths.ROOT}, so another package of "
                "that name hides it: install coldwarm into an environment of its own"
            )


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="coldwarm")
def commands() -> None:
    """Does a memory backend make a coding agent better at repo work, and does what it remembers deserve trust?

    Exit codes: 0 good, 1 a gate or check failed, 2 bad usage or bad input, 3 something asked for could not run.
    """
    if lack := shortage.explain_limits():
        stop(lack, COULD_NOT_RUN)
    with suppress(OSError):  # who needs one says that there is none
        if os.pathsep in (place := tempfile.gettempdir()):
            stop(f"{place}: '{os.pathsep}' in its name ends a folder of a module path: set TMPDIR to another one")
    try:
        Path.cwd()
    except FileNotFoundError:
        stop("the working folder is no longer there: change to another one")


# Each imports what it needs when it is called, as the start of a command must be short.
for _command in (  # in the order of --help
    demo.demo,
    play.run,
    play.score,
    play.report,
    gate.gate,
    gate.compare,
    trend.trend,
    upgrades.ladder,
    upgrades.bisect,
    gate.baseline,
    gate.merge,
    calibrate.calibrate,
    cost.cost,
    plan.plan,
    gate.pack,
    cache.cache,
    env.env,
    github.github,
    suite.list_,
    suite.new,
    suite.selftest,
    suite.export,
    suite.validate,
    mine.mine,
    published.import_,
    check.doctor,
    check.conform,
    promises.promises,
    mcp.mcp,
):
    commands.add_command(_command)
