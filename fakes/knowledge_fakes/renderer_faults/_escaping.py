"""Mistakes with what data may mean; knows frames and what attackers write, no way of catching them."""

import re
from collections.abc import Mapping

from knowledge_fakes.plain_renderer import PlainRenderer
from knowledge_fakes.renderer_faults._declared import fault
from knowledge_provider.outcome import OutcomeResult


class _Tagged(PlainRenderer):
    """The frame that many write: tags around each result, and what could be one escaped."""

    opening = "<documents>\n"
    closing = "</documents>"
    begin = "<document>\n"
    end = "</document>\n"
    cut_mark = "<cut/>\n"

    def field(self, name: str, text: str) -> str:
        return f"{name}: {text}\n"

    def quoted(self, text: str) -> str:
        return f"{text}\n"


class _Attributes(_Tagged):
    """The same with what says where a result is from in the tag itself."""

    begin = "<document"

    def field(self, name: str, text: str) -> str:
        return f' {name}="{text}"'

    def head(self, result: OutcomeResult, room: int) -> str:
        return f"{super().head(result, room)}>\n"


@fault("KP-1208", fragment="where result 0 of 1 is from")
class ContentsAlone(PlainRenderer):
    """Contents stand one after another, and nobody can tell where one is from."""

    def provenance(self, result: OutcomeResult) -> Mapping[str, str]:  # noqa: ARG002 - the mistake
        return {}


@fault("KP-1208", fragment="where result 1 of 2 is from")
class OnlyTheFirstIsLabelled(PlainRenderer):
    """The first result says where it is from, and the others are taken to be from there, too."""

    def provenance(self, result: OutcomeResult) -> Mapping[str, str]:
        return super().provenance(result) if "0begins" in result.id or result.id.endswith("#1") else {}


@fault("KP-1209", fragment="'<documents>', which is the frame's own,")
class TagsWithoutEscaping(_Tagged):
    """A document that holds the closing tag ends there, and what follows speaks as the host."""

    def without_brackets(self, text: str) -> str:
        return text


@fault("KP-1209", fragment="'\" title=\"', which is the frame's own,")
class QuotesInAttributes(_Attributes):
    """Brackets are escaped and quotation marks are not, so a title ends its attribute and adds others."""


@fault("KP-1209", fragment="which is the frame's own, in the content")
class LinesWithoutABar(PlainRenderer):
    """Only the first line of a content stands behind a bar, and the others may be the frame's."""

    def quoted(self, text: str) -> str:
        return f"| {text}\n"


@fault("KP-1209", fragment="'Retrieved data:', which is the frame's own, in the content")
class WordsForAFrame(PlainRenderer):
    """Results are told apart by a word on a line of its own, which a content may have, too."""

    opening = "Retrieved data:\n"
    closing = "End of data"
    begin = "Result:\n"
    cut_mark = "Cut here\n"

    def field(self, name: str, text: str) -> str:
        return f"{name} {text}\n"

    def quoted(self, text: str) -> str:
        return f"{text}\n"

    def without_speakers(self, text: str) -> str:
        return re.sub(r":(?!//|\n)", "\u2236", text)


@fault("KP-1209", fragment="no content of result 0")
class SuspiciousContentsLeftOut(PlainRenderer):
    """A content with a word of the frame is left out, so who writes one hides what they like."""

    def quoted(self, text: str) -> str:
        return super().quoted("(left out)" if "---" in text else text)


@fault("KP-1210", "KP-1221", "KP-1222", fragment="which is the frame's own, in the content")
class LongLinesAsTheyAre(PlainRenderer):
    """From the four hundredth character on, a content is no longer looked at, to save time."""

    def quoted(self, text: str) -> str:
        whole = text[:400].rpartition("\n")[0]
        if len(text) <= 400 or not whole:
            return super().quoted(text)
        return super().quoted(whole) + f"{text[len(whole) + 1 :]}\n"


@fault("KP-1211", fragment="ChatML")
class AngleBracketsStay(PlainRenderer):
    """Control tokens of chat templates are left as they are, and a page speaks as the system."""

    def without_brackets(self, text: str) -> str:
        return text.translate(str.maketrans("[]［］", "()()"))


@fault("KP-1211", fragment="[INST]")
class InstructionMarksStay(PlainRenderer):
    """Angle brackets are known, and the square ones of Llama 2 and Mistral are not."""

    def without_brackets(self, text: str) -> str:
        usual = re.sub(r"\[(?!/?[A-Z_]{3})", "(", re.sub(r"(?<![A-Z_])\]", ")", text))
        return usual.translate(str.maketrans("<>＜＞﹤﹥", "()()()"))


@fault("KP-1212", fragment="turns where data hold")
class SpeakersStay(PlainRenderer):
    """A line of data begins with who speaks, and a model that completes transcripts takes it for a turn."""

    def without_speakers(self, text: str) -> str:
        return text


@fault("KP-1212", fragment="the turn")
class SpeakersBehindDecoration(PlainRenderer):
    """Who speaks is looked for at the beginning of a line, and not behind what makes it bold or a quotation."""

    def without_speakers(self, text: str) -> str:
        return re.sub(r"(?im)^\W{0,2}(\w+):|(USER|ASSISTANT|SYSTEM|Human|System|Assistant): ", r"\1\2 - ", text)


@fault("KP-1213", fragment="makes a link or an image")
class LinksStay(PlainRenderer):
    """Links and images of data are live in whatever shows the model's answer."""

    def without_brackets(self, text: str) -> str:
        marks = re.sub(r"\[(?=[A-Z/])", "(", text)
        return marks.translate(str.maketrans("<>＜＞﹤﹥［］", "()()()()"))


@fault("KP-1214", fragment="what reads as")
class WideBracketsStay(_Tagged):
    """Brackets are escaped, and their full-width likes, which a tokenizer makes brackets of, are not."""

    def without_brackets(self, text: str) -> str:
        return text.translate(str.maketrans("<>[]", "()()"))


@fault("KP-1215", fragment="a line end in the id")
class RowsFromTitles(PlainRenderer):
    """Line ends in a title stay, and it brings rows of its own."""

    def one_line(self, text: str) -> str:
        return text


@fault("KP-1215", fragment="the hidden")
class HiddenTextStays(PlainRenderer):
    """Tags and overrides are given on: sentences that only the model reads."""

    def without_hidden(self, text: str) -> str:
        return text
