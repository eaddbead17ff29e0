"""``LlamaIndexProvider`` over LlamaIndex's own index: requests, context, description, the file and its page."""

import ast
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llama_index_subjects as subjects
import pytest
from llama_index_subjects import SECRET, Answering, Counting, ask, node, over

import knowledge_adapters.llama_index_provider as module
from knowledge_adapters.llama_index_provider import LlamaIndexProvider
from knowledge_fakes.handbook import load_handbook
from knowledge_provider import ProviderDescription, RetrievalRequest, Source

ADAPTER = Path(module.__file__)
DOCS = Path(__file__).parents[2] / "docs" / "adapters-llama-index.md"
QUIET = pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")


# Over the index and the handbook's own search


def test_an_index_answers_with_scores_that_never_increase() -> None:
    """Clause 5.4, with what the metadata say about the source kept out of the metadata."""
    results = ask(subjects.vector_index(), top_k=4)
    numbers = [result.score or 0.0 for result in results]
    assert numbers == sorted(numbers, reverse=True)
    assert numbers[-1] > 0
    assert results[0].id == "release-handbook#approvals"
    assert results[0].source == Source(
        id="release-handbook", title="Release handbook", uri="https://handbook.example.com/release-handbook"
    )
    assert results[0].metadata == load_handbook().passages[results[0].id].metadata


@pytest.mark.parametrize("make", [subjects.asynchronous, subjects.synchronous])
def test_a_scripted_retriever_answers_as_the_handbook_does(make: Callable[[], LlamaIndexProvider]) -> None:
    """The ids, their order and the contents are those of the handbook's own search."""
    for query in ("release policy", "lost laptop", "报销需要收据"):
        request = RetrievalRequest(query=query)
        wanted = [(found["id"], found["content"]) for found in load_handbook().search(request)]
        assert [(result.id, result.content) for result in ask(make(), query)] == wanted


@QUIET
@pytest.mark.parametrize("query", ["🙂", "';--", "𓂀", "zzqx"])
def test_a_query_that_has_no_word_in_common_finds_nothing(query: str) -> None:
    """Clauses 3.2 and 3.7: LlamaIndex's cosine divides by zero then, and that is no failure."""
    assert ask(subjects.vector_index(), query) == []


@pytest.mark.parametrize("own", [0, 1, 2, 50])
@pytest.mark.parametrize("top_k", [1, 5, 8])
def test_the_index_is_asked_for_as_many_as_the_request_wants(own: int, top_k: int) -> None:
    """Clause 3.3: over the retriever's own number, where 0 would mean everything and 2 is the default."""
    store = Counting()
    index = subjects.index_of([node(str(number), text=f"release policy {number}") for number in range(10)], store)
    retriever: Any = index.as_retriever(similarity_top_k=own)
    assert len(ask(over(retriever), top_k=top_k)) == top_k
    assert store.numbers == [top_k]
    assert retriever.similarity_top_k == own


@QUIET
def test_nothing_is_sent_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """No socket is even opened, and no model of LlamaIndex's defaults is asked for."""
    reached: list[object] = []
    monkeypatch.setattr(socket.socket, "connect", lambda _, address: reached.append(address))
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *_, **__: reached.append(host))
    for make in (subjects.vector_index, subjects.asynchronous, subjects.synchronous):
        assert ask(make())
    assert reached == []


# Identity


def test_the_description_is_equal_each_time_whatever_is_done_to_it() -> None:
    """Clauses 1.2 and 1.7."""
    provider = subjects.vector_index()
    described = provider.describe()
    described.capabilities["filters"] = False
    capabilities = {"filters": True, "scores": True, "citations": True}
    assert provider.describe() == ProviderDescription(
        protocol_version=1, key="handbook", label="Handbook", capabilities=capabilities
    )


@pytest.mark.parametrize("options", [{"key": "Not A Key"}, {"key": "k\n"}, {"label": " "}])
def test_a_bad_key_or_label_is_refused_when_it_is_made(options: dict[str, str]) -> None:
    """Clauses 1.4 and 1.5: not at the first turn."""
    with pytest.raises(ValueError, match="validation error"):
        over(Answering(), **options)


def test_a_misspelt_kind_of_score_is_refused_when_it_is_made() -> None:
    """It would turn the ranking round, or leave the scores out."""
    with pytest.raises(KeyError):
        over(Answering(), score_kind="cosine")


def test_its_repr_shows_nothing_of_the_retriever() -> None:
    """Clause 6.4: a retriever's own may show its connection."""

    class Leaky(Answering):
        def __repr__(self) -> str:
            return SECRET

    assert SECRET not in repr(over(Leaky()))


# The file and the page


def test_the_file_is_short_and_imports_of_ours_the_contract_alone() -> None:
    """So that it can be copied alone, and read before."""
    source = ADAPTER.read_text(encoding="utf-8")
    tree = ast.parse(source)
    imported = {each.module for each in ast.walk(tree) if isinstance(each, ast.ImportFrom) and each.module}
    roots = {name.partition(".")[0] for name in imported} - set(sys.stdlib_module_names)
    assert roots == {"knowledge_provider", "llama_index"}
    assert len(source.splitlines()) <= 150


def test_a_copy_of_it_works_and_brings_no_model_along(tmp_path: Path) -> None:
    """LlamaIndex is imported by its user; the file adds none of its embeddings, and none of its integrations."""
    shutil.copy(ADAPTER, tmp_path / "my_search.py")
    program = """
import asyncio, sys
import my_search
assert not [name for name in sys.modules if name.startswith("llama_index")]
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode
from knowledge_provider import RetrievalContext, RetrievalRequest
class Handbook(BaseRetriever):
    def _retrieve(self, query): return [NodeWithScore(node=TextNode(text="found " + query.query_str))]
provider = my_search.LlamaIndexProvider(Handbook(), key="k", label="L")
print(asyncio.run(provider.retrieve(RetrievalRequest(query="q"), RetrievalContext(owner_id="o")))[0].content)
theirs = (name.split(".")[:2] for name in sys.modules if name.startswith("llama_index."))
print([name for name in theirs if name != ["llama_index", "core"]])
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert ended.stdout == "found q\n[]\n"


EXAMPLES = re.findall(r"^```python\n(.*?)^```$", DOCS.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_of_the_page_runs_alone(example: str, capsys: pytest.CaptureFixture[str]) -> None:
    """And prints what its last comment says."""
    exec(compile(example, str(DOCS), "exec"), {"__name__": "__main__"})
    printed = capsys.readouterr().out.splitlines()
    assert printed
    assert printed == re.findall(r"^# prints: (.*)$", example, re.MULTILINE)
