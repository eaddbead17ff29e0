"""Text that can neither close a frame nor speak as anybody (clause 12.1); knows characters, no result and no message.

What might mean something to a parser is written as an HTML entity, which models read as what it stands for, and
browsers show so. All of it can be read back but what nobody sees.
"""

import re
import unicodedata
from collections.abc import Iterable
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
_JOINERS: Final = "\u200c\u200d"
_ATTACHED: Final = f"{_JOINERS}{_BASIC_SELECTORS}"
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
# They become letters and colons there, too: full-width, circled, squared, mathematical and letter-like ones, raised and
# lowered ones, and numerals.
_RAISED: Final = "ªºʰ-ʸˡ-ˣᴬ-ᵪᵸᶛ-ᶿⁱⁿₐ-ₜⱼⱽꟲ-ꟴ"
_WIDE: Final = f"{_RAISED}Ａ-Ｚａ-ｚⒶ-ⓩ\u2100-\u214fⅠ-ⅿ\U000107a5\U0001d400-\U0001d7cb\U0001f12a-\U0001f149"
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
# Six times as fast as looking for the unusual.
_USUAL: Final = re.compile(f"[{_others(_NEITHER + _EVERY_ATTACHED)}]++")
_USUAL_OR_ATTACHED: Final = re.compile(f"[{_others(_NEITHER)}]*+")
_NO_CONTROLS: Final = bytes.maketrans(bytes([*range(9), *range(11, 32), 127]), b" " * 31)
_NOTHING_WILD: Final = bytes.maketrans(bytes([*range(32), 127]) + b'"\\<&[]', b" " * 39)
_FIND_UNCLEAN: Final = re.compile(f"[{_UNCLEAN}]")
_HIDDEN: Final = re.compile(f"[{_HIDDEN_BASIC}{_HIDDEN_BEYOND}]")
_STRAY: Final = f"(?<=[{_BASIC_SELECTORS}])(?<![{_DRAWN}][{_BASIC_SELECTORS}])"
_STRAY_BEYOND: Final = f"(?<=[{_ATTACHED_BEYOND}])(?<![{_IDEOGRAPHS}][{_ATTACHED_BEYOND}])"
# One selector or joiner is writing. A row of them is a way to hide bytes behind one letter. A joiner after a selector
# is how emoji are made, so that pair is no row.
_IN_ROW: Final = f"(?<=[{_EVERY_ATTACHED}]{{2}})(?<!\ufe0f\u200d)"
_NONE_IN_VAIN: Final = re.compile(
    f"(?:[{_others(_EVERY_ATTACHED)}]++|[{_EVERY_ATTACHED}](?!{_STRAY}|{_STRAY_BEYOND}|{_IN_ROW}))*"
)
_FIND_STRAY: Final = re.compile(f"[{_EVERY_ATTACHED}](?:{_STRAY}|{_STRAY_BEYOND})")
_FIND_IN_ROW: Final = re.compile(f"[{_EVERY_ATTACHED}](?:{_IN_ROW})")
_FIND_ATTACHED: Final = re.compile(f"[{_EVERY_ATTACHED}]")
_ALL_ATTACHED: Final = re.compile(f"[{_EVERY_ATTACHED}]*")
_ALL_KEPT: Final = re.compile(f"[{_EVERY_ATTACHED}{_SMALL}{_ALIKE}{_WIDE}{_SMALL_COLONS}]*")
_FIND_LINE_END: Final = re.compile(f"[{_ENDS_LINE}]")
_FIND_SMALL: Final = re.compile(f"[{_SMALL}]")
_FIND_WIDE: Final = re.compile(f"[{_WIDE}]")
# One for each of them: what looks for a single character is six times as fast, and few texts have two.
_FIND_ALIKE: Final = {mark: re.compile(rf"{mark}(?=[\s/∕⁄／]{{0,4}}(?i:knowledge|result|cut))") for mark in _ALIKE}

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
_BRACKET: Final = re.compile(rf"\[(?:(?<=[!！]\[)|{_MARKER})")
_WIDE_WORD_BEGINS: Final = rf"[A-Za-z_]{{2,24}}+[{_WIDE}]|[A-Za-z_]?[{_WIDE}][A-Za-z_{_WIDE}]|(?<=[／｜])[A-Za-z_]"
_WIDE_BRACKET: Final = re.compile(rf"［{_MARKER}|[\[［](?=[\s/／|｜]{{0,4}}(?:{_WIDE_WORD_BEGINS}))")
# Images, links and where those are defined, in either width.
_LINKS: Final = {f"]{mark}": f"]&#{ord(mark)};" for mark in "(（:：﹕︓"}
_LINK: Final = re.compile(r"\][(（:：﹕︓]")
_WIDE_LINK: Final = re.compile(r"[\[［(（:：﹕︓](?<=[!！][\[［]|[\]］][(（:：﹕︓])")
_SPEAKERS: Final = frozenset(
    {"system", "user", "assistant", "human", "developer", "tool", "function", "model", "ai", "bot", "instruction"}
    | {"instruct", "instructions", "response", "input", "output", "observation", "action", "system message"}
    | {"system prompt", "gpt", "gpt4 correct user", "gpt4 correct assistant"}
    | {"系统", "用户", "助手", "人类", "问", "答", "система", "пользователь", "ассистент"}
)
_LOUD: Final = ("SYSTEM", "USER", "ASSISTANT", "HUMAN", "DEVELOPER")
# Further letters that are these where case is ignored.
_CASES: Final = {"i": "ıİ", "s": "ſ", "т": "ᲄᲅ"}
_WIDE_WORD: Final = re.compile(f"[A-Za-z{_WIDE}]+")
# Colons and the words before them, in a text from its end to its beginning: to look behind each word for a colon takes
# time that grows with the square, since many of these letters are none to an expression.
_BEFORE_COLONS: Final = re.compile(rf"[:：﹕︓][\W_]*+[A-Za-z{_WIDE}]*+")


