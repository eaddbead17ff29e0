"""Mistakes in what an answer consists of; knows clauses 5.7 to 5.11 of the contract, no way of catching them."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from knowledge_fakes.faults._changing import answering, rows_of, with_each, with_metadata
from knowledge_fakes.faults._fault import fault
from knowledge_fakes.faults.answers import VendorDocument


class VendorFloat(float):
    """A number as array libraries have it: a ``float`` to ``isinstance``, and refused by some encoders."""


class VendorText(str):
    """A text that marks itself as safe for a template."""


# Clauses 5.7 and 5.8: plain data and text.


@fault("KP-513", "KP-512", "KP-516", fragment="VendorDocument object")
def vendor_object_in_metadata(sound: Any) -> Any:
    """The vendor's own document is kept in the metadata, for later."""
    return with_metadata(sound, document=VendorDocument("…"))


@fault("KP-513", fragment="VendorDocument object")
def vendor_object_beside_the_result(sound: Any) -> Any:
    """The vendor's own document rides along in a field that no host reads, until one writes the answer to a log."""
    return with_each(sound, lambda row: {**row, "raw": VendorDocument("…")})


@fault("KP-513", fragment="['embedding'] of")
def embedding_beside_the_result(sound: Any) -> Any:
    """The passage's vector rides along in a field that no host reads, and is logged and sent with each answer."""
    return with_each(sound, lambda row: {**row, "embedding": [0.125] * 1536})


@fault("KP-513", fragment="['tokens'] of")
def price_behind_the_tokens(sound: Any) -> Any:
    """The passage's token numbers ride along, so many that a Decimal behind them is never looked at."""
    return with_each(sound, lambda row: {**row, "tokens": list(range(20_001)), "price": Decimal(1)})


@fault("KP-513", fragment="VendorFloat object")
def array_library_score(sound: Any) -> Any:
    """The score is an array library's float, which passes every test but that of an encoder."""
    return with_each(sound, lambda row: {**row, "score": VendorFloat(0.5)})


@fault("KP-513", fragment="VendorText object")
def marked_up_text(sound: Any) -> Any:
    """The content is a template engine's subclass of str."""
    return with_each(sound, lambda row: {**row, "content": VendorText(row["content"])})


@fault("KP-513", "KP-512", "KP-516", fragment="datetime.datetime object")
def date_in_metadata(sound: Any) -> Any:
    """A date is left as a datetime, which json does not write."""
    return with_metadata(sound, changed=datetime(2026, 1, 31, tzinfo=UTC))


@fault("KP-513", "KP-503", "KP-517", fragment="[0]['content'] of")
def content_in_bytes(sound: Any) -> Any:
    """The content is the body of an HTTP response, never decoded."""
    return with_each(sound, lambda row: {**row, "content": row["content"].encode()})


@fault("KP-514", fragment="a lone surrogate")
def half_a_character(sound: Any) -> Any:
    """The content is cut between the halves of an emoji, and cannot be written as UTF-8 any more."""
    return with_each(sound, lambda row: {**row, "content": f"{row['content']} \ud83d"})


@fault("KP-515", fragment="U+0000")
def nul_in_content(sound: Any) -> Any:
    """The text of a PDF has NUL characters in it, at which a database refuses the whole message."""
    return with_each(sound, lambda row: {**row, "content": f"{row['content']}\0"})


@fault("KP-515", fragment="U+001B")
def colours_in_content(sound: Any) -> Any:
    """The text was taken from a terminal, with its escape sequences."""
    return with_each(sound, lambda row: {**row, "content": f"\x1b[1m{row['content']}\x1b[0m"})


# Clauses 5.9 and 5.11: what a host makes of it.


@fault("KP-516", fragment="metadata to stay as it is")
def metadata_keys_that_differ_by_space(sound: Any) -> Any:
    """Two metadata keys of a spreadsheet differ by a space at the end, and a host keeps one of them."""
    return with_metadata(sound, **{"Department": "people", "Department ": "finance"})


@fault("KP-518", fragment="hit, no_hit, ignored, failed")
def reports_in_other_words(sound: Any) -> Any:
    """The report on the stores behind has words of its own, so a host cannot tell that one of them failed."""
    return _reporting(sound, {"key": "wiki", "status": "error"})


@fault("KP-518", fragment="a reason that is a string")
def report_with_a_status_code(sound: Any) -> Any:
    """The report on the stores behind gives the status code of the failed call as its reason."""
    return _reporting(sound, {"key": "wiki", "status": "failed", "reason": 503, "count": 0})


@fault("KP-518", fragment="a count of results")
def report_with_a_textual_count(sound: Any) -> Any:
    """The report on the stores behind counts the results in words."""
    return _reporting(sound, {"key": "wiki", "status": "hit", "count": "many"})


def _reporting(sound: Any, *reports: Any) -> Any:
    return answering(sound, lambda answer, _request: {"results": rows_of(answer), "sources": list(reports)})
