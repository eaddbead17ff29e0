"""Text that can neither close a frame nor speak as anybody (clause 12.1); knows characters, no result and no message.

What might mean something to a parser is written as an HTML entity, which models read as what it stands for, and
browsers show so. All of it can be read back but what nobody sees.
"""

import re
from itertools import pairwise
from typing import Final

from knowledge_provider.text import CONTROLS_IN_CONTENT, SURROGATES

# What hides text or turns it round: as in rule N5, and what else is default-ignorable but for joiners and variation
# selectors, which scripts and emoji need.
_HIDDEN_BASIC: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff0-\ufff8"
)
_HIDDEN_BEYOND: Final = "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
_ATTACHED: Final = "\u200c\u200d\ufe00-\ufe0f"
_ATTACHED_BEYOND: Final = "\U000e0100-\U000e01ef"
_ENDS_LINE: Final = "\u2028\u2029"
# They become "<" where a tokenizer normalises, or look like one before a name of the frame.
_SMALL: Final = "＜﹤"
_ALIKE: Final = "‹〈⟨˂ᐸ❮❬≺⧼⟪«《"

# What rule N6 leaves of no text, as far as it has not been named.
_UNCLEAN: Final = CONTROLS_IN_CONTENT + SURROGATES


def _others(characters: str) -> str:
    """What of U+0000 to U+FFFF is not in a class of single characters and ranges, as such a class."""
    ranges = sorted((ord(first), ord(last or first)) for first, last in re.findall("(?s)(.)(?:-(.))?", characters))
    ends = [(-1, -1), *ranges, (0x10000, 0x10000)]
    gaps = ((end + 1, start - 1) for (_, end), (start, _) in pairwise(ends) if end + 1 < start)
    return "".join(f"\\u{first:04x}-\\u{last:04x}" for first, last in gaps)


_UNUSUAL_BASIC: Final = f"{_UNCLEAN}{_HIDDEN_BASIC}{_ATTACHED}{_ENDS_LINE}{_SMALL}{_ALIKE}"
# Twice as fast as looking for the unusual; what is beyond U+FFFF, which would make the class slow, is looked at again.
_USUAL: Final = re.compile(f"[{_others(_UNUSUAL_BASIC)}]*")
_UNUSUAL: Final = re.compile(f"[{_UNUSUAL_BASIC}]")
_UNUSUAL_BEYOND: Final = re.compile(f"[{_HIDDEN_BEYOND}{_ATTACHED_BEYOND}]")
_HIDDEN: Final = re.compile(f"[{_HIDDEN_BASIC}{_HIDDEN_BEYOND}]")
# One selector or joiner is writing. A row of them is a way to hide bytes behind one letter.
_ROW: Final = re.compile(f"[{_ATTACHED}{_ATTACHED_BEYOND}]{{2,}}")
_FIND_LINE_END: Final = re.compile(f"[{_ENDS_LINE}]")
_FIND_SMALL: Final = re.compile(f"[{_SMALL}]")
_FIND_ALIKE: Final = re.compile(f"[{_ALIKE}](?=[\\s/∕⁄／]{{0,4}}(?:knowledge|result|cut)\\b)", re.IGNORECASE)

_ENTITIES: Final = {
    "&amp;": "&",
    "&lt;": "<",
    "&#91;": "[",
    "&#65339;": "［",
    "&#40;": "(",
    "&#58;": ":",
    "&#65306;": "：",
}
_ENTITY: Final = re.compile("|".join(map(re.escape, _ENTITIES)))
_AMPERSAND: Final = re.compile("&(?=(?:" + "|".join(entity[1:] for entity in _ENTITIES) + "))")