def _either_case(letters: Iterable[str]) -> str:
    # A class of the letters as they are where case is ignored. Faster than to ignore it, since whatever begins with a
    # class is tried only where that fits.
    return "".join(sorted({each for letter in letters for each in (letter, letter.upper(), *_CASES.get(letter, ""))}))


def _by_last(words: Iterable[str]) -> str:
    """What matches one of the words from its end to its beginning, in either case."""
    rest: dict[str, list[str]] = {}
    for word in sorted(words):
        rest.setdefault(word[-1], []).append(word[:-1][::-1])
    return "|".join(f"[{_either_case(last)}](?i:{'|'.join(others)})" for last, others in rest.items())


def _behind(colons: str) -> re.Pattern[str]:
    """What finds, in a text from its end to its beginning, colons in front of which somebody is said to speak.

    As a line's whole beginning, whatever decorates it; and in capitals anywhere, as Vicuna's template has them. A line
    also begins behind a colon. Backwards, since there are far fewer colons than letters, and most of them are known by
    the two letters next to them.
    """
    ends = "".join(sorted({letter for word in _SPEAKERS for letter in (word[-1], word[-1].upper())} | {*"ıſ"}))
    pad = r"[^\w\n:：﹕︓]*+(?:_[^\w\n:：﹕︓]*+)*"
    longer = [word for word in _SPEAKERS if word[1:]]
    last, last_but_one = (_either_case(word[place] for word in longer) for place in (-1, -2))
    likely = f"[{last}][{last_but_one}]|[{''.join(sorted(_SPEAKERS - {*longer}))}]"
    loud = "|".join(word[::-1] for word in _LOUD)
    quiet = _by_last(_SPEAKERS)
    return re.compile(rf"{colons}(?=[{ends}\W_])(?={pad}(?={likely})(?:{loud}|(?:{quiet}){pad}(?:[\n:：﹕︓]|\Z)))")


_BEHIND_COLON: Final = _behind(":")
_BEHIND_FULL_WIDTH_COLON: Final = _behind("：")
_BEHIND_WIDE_COLON: Final = _behind("[：﹕︓]")


def neutral(text: str, marks: str | None = None) -> str:
    """A ``text`` by rule N5 or N6 without what hides, and with what could be mark-up, a role or a link as entities.

    Afterwards it holds no ``<``, no Markdown link or image, no marker of a chat template, no line end but a newline,
    and no line that begins as somebody's turn. ``marks`` are ``unusual_in`` it, where that is known.
    """
    if marks is None:
        marks = unusual_in(text)
    if marks:
        text = _shown(text, marks)
    if "&" in text:
        text = _AMPERSAND.sub("&amp;", text)
    if "<" in text:
        text = text.replace("<", "&lt;")
    return _silent(text, marks)


def is_harmless(text: str) -> bool:
    """Whether nothing in ``text``, entities and all, would be changed by ``neutral`` for what it could mean."""
    if "<" in text or _FIND_UNCLEAN.search(text):
        return False
    marks = unusual_in(text)
    return (not marks or _shown(text, marks) == text) and _silent(text, marks) == text


def _shown(text: str, marks: str) -> str:
    """``text`` without what hides, and with look-alikes as what they are read as; ``marks`` are ``unusual_in`` it."""
    # Of all of these, most texts have one: emoji, say, or quotation marks.
    if _HIDDEN.search(marks):
        text = _HIDDEN.sub("", text)
    if _FIND_LINE_END.search(marks):
        text = _FIND_LINE_END.sub("\n", text)
    # Writing has few in vain, and one look at all tells that sooner than two searches.
    if _FIND_ATTACHED.search(marks) and not _NONE_IN_VAIN.fullmatch(text):
        text = _FIND_IN_ROW.sub("", _FIND_STRAY.sub("", text))
    if _FIND_SMALL.search(marks):
        text = _FIND_SMALL.sub("<", text)
    for mark in marks:
        if mark in _FIND_ALIKE:
            text = _FIND_ALIKE[mark].sub("<", text)
    return _BEFORE_COLONS.sub(_narrowed, text[::-1])[::-1] if _FIND_WIDE.search(marks) else text


