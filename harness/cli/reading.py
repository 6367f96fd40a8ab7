"""What is checked of a run before anything is played: who does its jobs (`--reader`, `--model`), and its clock."""

from __future__ import annotations

from harness.cli.common import COULD_NOT_RUN, say, stop
from harness.model.trial import Selection, name_reader, split_reader


def choose_reader(reader: str, model: str, chat: str | None, rounds: int) -> str:
    """The label of a reader that is there and can be made. Raises ValueError for what makes no sense; ends the command
    if its program cannot be installed."""
    from harness.gateway.chat.standin import STANDING_IN
    from harness.machine import extras
    from harness.play import readers

    # An '@' in the name, unless it is before a release, would split it before the one that is added here.
    if split_reader(f"{reader}@")[0] != reader:
        raise ValueError(
            f"--reader {reader}: name its model with --model; '@' stands before a release, as in agent:codex@1.2.3"
        )
    label = name_reader(reader, model or (STANDING_IN.get(reader.partition(":")[0], "") if chat == "stand-in" else ""))
    readers.digest(label)  # that it is there is known before anything is played
    try:
        readers.find(label)
    except readers.InstallError as error:
        stop(f"nothing was played: {error}", COULD_NOT_RUN)
    if rounds > 1 and not readers.can_correct(label):
        raise ValueError(f"--rounds {rounds}: {reader} does a job once, agent:PROFILE until it is green")
    if split_reader(label)[1] and not chat:
        raise ValueError(f"--reader {reader} asks a chat model: --chat stand-in, model, or a folder of recordings")
    if split_reader(label)[1] and extras.explain_missing(["openai"]):
        raise ValueError(extras.explain_lack("openai", f"--reader {reader}"))
    if warning := readers.warn(label):
        say(warning)
    return label


def check_clock(selection: Selection, *, here: bool) -> None:
    """Ends the command if no child can have the clock of a story, where children are `here`.

    Raises ValueError where no story is played.
    """
    from harness.machine import story_clock

    if selection.clock == "wall":
        return
    if selection.scenarios == ("none",):
        raise ValueError("--clock story is for stories, and -s none plays none")
    if here and (lack := story_clock.explain_missing()):
        stop(f"nothing was played: --clock story: {lack}", COULD_NOT_RUN)
