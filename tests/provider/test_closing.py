"""What a log is told of a close() that went wrong: how and where, and nothing that was said."""

from knowledge_provider._closing import unclosed
from knowledge_provider.provider_calls import Ending


def raised(error: BaseException) -> BaseException:
    try:
        raise error
    except BaseException as caught:
        return caught


def test_one_that_went_well_is_nothing_to_tell() -> None:
    """Whatever it gave."""
    assert unclosed(Ending(value="closed")) is None


def test_one_that_did_not_end_has_no_place() -> None:
    """It stands nowhere yet."""
    assert unclosed(Ending(timed_out=True)) == "did not end in time"


def test_one_that_raised_has_class_and_place() -> None:
    """And none of its words (clause 10.8)."""
    said = unclosed(Ending(error=raised(OSError("key 4711")))) or ""
    assert said.startswith("raised OSError at test_closing.py:")
    assert said.endswith(" in raised")
