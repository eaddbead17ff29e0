"""Writes JSON values as Python source, as people and formatters write it; knows lines and quotes, no contract."""

from collections.abc import Iterator, Mapping
from typing import Final

from pydantic import JsonValue

LINE_MAX: Final = 88
"""The longest line of what formatters make by default; who allows longer ones allows these, too."""
_INDENT: Final = "    "


def literal(value: JsonValue) -> str:
    """``value`` on one line. Raises nothing for what JSON holds."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_text(name)}: {literal(each)}' for name, each in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    return _text(value) if isinstance(value, str) else repr(value)


def _text(text: str) -> str:
    quote = '"' if text.count('"') <= text.count("'") else "'"
    written = (f"\\{each}" if each == quote else each if each in "\"'" else repr(each)[1:-1] for each in text)
    return f"{quote}{''.join(written)}{quote}"


def is_long(line: str) -> bool:
    """Whether a line may be too long: a letter that is not ASCII may be two columns wide."""
    return len(line) + sum(not each.isascii() for each in line) > LINE_MAX


def called(before: str, name: str, arguments: Mapping[str, JsonValue]) -> Iterator[str]:
    """The lines of a call with these keyword arguments, after ``before``: one where it is not too long."""
    line = f"{before}{name}({', '.join(f'{each}={literal(value)}' for each, value in arguments.items())})"
    if not is_long(line):
        yield line
        return
    # A comma after the last one, or a formatter with longer lines would put it together again.
    yield f"{before}{name}("
    for each, value in arguments.items():
        yield from _laid_out(f"{_INDENT}{each}=", value)
    yield ")"


def _laid_out(before: str, value: JsonValue) -> Iterator[str]:
    line = f"{before}{literal(value)},"
    if not is_long(line) or not value or not isinstance(value, dict | list):
        yield line
        return
    inner = before[: len(before) - len(before.lstrip())] + _INDENT
    yield f"{before}{'{' if isinstance(value, dict) else '['}"
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _laid_out(f"{inner}{_text(name)}: ", each)
    else:
        for each in value:
            yield from _laid_out(inner, each)
    yield f"{inner.removesuffix(_INDENT)}{'}' if isinstance(value, dict) else ']'},"
