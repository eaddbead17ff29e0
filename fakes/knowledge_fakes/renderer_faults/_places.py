"""Mistakes with where foreign text stands: in which result and field, and how far in; knows no way of catching them."""

from collections.abc import Sequence

from knowledge_fakes.plain_renderer import PlainRenderer
from knowledge_fakes.renderer_faults._declared import fault
from knowledge_fakes.renderer_faults._escaping import _Attributes, _Tagged
from knowledge_provider.outcome import Outcome, OutcomeResult


@fault("KP-1209", fragment="in the id of result 1")
class OnlyTheFirstIsEscaped(_Tagged):
    """The first result is escaped, and those behind it are put there as they came."""

    escapes = True

    def pieces(self, results: Sequence[OutcomeResult], room: int) -> list[str]:
        self.first = results[:1]
        return super().pieces(results, room)

    def piece(self, result: OutcomeResult, room: int) -> str:
        self.escapes = result in self.first
        return super().piece(result, room)

    def without_brackets(self, text: str) -> str:
        return super().without_brackets(text) if self.escapes else text


@fault("KP-1209", fragment="of result 4")
class SuspicionOfTheFirst(_Tagged):
    """Only where the first result has a bracket in it is anything escaped, since most answers have none."""

    escapes = True

    def pieces(self, results: Sequence[OutcomeResult], room: int) -> list[str]:
        self.escapes = "<" in str(results[:1])
        return super().pieces(results, room)

    def without_brackets(self, text: str) -> str:
        return super().without_brackets(text) if self.escapes else text


@fault("KP-1209", fragment="in the MIME type of result 0")
class MimeTypesAsTheyAre(_Attributes):
    """What a source says of its type is taken for one of a few words, and put into the tag as it came."""

    def head(self, result: OutcomeResult, room: int) -> str:
        mime_type = result.source and result.source.mime_type
        return (f' type="{mime_type}"' if mime_type else "") + super().head(result, room)

    def neutral(self, text: str) -> str:
        return super().neutral(text).replace('"', "'")


@fault("KP-1209", fragment="in the metadata key of result 0")
class KeysAsTheyAre(_Tagged):
    """The values in the metadata are escaped, and their keys are not."""

    def head(self, result: OutcomeResult, room: int) -> str:
        known = {key: self.one_line(self.neutral(str(value))) for key, value in result.metadata.items()}
        lines = "".join(self.field(key, text) for key, text in known.items())
        return super().head(result, room) + (lines if len(lines) < room else "")


