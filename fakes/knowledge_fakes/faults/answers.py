"""Mistakes in what an answer looks like; knows clauses 5.1 to 5.6 of the contract, no way of catching them."""

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from knowledge_fakes.faults._changing import (
    Row,
    answering,
    claiming,
    rows_of,
    with_each,
    with_last,
    with_metadata,
    with_rows,
    with_source,
)
from knowledge_fakes.faults._fault import fault


@dataclass
class VendorDocument:
    """What a vendor's client returns: right to read for a person, and nothing that a host knows."""

    page_content: str


# Clause 5.1: the container.


@fault("KP-501", fragment="generator object")
def generator_answer(sound: Any) -> Any:
    """retrieve() yields its results one by one, and a host that wants a list reads none of them."""
    return answering(sound, lambda answer, _request: (row for row in rows_of(answer)))


@fault("KP-501", fragment="a mapping whose results are None")
def answer_under_another_key(sound: Any) -> Any:
    """The results stand under "documents", as the vendor calls them."""
    return answering(sound, lambda answer, _request: {"documents": rows_of(answer)})


@fault("KP-501", fragment="None")
def answer_is_forgotten(sound: Any) -> Any:
    """retrieve() ends without return."""
    return answering(sound, lambda _answer, _request: None)


@fault("KP-501", fragment="a mapping whose results are {")
def results_by_id(sound: Any) -> Any:
    """The results are a dictionary by id instead of a list, so the ranking is lost and a host reads nothing."""
    return answering(sound, lambda answer, _request: {"results": {row["id"]: row for row in rows_of(answer)}})


@fault("KP-502", "KP-513", "KP-517", fragment="VendorDocument object")
def vendor_documents(sound: Any) -> Any:
    """The vendor's own documents are passed on, and a host skips each of them."""
    return with_each(sound, lambda row: VendorDocument(row["content"]))


@fault("KP-502", fragment="results[")
def a_note_among_the_results(sound: Any) -> Any:
    """The last item of a list is a text for people: "and more"."""
    return with_last(sound, lambda _row: "and more")


@fault("KP-517", "KP-502", fragment="none after normalising")
def bare_texts(sound: Any) -> Any:
    """The answer is a list of texts without ids, none of which a host can read."""
    return with_each(sound, lambda row: row["content"])


# Clauses 5.2 and 5.3: id and content.


@fault("KP-503", fragment=".content of")
def blank_content(sound: Any) -> Any:
    """A scanned page has no text, and is returned with nothing but a line end."""
    return with_last(sound, lambda row: {**row, "content": "\n"})


@fault("KP-503", fragment="id with something visible in it")
def numeric_ids(sound: Any) -> Any:
    """The ids are the database's integers."""
    return with_rows(sound, lambda rows: [{**row, "id": number} for number, row in enumerate(rows, start=1)])


@fault("KP-503", "KP-517", fragment="{'type': 'text'")
def content_in_blocks(sound: Any) -> Any:
    """The content is the vendor's list of blocks instead of its text."""
    return with_each(sound, lambda row: {**row, "content": [{"type": "text", "text": row["content"]}]})


@fault("KP-503", fragment="none")
def missing_id(sound: Any) -> Any:
    """The back end gives no ids, and the provider makes none."""
    return with_last(sound, lambda row: {name: value for name, value in row.items() if name != "id"})


