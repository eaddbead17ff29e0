"""Text that can neither close a frame nor speak as anybody (clause 12.1); knows characters, no result and no message.

What might mean something to a parser is written as an HTML entity, which models read as what it stands for, and
browsers show so. All of it can be read back but what nobody sees.
"""

import re
import unicodedata
from itertools import pairwise
from typing import Final

from knowledge_provider.text import CONTROLS_IN_CONTENT, SURROGATES

# What hides text or turns it round: as in rule N5, and what else is default-ignorable but for joiners and variation
# selectors, which scripts and emoji need.
_HIDDEN_BASIC: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff0-\ufffb"
)
_HIDDEN_BEYOND: Final = "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
_BASIC_SELECTORS: Final = "\ufe00-\ufe0f"
_ATTACHED: Final = f"\u200c\u200d{_BASIC_SELECTORS}"
_ATTACHED_BEYOND: Final = "\U000e0100-\U000e01ef"
_ENDS_LINE: Final = "\u2028\u2029"
# A selector says how one character is drawn, and only these are drawn in several ways: ideographs, emoji and other
# symbols, two Asian scripts, and the bases of keycaps. Behind any other it is a way to hide bytes in a text.
_IDEOGRAPHS: Final = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_DRAWN: Final = (
    "#*0-9©®\u2010-\u2bff\u3000-\u303f\u3200-\u32ff\u1000-\u109f\ua840-\uaa7f\U00013000-\U0001345f"
    f"\U0001f000-\U0001faff{_IDEOGRAPHS}"
)
# They become "<" where a tokenizer normalises, or look like one before a name of the frame.
_SMALL: Final = "＜﹤"
_ALIKE: Final = "‹〈⟨˂ᐸ❮❬≺⧼⟪«《"
# They become letters and colons there, too: full-width, circled, mathematical and letter-like ones.
_WIDE: Final = "Ａ-Ｚａ-ｚⒶ-ⓩ\u2100-\u214f\U0001d400-\U0001d7cb"
_SMALL_COLONS: Final = "﹕︓"

# What rule N6 leaves of no text, as far as it has not been named.
_UNCLEAN: Final = CONTROLS_IN_CONTENT + SURROGATES


def _others(characters: str) -> str:
    """What of Unicode is not in a class of single characters and ranges, as such a class."""
    ranges = sorted((ord(first), ord(last or first)) for first, last in re.findall("(?s)(.)(?:-(.))?", characters))
    ends = [(-1, -1), *ranges, (0x110000, 0x110000)]
    gaps = ((end + 1, start - 1) for (_, end), (start, _) in pairwise(ends) if end + 1 < start)
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in gaps)


_EVERY_ATTACHED: Final = f"{_ATTACHED}{_ATTACHED_BEYOND}"
_NEITHER: Final = f"{_UNCLEAN}{_HIDDEN_BASIC}{_HIDDEN_BEYOND}{_ENDS_LINE}{_SMALL}{_ALIKE}{_WIDE}{_SMALL_COLONS}"
# Twice as fast as looking for the unusual.
_USUAL: Final = re.compile(f"[{_others(_NEITHER + _EVERY_ATTACHED)}]*")
_USUAL_OR_ATTACHED: Final = re.compile(f"[{_others(_NEITHER)}]*")
_UNUSUAL: Final = re.compile(f"[{_NEITHER}{_EVERY_ATTACHED}]")
_FIND_UNCLEAN: Final = re.compile(f"[{_UNCLEAN}]")
_HIDDEN: Final = re.compile(f"[{_HIDDEN_BASIC}{_HIDDEN_BEYOND}]")
_STRAY: Final = f"(?<=[{_BASIC_SELECTORS}])(?<![{_DRAWN}][{_BASIC_SELECTORS}])"
_STRAY_BEYOND: Final = f"(?<=[{_ATTACHED_BEYOND}])(?<![{_IDEOGRAPHS}][{_ATTACHED_BEYOND}])"
# One selector or joiner is writing. A row of them is a way to hide bytes behind one letter. A joiner after a selector
# is how emoji are made, so that pair is no row.
_IN_ROW: Final = f"(?<=[{_EVERY_ATTACHED}]{{2}})(?<!\ufe0f\u200d)"
_FIND_STRAY: Final = re.compile(f"[{_EVERY_ATTACHED}](?:{_STRAY}|{_STRAY_BEYOND})")
_FIND_IN_ROW: Final = re.compile(f"[{_EVERY_ATTACHED}](?:{_IN_ROW})")
_FIND_ATTACHED: Final = re.compile(f"[{_EVERY_ATTACHED}]")
_ALL_ATTACHED: Final = re.compile(f"[{_EVERY_ATTACHED}]*")
_FIND_LINE_END: Final = re.compile(f"[{_ENDS_LINE}]")
_FIND_SMALL: Final = re.compile(f"[{_SMALL}]")
_FIND_WIDE: Final = re.compile(f"[{_WIDE}]")
_FIND_ALIKE_ALONE: Final = re.compile(f"[{_ALIKE}]")
_FIND_ALIKE: Final = re.compile(f"[{_ALIKE}](?=[\\s/∕⁄／]{{0,4}}(?:knowledge|result|cut))", re.IGNORECASE)