# Mistral's and Llama's markers, and those of BERT's kind; any word in capitals, as more are made each year.
_BRACKET: Final = re.compile(
    r"[\[［](?=\s?/?\s?(?:[A-Za-z_]{0,24}[A-Z_]{3}|(?i:inst|sys|system|user|assistant|tool|unused)))"
)
_SPEAKERS: Final = (
    "system|user|assistant|human|developer|tool|function|model|ai|bot|instructions?|response|input|observation|action"
    "|gpt4 correct user|gpt4 correct assistant|系统|用户|助手|人类|问|答"
)
# As a line's whole beginning, whatever decorates it; and in capitals anywhere, as Vicuna's template has them.
_SPEAKER: Final = re.compile(rf"[\W_]*(?:{_SPEAKERS})[\W_]*", re.IGNORECASE)
_LOUD_SPEAKER: Final = re.compile(r"(?:SYSTEM|USER|ASSISTANT|HUMAN|DEVELOPER)[\W_]*\Z")


def neutral(text: str) -> str:
    """A ``text`` by rule N5 or N6 without what hides, and with what could be mark-up, a role or a link as entities.

    Afterwards it holds no ``<``, no Markdown link or image, no marker of a chat template, no line end but a newline,
    and no line that begins as somebody's turn.
    """
    return escaped(_shown(text) if is_unusual(text) else text)


def escaped(text: str) -> str:
    """``neutral`` for a text in which nothing ``is_unusual``."""
    if "&" in text:
        text = _AMPERSAND.sub("&amp;", text)
    return _without_speakers(_without_links(text.replace("<", "&lt;")))


def is_neutral(text: str, colons: int) -> bool:
    """Whether ``neutral`` would leave ``text`` as it is, judged in haste; ``colons`` are those that are known harmless.

    May say False where it would. For many short texts at once, such as a line of JSON.
    """
    marks = "<" in text or "&" in text or "[" in text or "]" in text or text.count(":") != colons
    return not (marks or "\x7f" in text or "：" in text or "［" in text or is_unusual(text))


def is_unusual(text: str) -> bool:
    """Whether there is anything in ``text`` that hides, joins, ends a line unseen or looks like the frame."""
    if text.isascii() or _USUAL.fullmatch(text):
        return False
    return _UNUSUAL.search(text) is not None or _UNUSUAL_BEYOND.search(text) is not None


def literal(text: str) -> str:
    """What was given to ``neutral``, but for what that took away."""
    return _ENTITY.sub(lambda found: _ENTITIES[found[0]], text) if "&" in text else text


def entity_at(text: str, place: int) -> int:
    """Where the entity begins that ``place`` is inside of, or ``place`` when it is in none."""
    begin = text.rfind("&", max(0, place - len("&#65339;") + 1), place)
    found = None if begin < 0 else _ENTITY.match(text, begin)
    return begin if found is not None and found.end() > place else place


def _shown(text: str) -> str:
    text = _FIND_LINE_END.sub("\n", _HIDDEN.sub("", text))
    text = _ROW.sub(_first_of_row, text)
    return _FIND_ALIKE.sub("<", _FIND_SMALL.sub("<", text))


def _first_of_row(row: re.Match[str]) -> str:
    # A joiner after a selector is how emoji are made, so that pair is no row.
    return row[0][:2] if row[0].startswith("\ufe0f\u200d") else row[0][0]


def _without_links(text: str) -> str:
    if "[" in text or "［" in text:
        text = _BRACKET.sub(lambda found: f"&#{ord(found[0])};", text).replace("![", "!&#91;")
    return text.replace("](", "]&#40;").replace("]:", "]&#58;") if "]" in text else text


def _without_speakers(text: str) -> str:
    for colon in ":：":
        if colon in text:
            text = _marked(text.split(colon), colon)
    return text


def _marked(parts: list[str], colon: str) -> str:
    written = [part + (f"&#{ord(colon)};" if _ends_in_speaker(part) else colon) for part in parts[:-1]]
    return "".join(written) + parts[-1]


def _ends_in_speaker(text: str) -> bool:
    # Of what stands before one colon and behind another, so that all of a text is looked at once.
    line = text[text.rfind("\n") + 1 :]
    return _SPEAKER.fullmatch(line) is not None or _LOUD_SPEAKER.search(line) is not None
