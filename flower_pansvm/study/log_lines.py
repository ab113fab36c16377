"""Flower's logs in plain lines: what was asked and answered, and whatever is wrong."""

import re
import time
from collections.abc import Iterable, Iterator

TIME = "%Y-%m-%d %H:%M:%S"
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_LEVEL = re.compile(r"(DEBUG|INFO|WARNING|ERROR|CRITICAL)\s*:\s*")
_USUAL = ("DEBUG", "INFO")
_IN_WORDS = (
    (
        re.compile(r"Connection attempt failed, retrying in ([\d.]+) seconds"),
        r"no connection to the coordinator's server; tries again in \1 s",
    ),
    (
        re.compile(
            r"\[/v1/fleet/activate-node\].* exception: No SuperNode found with the given public key\."
        ),
        "a SuperNode was not let in, whose key this server does not have, or not yet; it tries again",
    ),
    (re.compile(r"Connection successful after ([\d.]+) seconds.*"), r"the connection is back after \1 s"),
)
_LEFT_OUT = re.compile(
    r"\[Fleet\.\w+\] (Requesting|Push) .*|Start `flwr-\w+` process|Starting Flower SuperExec"
    r"|Started server process.*|Waiting for application startup\.|Application startup complete\.|FastAPI lifespan.*"
    r"|Uvicorn running.*|SuperLinkLifespan.*|\S+Z INFO \[uvicorn.*|\[?ControlServicer\..*"
    r"|Using SuperLink: .*|Starting logstream for run_id .*"
    r"|Starting the SuperLink .* HTTP API.*|For more information check: https://developer\.mozilla\.org/.*"
)
"""What says no more than that Flower works; what is a warning or an error is never left out."""


TEXT_SAYS_ALL = ("flower_pansvm.", "httpx.")
"""How the last line of a traceback begins that is of no use to whoever reads the log."""


def say(line: str) -> None:
    """Write a line to the log of a command that runs for weeks; if its disk takes none, only the line is lost.

    BrokenPipeError if nobody reads the log any more.
    """
    try:
        print(line, flush=True)  # noqa: T201 # nowhere, if the output was closed before the start
    except BrokenPipeError:
        raise
    except OSError:  # full, read-only, gone
        pass


def plain_lines(lines: Iterable[str]) -> Iterator[str]:
    r"""Yield the lines of a log of Flower's with the time in front, without colours, and without what nobody needs.

    Examples
    --------
    >>> log = ["\x1b[92mINFO \x1b[0m:      Starting Flower SuperExec", "WARNING :   the node config has no 'k'"]
    >>> [line[21:] for line in plain_lines(log)]
    ["WARNING: the node config has no 'k'"]
    """
    for line in _without_expected_tracebacks(lines):
        text = _COLOUR.sub("", line).rstrip()
        level = _LEVEL.match(text)
        usual = level is None or level[1] in _USUAL
        if level:
            text = text[level.end() :].strip()
        if not text.strip() or (usual and _LEFT_OUT.fullmatch(text)):
            continue
        for pattern, words in _IN_WORDS:
            text = pattern.sub(words, text) if pattern.fullmatch(text) else text
        if level and not usual:
            text = f"{level[1]}: {text}"
        yield f"{time.strftime(TIME)}  {text}"


def _without_expected_tracebacks(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines without the traceback of an error whose text says all, but for that."""
    traceback: list[str] = []
    for line in lines:
        if traceback and not line.startswith(" "):
            yield from [] if line.startswith(TEXT_SAYS_ALL) else traceback
            traceback = []
            yield line
        elif traceback or line.startswith("Traceback (most recent call last)"):
            traceback.append(line)
        else:
            yield line
    yield from traceback