_ENTITIES: Final = {"&amp;": "&", "&lt;": "<"} | {f"&#{ord(mark)};": mark for mark in "[［(（:：﹕︓"}
_LONGEST_ENTITY: Final = max(map(len, _ENTITIES))
_ENTITY: Final = re.compile("|".join(map(re.escape, _ENTITIES)))
_AMPERSAND: Final = re.compile("&(?=(?:" + "|".join(entity[1:] for entity in _ENTITIES) + "))")

# Mistral's, Llama's and EXAONE's markers, and those of BERT's kind; any word in capitals, as more are made each year. A
# word of small letters is passed in one step, and by its first letter, since code is full of them.
_MARKER: Final = (
    r"(?=\s?/?\s?\|?(?:[a-z]{0,24}+[A-Za-z_]{0,24}?[A-Z_]{3}"
    "|(?=[EISTUAeistuaıſ])(?i:inst|sys|user|assistant|tool|unused|endofturn)))"
)
_BRACKET: Final = re.compile(rf"\[{_MARKER}")
_WIDE_BRACKET: Final = re.compile(rf"［{_MARKER}|[\[［](?=[\s/／|｜]{{0,4}}(?:[{_WIDE}]{{2}}|(?<=[／｜])[A-Za-z_]))")
# Images, links and where those are defined, in either width.
_WIDE_LINK: Final = re.compile(r"[\[［(（:：﹕︓](?<=[!！][\[［]|[\]］][(（:：﹕︓])")
_SPEAKERS: Final = frozenset(
    {"system", "user", "assistant", "human", "developer", "tool", "function", "model", "ai", "bot", "instruction"}
    | {"instructions", "response", "input", "observation", "action", "gpt4 correct user", "gpt4 correct assistant"}
    | {"系统", "用户", "助手", "人类", "问", "答", "система", "пользователь", "ассистент"}
)
_LOUD: Final = ("SYSTEM", "USER", "ASSISTANT", "HUMAN", "DEVELOPER")
_WIDE_WORD: Final = re.compile(f"(?<![A-Za-z{_WIDE}])[A-Za-z{_WIDE}]++(?=[\\W_]*[:：﹕︓])")


def _behind(colons: str) -> re.Pattern[str]:
    """What finds, in a text from its end to its beginning, colons in front of which somebody is said to speak.

    As a line's whole beginning, whatever decorates it; and in capitals anywhere, as Vicuna's template has them. A line
    also begins behind a colon. Backwards, since there are far fewer colons than letters, and most of them are known by
    the letter next to them.
    """
    ends = "".join(sorted({letter for word in _SPEAKERS for letter in (word[-1], word[-1].upper())} | {*"ıſ"}))
    pad = r"(?:[^\w\n:：﹕︓]|_)*"
    quiet, loud = ("|".join(word[::-1] for word in words) for words in (sorted(_SPEAKERS), _LOUD))
    return re.compile(rf"{colons}(?=[{ends}\W_])(?={pad}(?:{loud}|(?i:{quiet}){pad}(?:[\n:：﹕︓]|\Z)))")


_BEHIND_COLON: Final = _behind(":")
_BEHIND_WIDE_COLON: Final = _behind("[：﹕︓]")


def neutral(text: str) -> str:
    """A ``text`` by rule N5 or N6 without what hides, and with what could be mark-up, a role or a link as entities.

    Afterwards it holds no ``<``, no Markdown link or image, no marker of a chat template, no line end but a newline,
    and no line that begins as somebody's turn.
    """
    marks = unusual_in(text)
    return escaped(shown(text, marks) if marks else text)


