"""What goes wrong inside a trial is that trial's outcome: it ends as failed, by our fault or by the machine's."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from harness.gateway.embedder import EmbedderError
from harness.gateway.gateway import GatewayError
from harness.gateway.meter import Meter
from harness.log.blobs import Blobs, Unwritable
from harness.log.events import Closed
from harness.log.lines import Writer
from harness.log.transcript import Ended
from harness.machine import shortage
from harness.model.backend import Fault, FaultKind
from harness.play.environment import Stores
from harness.play.readers import BrokenReader
from harness.play.store import Hindered


class ExecutorError(Exception):
    """Who plays the trials cannot be had, or is gone: who, why, what to do, in one line."""


ENDS_RUN = (Unwritable, EmbedderError, ExecutorError, GatewayError)
"""What no other trial could do without either."""
AGAIN = "--resume plays it again"


@contextmanager
def fence(
    log: Writer, last: type[Closed | Ended], blobs: Blobs, stopping: Callable[[], bool] = lambda: False
) -> Iterator[None]:
    """Closes the log of a trial in which we broke, or the machine failed, so that the others can go on.

    Args:
        stopping: The run was told to end. A child that is killed then is our own doing: its log stays open.
    """
    try:
        yield
    except ENDS_RUN:
        raise
    except Hindered as hindered:
        if stopping():
            return
        fault = hindered.fault
        log.append(last(status="failed", fault=fault.model_copy(update={"message": f"{fault.message}; {AGAIN}"})))
    except Exception as error:
        # the trial has its end already, and nothing may follow it
        if log.closed:
            raise
        kind: FaultKind = "machine" if shortage.explain_error(error) else "harness"
        log.append(last(status="failed", fault=Fault(kind=kind, op="play", message=describe(error, blobs))))


def check_endpoint(*meters: Meter) -> None:
    """Raises Hindered if calls to the chat model were given up: what else the trial did would not count."""
    for meter in meters:
        if meter.given_up:
            raise Hindered(Fault(kind="machine", op="chat", message=meter.given_up))


def check_gateway(stores: Stores) -> None:
    """Raises Hindered if nobody reaches the gateway when a trial ends: its backend may have answered without it."""
    if lack := stores.find_cut():
        raise Hindered(Fault(kind="machine", op="play", message=lack))


def describe(error: BaseException, blobs: Blobs) -> str:
    """One line; the traceback is a blob of the run, unless it was the machine."""
    if lack := shortage.explain_error(error):
        return f"{lack}; {AGAIN}"
    text = "".join(traceback.format_exception(error))
    name = blobs.put(text.encode("utf-8", "backslashreplace")).blob
    # a message may quote what is no UTF-8, and the log takes nothing else
    message = " ".join(f"{type(error).__name__}: {error}".split())[:300].encode("utf-8", "backslashreplace").decode()
    blame = "the reader" if isinstance(error, BrokenReader) else "coldwarm"
    return f"{message}; a fault of {blame}, not of the backend; its traceback is blobs/{name[:2]}/{name}"