@fault("KP-504", "KP-516", fragment="content of at most 4000 characters")
def whole_documents(sound: Any) -> Any:
    """A whole document is returned as one passage, of which a host keeps the beginning."""
    return with_each(sound, lambda row: {**row, "content": f"{row['content']} " * (4001 // len(row["content"]) + 1)})


@fault("KP-504", fragment="id of at most 160 characters")
def overlong_ids(sound: Any) -> Any:
    """The id is a path with the whole title in it, and a host cuts it."""
    return with_each(sound, lambda row: {**row, "id": f"{row['id']}/{'chapter/' * 20}"})


@fault("KP-505", fragment="the aliases chunk_id, text")
def vendor_field_names(sound: Any) -> Any:
    """The fields keep the vendor's names, chunk_id and text, which only some hosts read."""

    def renamed(row: Row) -> Row:
        rest = {name: value for name, value in row.items() if name not in ("id", "content")}
        return {"chunk_id": row["id"], "text": row["content"], **rest}

    return with_each(sound, renamed)


@fault("KP-505", fragment="the aliases title, mime_type")
def source_beside_the_result(sound: Any) -> Any:
    """The document's title and media type stand on the result itself, where only some hosts look for them."""
    return with_each(sound, lambda row: {**row, "title": "Approvals", "mime_type": "text/markdown"})


@fault("KP-505", fragment="the aliases chunkId, text")
def aliases_beside_a_citation(sound: Any) -> Any:
    """An outcome of another host is passed on, citation and all, under the vendor's names."""

    def renamed(row: Row) -> Row:
        rest = {name: value for name, value in row.items() if name not in ("id", "content")}
        return {
            "chunkId": row["id"],
            "text": row["content"],
            "url": "https://a.example.com/x",
            "citation_id": "1",
            **rest,
        }

    return with_each(sound, renamed)


@fault("KP-506", fragment="at places 0 and 1")
def duplicate_ids(sound: Any) -> Any:
    """Every passage has its document's id, so a host keeps one passage of each document."""
    return with_each(sound, lambda row: {**row, "id": "handbook"})


@fault("KP-506", fragment="a different id for each result")
def ids_that_differ_by_space(sound: Any) -> Any:
    """Two ids differ in nothing but their white space, which a host folds."""
    return with_rows(sound, lambda rows: [{**row, "id": "page" + " " * at + " 1"} for at, row in enumerate(rows)])


# Clause 5.4: scores.


@fault("KP-507", fragment="nan")
def nan_score(sound: Any) -> Any:
    """The similarity to an empty vector is NaN, which is not JSON and compares with nothing."""
    return with_last(sound, lambda row: {**row, "score": math.nan})


@fault("KP-507", fragment="'0.9'")
def score_is_text(sound: Any) -> Any:
    """The score is a text, as the back end sent it."""
    return with_each(sound, lambda row: {**row, "score": "0.9"})


@fault("KP-507", fragment="True")
def score_is_a_boolean(sound: Any) -> Any:
    """The score is whether the passage matched."""
    return with_each(sound, lambda row: {**row, "score": True})


@fault("KP-507", "KP-513", fragment="Decimal object")
def decimal_score(sound: Any) -> Any:
    """The score is the database's Decimal, which json does not write."""
    return with_each(sound, lambda row: {**row, "score": Decimal("0.9")})


@fault("KP-508", fragment="a score on every result")
def scores_without_scores(sound: Any) -> Any:
    """Scores are claimed, and the retriever in use gives none."""
    bare = with_each(sound, lambda row: {name: value for name, value in row.items() if name != "score"})
    return claiming(bare, "scores")


@fault("KP-509", fragment="each score at most the one before")
def distance_as_score(sound: Any) -> Any:
    """The score is the store's distance, so the best result has the lowest."""
    return with_rows(sound, lambda rows: [{**row, "score": at / 8} for at, row in enumerate(rows)])


# Clauses 5.5 and 5.6: source and metadata.


@fault("KP-510", "KP-603", fragment="'handbook.pdf'")
def source_is_a_name(sound: Any) -> Any:
    """The source is a file's name instead of a mapping."""
    return with_each(sound, lambda row: {**row, "source": "handbook.pdf"})


@fault("KP-510", fragment="source.locator")
def page_number_as_locator(sound: Any) -> Any:
    """The locator is a page number, and not a text such as "page 12"."""
    return with_source(sound, locator=12)


@fault("KP-511", "KP-516", fragment="source.locator")
def overlong_locator(sound: Any) -> Any:
    """The locator is a quotation of the passage, and a host cuts it to something that is found nowhere."""
    return with_source(sound, locator="section " + "approvals and their exceptions, " * 12)


@fault("KP-512", "KP-513", "KP-516", fragment="'embedding': [")
def embedding_in_metadata(sound: Any) -> Any:
    """The passage's vector is left in the metadata, long enough to fill a model's context."""
    return with_metadata(sound, embedding=[0.125] * 1536)


@fault("KP-512", "KP-516", fragment="'author': None")
def nulls_in_metadata(sound: Any) -> Any:
    """Empty columns are copied into the metadata."""
    return with_metadata(sound, author=None)


@fault("KP-512", fragment="characters)")
def summary_in_metadata(sound: Any) -> Any:
    """A whole summary stands in the metadata, and a host cuts it."""
    return with_metadata(sound, summary="Approvals and their exceptions. " * 20)


@fault("KP-512", "KP-516", fragment="at most 16 entries")
def every_column_in_metadata(sound: Any) -> Any:
    """Each column of the table becomes metadata, the internal ones too."""
    return with_metadata(sound, **{f"column_{number}": number for number in range(20)})
