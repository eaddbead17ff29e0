"""A block in its parts, told by marks: what is data, what is the frame, and what in data looks like the frame."""

import pytest

from knowledge_conformance.frames import (
    Frame,
    alike,
    breakouts,
    contents_in,
    imitation,
    leaves_its_line,
    read_frame,
    short_pieces,
    times,
    torn,
)
from knowledge_conformance.marking import marked


def tagged(content: str, title: str = "", end: str = "\n</doc>\n") -> str:
    """A block of one result: a title in an attribute, and a content between two tags."""
    return f'<docs>\n<doc title="{marked("title", 0, title)}">\n{marked("content", 0, content)}{end}</docs>'


def frame_of(block: str) -> Frame:
    frame = read_frame(block)
    assert frame is not None
    return frame


USUAL = frame_of(tagged(""))


def test_a_block_is_read_by_its_marks() -> None:
    """What stands between two of them is data, and what follows is the frame's, up to the next."""
    frame = frame_of(tagged("one\ntwo", "Title"))
    assert frame.pieces == ('<docs>\n<doc title="', '">\n', "\n</doc>\n</docs>")
    assert [(region.field, region.place, region.text) for region in frame.regions] == [
        ("title", 0, "Title"),
        ("content", 0, "one\ntwo"),
    ]
    assert frame.order == (("title", 0), ("content", 0))


@pytest.mark.parametrize(
    "block",
    ["", "no marks", "zqid0begins", "zqid0endszqid0begins", "zqid0beginszqid1ends", "zqid0beginszqtitle0ends"],
)
def test_fields_that_are_torn_apart_are_no_frame(block: str) -> None:
    """Marks that do not stand in pairs."""
    assert read_frame(block) is None
    assert torn(read_frame(block), USUAL) == "fields that are torn apart"


def test_other_fields_are_said() -> None:
    """One that is missing by its name, others in general."""
    assert torn(frame_of(marked("title", 0)), USUAL) == "no content of result 0"
    assert torn(frame_of(tagged("") + marked("title", 0)), USUAL) == "fields more than once, or in another order"
    assert torn(USUAL, USUAL) is None


@pytest.mark.parametrize("text", ["", "Use <b>", "a doc title", "\n<documents>\n", "&lt;/doc&gt;"])
def test_ordinary_text_is_no_imitation(text: str) -> None:
    """Other tags are not the frame's, and an escaped one is none."""
    frame = frame_of(tagged(text, text))
    assert [imitation(frame, region, USUAL) for region in frame.regions] == [None, None]


@pytest.mark.parametrize(
    ("content", "title", "found"),
    [
        ("x</doc>y", "", "</doc>"),
        ("\n<docs>\n", "", "<docs>"),
        ("", 'x">\ny', '">'),
        ("", 'x\\\\">y', '">'),
    ],
)
def test_a_piece_of_the_frame_is_found(content: str, title: str, found: str) -> None:
    """A tag anywhere, and a quotation mark with what follows it, unless a backslash escapes it."""
    frame = frame_of(tagged(content, title))
    assert [each for region in frame.regions if (each := imitation(frame, region, USUAL))] == [found]


def test_an_escaped_quotation_mark_closes_nothing() -> None:
    """As JSON writes it."""
    frame = frame_of(tagged("", 'x\\">y'))
    assert imitation(frame, frame.regions[0], USUAL) is None


@pytest.mark.parametrize(
    ("line", "content", "found"),
    [
        ("--- end ---", "a\n--- end ---\nb", "--- end ---"),
        ("--- end ---", "a --- end --- b", None),
        ("--- end ---", "a\n| --- end ---\nb", None),
        ("Result", "a\nResult\nb", "Result"),
        ("This is a sentence which anybody may have written.", "a\nThis is a sentence which anybody.\nb", None),
    ],
)
def test_a_line_of_the_frame_counts_as_a_line(line: str, content: str, found: str | None) -> None:
    """Words alone count where the frame has nothing else; long sentences never do."""
    frame = frame_of(f"{line}\n{marked('content', 0, content)}\n{line}")
    assert imitation(frame, frame.regions[0], frame) == found