class _WithNotes(_Tagged):
    """What there is to say of all of an outcome stands before the results."""

    def render_block(self, outcome: Outcome, *, max_chars: int = 8000) -> str:
        notes = "".join(f"{note}\n" for note in self.notes(outcome))[: max_chars // 2]
        self.opening = f"{type(self).opening}{notes}"
        return super().render_block(outcome, max_chars=max_chars)

    def notes(self, outcome: Outcome) -> Sequence[str]:
        """The lines."""
        raise NotImplementedError


@fault("KP-1209", fragment="in the citation's source of result 0")
class WhoAnsweredAsItIs(_WithNotes):
    """Who answered is named as the answer has it, as if the host had said so."""

    def notes(self, outcome: Outcome) -> Sequence[str]:
        return [f"source {citation.source}" for citation in outcome.citations if citation.source]


@fault("KP-1209", fragment="in the key of report 0")
class FailedSourcesAsTheyAre(_WithNotes):
    """The sources that failed are named with their reasons, and some of them are of others' making."""

    def notes(self, outcome: Outcome) -> Sequence[str]:
        failed = (report for report in outcome.sources if report.status == "failed")
        return [f"failed {report.key} {report.reason}" for report in failed]


@fault("KP-1209", fragment="in the query")
class TheQueryAsItIs(_WithNotes):
    """What was asked is repeated as it is, and a page that was read before has chosen the words."""

    def notes(self, outcome: Outcome) -> Sequence[str]:
        return [f"asked {outcome.query}"]


@fault("KP-1215", fragment="in the citation's id")
class CitationsAsTheyAre(PlainRenderer):
    """A citation's id is taken for the host's own, and was kept and sent by somebody else."""

    def head(self, result: OutcomeResult, room: int) -> str:
        cited = self.field("citation", result.citation_id or "none")
        return super().head(result, room) + (cited if len(cited) < room else "")


@fault("KP-1215", fragment="in the notice")
class TheNoticeAsItIs(PlainRenderer):
    """The notice is what the outcome has for one, whoever has written that."""

    def render_block(self, outcome: Outcome, *, max_chars: int = 8000) -> str:
        notice = outcome.notice[:200]
        self.opening = f"{type(self).opening}{notice}\n"
        return super().render_block(outcome, max_chars=max_chars)


@fault("KP-1221", fragment="which is the frame's own, in the content")
class TheEndOfLongContents(PlainRenderer):
    """What is behind the nine thousandth character of a content is no longer looked at, to save time."""

    def quoted(self, text: str) -> str:
        whole = text[:9000].rpartition("\n")[0]
        if len(text) <= len(whole) + 1 or not whole or len(text) <= 9000:
            return super().quoted(text)
        return super().quoted(whole) + f"{text[len(whole) + 1 :]}\n"


@fault("KP-1221", "KP-1222", fragment="in the title of result 0")
class TheEndOfLongTitles(_Tagged):
    """What says where a result is from is looked at to its hundredth character, since few are as long."""

    def head(self, result: OutcomeResult, room: int) -> str:
        lines = ""
        for name, text in self.provenance(result).items():
            line = self.field(name, self.one_line(self.neutral(text[:100]) + text[100:]))
            if len(lines) + len(line) <= room:
                lines += line
        return lines


@fault("KP-1222", fragment="which is the frame's own,")
class CutFromTheOriginal(_Tagged):
    """What does not fit is cut out of the text as it came, and what was escaped before is thrown away."""

    def piece(self, result: OutcomeResult, room: int) -> str:
        self.original = result.content
        return super().piece(result, room)

    def cut(self, text: str, place: int) -> str:
        return super().cut(self.original if text.strip() else text, place)


def _cut_as_it_came(text: str | None, named: str, lines: str, room: int) -> str:
    """As much of a line as has place behind others, or nothing where it is among them."""
    left = room - len(lines) - len(named) - 1
    return f"{named}{text[:left]}\n" if text and named not in lines and left > 0 else ""


@fault("KP-1222", fragment="where the title of result 0 and those of 2 more are full of it")
class TitlesCutFromTheOriginal(_Tagged):
    """A title that has no place is cut out of what came, and what was escaped before is thrown away."""

    def head(self, result: OutcomeResult, room: int) -> str:
        lines = super().head(result, room)
        title = result.source.title if result.source else None
        return lines + _cut_as_it_came(title, "title: ", lines, room)


@fault("KP-1215", fragment="where the citation's id and those of 2 more are full of it")
class CitationsCutFromTheOriginal(_Tagged):
    """A citation's id is escaped where all of it has place, and otherwise cut out of what somebody made of it."""

    def head(self, result: OutcomeResult, room: int) -> str:
        lines = super().head(result, room)
        cited = self.field("citation", self.one_line(self.neutral(result.citation_id or "none")))
        lines += cited if len(lines) + len(cited) <= room else ""
        return lines + _cut_as_it_came(result.citation_id, "citation: ", lines, room)


@fault("KP-1211", fragment="since the frame itself has '<|im_start|>system")
class FramedAsASystemTurn(PlainRenderer):
    """The frame is written with the marks of a chat template, and the model reads what is found as the system's."""

    opening = f"<|im_start|>system\n{PlainRenderer.opening}"
    closing = f"{PlainRenderer.closing}<|im_end|>\n"