def escaped(text: str) -> str:
    """``neutral`` for a text in which nothing is unusual, or no longer is."""
    if "&" in text:
        text = _AMPERSAND.sub("&amp;", text)
    return _silent(text.replace("<", "&lt;"))


def is_harmless(text: str) -> bool:
    """Whether nothing in ``text``, entities and all, would be changed by ``neutral`` for what it could mean."""
    if "<" in text or _FIND_UNCLEAN.search(text):
        return False
    marks = unusual_in(text)
    return (not marks or shown(text, marks) == text) and _silent(text) == text


def shown(text: str, marks: str) -> str:
    """``text`` without what hides, and with look-alikes as what they are read as; ``marks`` are ``unusual_in`` it."""
    # Of all of these, most texts have one: emoji, say, or quotation marks.
    if _HIDDEN.search(marks):
        text = _HIDDEN.sub("", text)
    if _FIND_LINE_END.search(marks):
        text = _FIND_LINE_END.sub("\n", text)
    if _FIND_ATTACHED.search(marks):
        text = _FIND_IN_ROW.sub("", _FIND_STRAY.sub("", text))
    if _FIND_SMALL.search(marks):
        text = _FIND_SMALL.sub("<", text)
    if _FIND_ALIKE_ALONE.search(marks):
        text = _FIND_ALIKE.sub("<", text)
    return _WIDE_WORD.sub(_narrow, text) if _FIND_WIDE.search(marks) else text


def is_neutral(text: str, colons: int) -> bool:
    """Whether ``neutral`` would leave ``text`` as it is, judged in haste; ``colons`` are those that are known harmless.

    May say False where it would. For many short texts at once, such as a line of JSON.
    """
    marks = "<" in text or "&" in text or "[" in text or "]" in text or text.count(":") != colons
    wide = not text.isascii() and ("：" in text or "［" in text or "］" in text or bool(unusual_in(text)))
    return not (marks or wide or "\x7f" in text)


def unusual_in(text: str) -> str:
    """What characters in ``text`` hide, join, end a line unseen or are read as others; one joiner for all that join."""
    if text.isascii() or _USUAL.fullmatch(text):
        return ""
    # Most that is unusual is an emoji's joiner, and which one it is makes no difference.
    return "\u200d" if _USUAL_OR_ATTACHED.fullmatch(text) else "".join(set(_UNUSUAL.findall(text)))


def only_attached(marks: str) -> bool:
    """Whether all of ``marks`` are joiners and selectors, which emoji have and no host takes out."""
    return _ALL_ATTACHED.fullmatch(marks) is not None


def literal(text: str) -> str:
    """What was given to ``neutral``, but for what that took away."""
    return _ENTITY.sub(lambda found: _ENTITIES[found[0]], text) if "&" in text else text


def entity_at(text: str, place: int) -> int:
    """Where the entity begins that ``place`` is inside of, or ``place`` when it is in none."""
    begin = text.rfind("&", max(0, place - _LONGEST_ENTITY + 1), place)
    found = None if begin < 0 else _ENTITY.match(text, begin)
    return begin if found is not None and found.end() > place else place


def _narrow(word: re.Match[str]) -> str:
    narrow = unicodedata.normalize("NFKC", word[0])
    return narrow if narrow.lower() in _SPEAKERS else word[0]


def _silent(text: str) -> str:
    return _without_speakers(_without_links(text))


def _without_links(text: str) -> str:
    if "[" in text:
        text = _BRACKET.sub("&#91;", text).replace("![", "!&#91;")
    if "]" in text:
        text = text.replace("](", "]&#40;").replace("]:", "]&#58;")
    if text.isascii() or not ("［" in text or "］" in text or "[" in text or "]" in text):
        return text
    return _without_wide_links(text)


def _without_wide_links(text: str) -> str:
    return _WIDE_LINK.sub(_entity, _WIDE_BRACKET.sub(_entity, text))


def _without_speakers(text: str) -> str:
    if ":" in text:
        # Backwards, and so is what is written.
        text = _BEHIND_COLON.sub(";85#&", text[::-1])[::-1]
    if text.isascii() or not ("：" in text or "﹕" in text or "︓" in text):
        return text
    return _BEHIND_WIDE_COLON.sub(lambda colon: _entity(colon)[::-1], text[::-1])[::-1]


def _entity(found: re.Match[str]) -> str:
    return f"&#{ord(found[0])};"