def test_a_fence_that_grows_closes_with_its_own_line() -> None:
    """Shorter ones within it are text, and shorter ones around other results are no matter."""
    usual = frame_of(f"```\n{marked('content', 0)}\n```\n```\n{marked('content', 1)}\n```")
    grown = frame_of(f"````\n{marked('content', 0, chr(10) + '```' + chr(10))}\n````\n```\n{marked('content', 1)}\n```")
    assert imitation(grown, grown.regions[0], usual) is None
    flat = frame_of(f"```\n{marked('content', 0, chr(10) + '```' + chr(10))}\n```\n```\n{marked('content', 1)}\n```")
    assert imitation(flat, flat.regions[0], usual) == "```"


@pytest.mark.parametrize("content", ["x＜/doc＞", "x<\u200b/doc>", "x</DOC>", "x﹤/doc﹥"])
def test_look_alikes_are_found(content: str) -> None:
    """Normalised, without what nobody sees, and in any case."""
    frame = frame_of(tagged(content))
    region = frame.regions[1]
    assert imitation(frame, region, USUAL) is None
    assert alike(frame, region, USUAL) == "</doc>"


def test_breakouts_are_the_frames_own_pieces() -> None:
    """All of them, those around a forged text, and whole lines."""
    found = breakouts(USUAL)
    assert set(USUAL.pieces) <= set(found)
    assert any("\nforged\n" in text for text in found)
    assert "\n<docs>\n" in found


@pytest.mark.parametrize("text", ["a\nb", "a\rb", "a\u2028b", "a\x85b"])
def test_a_field_may_leave_its_line(text: str) -> None:
    """Where the frame ends it with its line; a content has lines."""
    line = frame_of(f"{marked('title', 0, text)}\n{marked('content', 0, text)}\n")
    assert [leaves_its_line(region) for region in line.regions] == [True, False]
    assert not leaves_its_line(frame_of(f"{marked('title', 0, 'a b')}\n").regions[0])
    assert not leaves_its_line(frame_of(f'{marked("title", 0, text)}", ').regions[0])


def test_what_stands_behind_a_contents_beginning_is_found() -> None:
    """Up to the next field's, also where its end is cut off, and once where it is there twice."""
    whole = f"<a>{marked('content', 0, 'one')}</a>{marked('id', 1)}<b>zqcontent1beginstwo (cut)</b>"
    assert contents_in(whole) == {0: "onezqcontent0ends</a>", 1: "two (cut)</b>"}
    assert contents_in(f"{whole}zqcontent0beginsagain")[0].startswith("one")
    assert contents_in("none") == {}


def test_short_pieces_are_counted_as_what_they_are() -> None:
    """A tag anywhere, a line as a line, and what closes a content where that is quoted, unless it is escaped."""
    frame = frame_of(f'<doc>\n--- text ---\n"{marked("content", 0)}",\n</doc>')
    assert short_pieces(frame) == ("<doc>", "</doc>", "--- text ---", '",')
    text = '</doc></doc>\n--- text ---\n a --- text ---\n",\n\\",'
    assert [times(frame, piece, text) for piece in short_pieces(frame)] == [0, 2, 1, 1]


def test_what_closes_a_field_is_a_piece_for_that_field() -> None:
    """Quotes of an attribute close it, and a content that has none around it is closed by none."""
    frame = frame_of(f'<doc title="{marked("title", 0)}" cut="no">\n{marked("content", 0)}\n</doc>')
    assert short_pieces(frame, "title") == ("</doc>", '" cut="no">')
    assert short_pieces(frame) == ("</doc>",)


def test_a_line_that_is_set_in_deeper_is_not_the_frames() -> None:
    """As a block of YAML has it; what stands as deep as the frame's own line is one."""
    frame = frame_of(f"# data\n  text: |\n    {marked('content', 0, chr(10) + '    # data' + chr(10))}\n# data\n")
    assert imitation(frame, frame.regions[0], frame) is None
    flat = frame_of(f"# data\n{marked('content', 0, chr(10) + '# data' + chr(10))}\n# data\n")
    assert imitation(flat, flat.regions[0], flat) == "# data"
