"""Options in messages that are not yet made of parts, spelled as flags."""

import re
import shlex
from collections.abc import Mapping

#: A call on a frame in a message, such as difference(scores, reference='human'), and what stands for its
#: signs of equality while options are spelled.
_CALL = re.compile(r"\b\w+\((?:\w+\()?(?:scores|data), [^;]*?\)+")
_EQUALS = "\0"


def in_flags(message: str, flags: Mapping[str, str]) -> str:
    """Spell the options in a message of the library as the flags of the command that ran.

    In a message an option is its parameter: `interval='t'`, or `overwrite=True (--overwrite)` where the flag
    alone does on the command line. `flags` are by parameter.
    """
    # a call on a frame is Python, which the command line has no flag for
    message = _CALL.sub(lambda call: call[0].replace("=", _EQUALS), message)
    message = re.sub(r"\b\w+=(?:True|False|'[^']*'|{[^}]*}|\[[^]]*\]) \((--[^)]*)\)", r"\1", message)
    message = re.sub(r"\b(rename|join)={'([^']*)': '?([^'}]*)'?}", r"--\1 \2=\3", message)

    def flag(found: re.Match[str]) -> str:
        value = message[found.end() : found.end() + 1].strip(" ,")
        return f"{flags[found[1]]}{' ' if value else ''}"

    def of_list(found: re.Match[str]) -> str:
        names = re.findall(r"'([^']*)'", found[2])
        return f"{flags[found[1]]} {shlex.quote(','.join(names) or 'none')}"

    def switch(found: re.Match[str]) -> str:
        on, _, off = flags[found[1]].partition("/")
        if found[2] == "True":
            return on
        return off or f"no {on}"

    known = "|".join(map(re.escape, sorted(flags, key=len, reverse=True)))
    # the flag of what may be on or off takes no value
    message = re.sub(rf"\b({known})=(True|False)\b", switch, message) if known else message
    message = re.sub(rf"\b({known})=\[((?:'[^',]*'(?:, )?)*)\]", of_list, message) if known else message
    message = re.sub(rf"\b({known})=None\b", r"\1=none", message) if known else message
    if known:
        # what a message is about stands at its start, or behind the file
        subject = rf"(^|: )({known})(?= (?:must|names|lacks)\b)"
        message = re.sub(subject, lambda found: found[1] + flags[found[2]], message, count=1)
        message = re.sub(rf"\b({known})=(?=['\w (,-]|$)", flag, message)
    return message.replace(_EQUALS, "=")