def is_neutral(text: str, colons: int) -> bool:
    """Whether ``neutral`` would leave ``text`` as it is; ``colons`` are how many are known to be harmless.

    May say False where it would. For many short texts at once, such as a line of JSON, in which a value begins behind
    a colon, as a turn does.
    """
    if "<" in text or "&" in text or not text.isprintable():
        return False
    marks = unusual_in(text)
    if _without_links(text, marks) != text or (marks and _shown(text, marks) != text):
        return False
    no_other_colon = text.count(":") == colons and "：" not in text and not marks
    return no_other_colon or _without_speakers(text) == text


def is_tame(text: str, colons: int) -> bool:
    """Whether ``text`` is ASCII that ``neutral`` and JSON leave as it is, judged in more haste than ``is_neutral``."""
    if not text.isascii() or text.count(":") != colons:
        return False
    written = text.encode()
    return written.translate(_NOTHING_WILD) == written


def unusual_in(text: str) -> str:
    """What characters in ``text`` hide, join, end a line unseen or are read as others; one joiner for all that join."""
    if text.isascii() or _USUAL.fullmatch(text):
        return ""
    # Most that is unusual is an emoji's joiner, and which one it is makes no difference.
    if _USUAL_OR_ATTACHED.fullmatch(text):
        return "\u200d"
    return "".join(set(_USUAL.sub("", text)))


def is_content(text: str, marks: str) -> bool:
    """Whether rule N6 leaves ``text`` as it is, but for white space that ends it; may say False where it does.

    ``marks`` are ``unusual_in`` it. Beyond ASCII, where they are none or joiners alone, nothing else is looked at.
    """
    if text.isascii():
        # No other look at each character is as fast by far.
        written = text.encode()
        return text[:1] > " " and written.translate(_NO_CONTROLS) == written
    if _ALL_ATTACHED.fullmatch(marks):
        return True
    ends_as_is = not (text[0].isspace() or text[-1].isspace() or text[-1] in _JOINERS)
    return ends_as_is and _ALL_KEPT.fullmatch(marks) is not None


def literal(text: str) -> str:
    """What was given to ``neutral``, but for what that took away."""
    return _ENTITY.sub(lambda found: _ENTITIES[found[0]], text) if "&" in text else text


def entity_at(text: str, place: int) -> int:
    """Where the entity begins that ``place`` is inside of, or ``place`` when it is in none."""
    begin = text.rfind("&", max(0, place - _LONGEST_ENTITY + 1), place)
    found = None if begin < 0 else _ENTITY.match(text, begin)
    return begin if found is not None and found.end() > place else place


def _narrowed(backwards: re.Match[str]) -> str:
    return _WIDE_WORD.sub(_narrow, backwards[0][::-1])[::-1]


def _narrow(word: re.Match[str]) -> str:
    narrow = unicodedata.normalize("NFKC", word[0])
    return narrow if narrow.lower() in _SPEAKERS else word[0]


def _silent(text: str, marks: str) -> str:
    return _without_speakers(_without_links(text, marks))


def _without_links(text: str, marks: str) -> str:
    if "[" in text:
        text = _BRACKET.sub("&#91;", text)
    if "]" in text:
        text = _LINK.sub(lambda found: _LINKS[found[0]], text)
    return text if text.isascii() else _without_wide_links(text, marks)


def _without_wide_links(text: str, marks: str) -> str:
    # Most texts beyond ASCII have no wide brackets, and nothing wide in brackets.
    wide = "［" in text
    if wide or ("[" in text and ("／" in text or "｜" in text or _FIND_WIDE.search(marks))):
        text = _WIDE_BRACKET.sub(_entity, text)
    return _WIDE_LINK.sub(_entity, text) if wide or "］" in text else text


def _without_speakers(text: str) -> str:
    if ":" in text:
        text = _replaced(_BEHIND_COLON, "&#58;", text)
    if text.isascii():
        return text
    if "﹕" in text or "︓" in text:
        return _BEHIND_WIDE_COLON.sub(lambda colon: _entity(colon)[::-1], text[::-1])[::-1]
    return _replaced(_BEHIND_FULL_WIDTH_COLON, "&#65306;", text) if "：" in text else text


def _replaced(behind: re.Pattern[str], entity: str, text: str) -> str:
    backwards = text[::-1]
    found = behind.sub(entity[::-1], backwards)
    return text if found == backwards else found[::-1]


def _entity(found: re.Match[str]) -> str:
    return f"&#{ord(found[0])};"
