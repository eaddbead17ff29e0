"""Mistakes with how much is shown and where it is cut; knows clause 12.2, no way of catching them."""

from collections.abc import Sequence

from knowledge_fakes.plain_renderer import PlainRenderer
from knowledge_fakes.renderer_faults._declared import fault
from knowledge_fakes.renderer_faults._escaping import _Tagged
from knowledge_provider.outcome import Outcome, OutcomeResult


class _Entities(_Tagged):
    """Brackets and ampersands as entities, which are longer than what they stand for."""

    def without_brackets(self, text: str) -> str:
        escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace("[", "&#91;").replace("]", "&#93;")
        return escaped.replace("＜", "&lt;").replace("﹤", "&lt;").replace("［", "&#91;")

    def holds_together(self, text: str, place: int) -> bool:
        begins = text.rfind("&", max(0, place - 8), place)
        return (begins >= 0 and ";" not in text[begins:place]) or super().holds_together(text, place)


@fault("KP-1216", fragment="of one long content")
class EscapedAfterCounting(_Entities):
    """What has place is cut out first and escaped then, and brackets take four times as much."""

    def neutral(self, text: str) -> str:
        return self.without_speakers(self.without_hidden(text))

    def render_block(self, outcome: Outcome, *, max_chars: int = 8000) -> str:
        self.opening = self.begin = self.end = self.closing = ""
        block = self.without_brackets(super().render_block(outcome, max_chars=max_chars).replace("<cut/>", "(cut)"))
        return f"{_Entities.opening}{block}{_Entities.closing}"


@fault("KP-1216", fragment="at most 8,000 characters")
class NoBudgetUnlessAsked(PlainRenderer):
    """Without max_chars a block is as long as what was found."""

    def render_block(self, outcome: Outcome, *, max_chars: int = 1_000_000) -> str:
        return super().render_block(outcome, max_chars=max_chars)


@fault("KP-1216", fragment="of eight long contents")
class TheSameForEach(PlainRenderer):
    """Each result may take all that there is, whoever comes after it."""

    def pieces(self, results: Sequence[OutcomeResult], room: int) -> list[str]:
        return [self.piece(result, room) for result in results]


@fault("KP-1217", fragment="whole contents of 20 times")
class SnippetsOfTheBeginning(PlainRenderer):
    """A content ends after a thousand characters, however much place there is."""

    def share(self, room: int, waiting: int) -> int:
        return min(super().share(room, waiting), 1000)


@fault("KP-1217", fragment="one as '&#32;Two&#32;owners")
class EverythingIsEscaped(PlainRenderer):
    """White space is escaped, too, and nothing is left that anybody can read."""

    def quoted(self, text: str) -> str:
        return super().quoted("\n".join("&#32;".join(line.split(" ")) for line in text.split("\n")))


@fault("KP-1218", fragment="a mark where something does not fit")
class CutWithoutAMark(PlainRenderer):
    """A content that does not fit ends somewhere, and half a rule reads as the rule."""

    def mark(self) -> str:
        return "\n"


@fault("KP-1218", fragment="a mark at the content of result 1 of 3")
class OnlyTheFirstCutIsMarked(PlainRenderer):
    """That something is cut is said once, and the contents behind that one end as if they were whole."""

    def render_block(self, outcome: Outcome, *, max_chars: int = 8000) -> str:
        before, mark, behind = super().render_block(outcome, max_chars=max_chars).partition(self.cut_mark)
        return f"{before}{mark}{behind.replace(self.cut_mark, '')}"


@fault("KP-1218", fragment="the frame closed behind what is cut")
class TheBlockIsCut(PlainRenderer):
    """The whole block is cut at its length, with the end of its frame."""

    def render_block(self, outcome: Outcome, *, max_chars: int = 8000) -> str:
        return super().render_block(outcome, max_chars=10 * max_chars)[:max_chars]


@fault("KP-1218", fragment="whole results")
class LeftOutWithoutAMark(PlainRenderer):
    """Results that have no place are not there, and nothing says so."""

    def left_out(self) -> str:
        return ""

    def pieces(self, results: Sequence[OutcomeResult], room: int) -> list[str]:
        whole = [self.piece(result, max(10_000, room)) for result in results]
        return whole if sum(map(len, whole)) <= room else self.first(whole, results, room)

    def first(self, whole: Sequence[str], results: Sequence[OutcomeResult], room: int) -> list[str]:
        """As many as have place, or a part of the first."""
        kept = [piece for at, piece in enumerate(whole) if sum(map(len, whole[: at + 1])) <= room]
        return kept or super().pieces(results[:1], room)


@fault("KP-1223", fragment="a cut before or after a family")
class CutByCodePoints(PlainRenderer):
    """A cut falls where the number of code points says, and half a family is another picture."""

    def holds_together(self, text: str, place: int) -> bool:  # noqa: ARG002 - the mistake
        return False


@fault("KP-1219", fragment="a cut before or after an ampersand")
class CutWithinAnEntity(_Entities):
    """A cut falls into what a character was escaped to."""

    def holds_together(self, text: str, place: int) -> bool:
        return super(_Entities, self).holds_together(text, place)


@fault("KP-1219", fragment="a cut before or after a backslash")
class CutBehindABackslash(_Tagged):
    """A content stands between quotation marks, and a cut behind a backslash escapes the one that closes it."""

    def quoted(self, text: str) -> str:
        escaped = text.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"\n'

    def mark(self) -> str:
        return f'"\n{self.cut_mark}'

    def share(self, room: int, waiting: int) -> int:
        # The quotation mark before the cut.
        return super().share(room, waiting) - 1


@fault("KP-1220", fragment="as it is")
class EveryJoinerGoes(PlainRenderer):
    """All that nobody sees is dropped, and families and Persian words break apart."""

    def without_hidden(self, text: str) -> str:
        kept = super().without_hidden(text)
        return "".join(character for character in kept if character not in "\u200c\u200d\ufe0f")
