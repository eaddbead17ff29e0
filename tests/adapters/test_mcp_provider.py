"""What ``MCPProvider`` asks, what it makes of each shape of an answer, and what it says of itself."""

import ast
import asyncio
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import mcp_subjects as subjects
import pytest
from mcp.server import MCPServer
from mcp.types import (
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)
from mcp_subjects import BASES, NAMES, SECRET, ask, ids, over
from pydantic import BaseModel, ValidationError

import knowledge_adapters.mcp_provider
from knowledge_adapters.mcp_provider import MCPProvider
from knowledge_fakes.handbook import load_handbook
from knowledge_fakes.vendors.mcp_service import SHAPES, ToolService
from knowledge_fakes.vendors.serving import serving
from knowledge_provider import CancelSignal, ProviderDescription, RetrievalContext, RetrievalRequest, errors
from knowledge_provider.answers import AnswerFields

ADAPTER = Path(str(knowledge_adapters.mcp_provider.__file__))
DOCS = Path(__file__).parents[2] / "docs" / "adapters-mcp.md"
RECORDS: list[dict[str, Any]] = [{"id": "a", "content": "first"}, {"id": "b", "content": "second"}]


def found(query: str = "release policy", **fields: Any) -> list[dict[str, Any]]:
    """What the handbook itself gives."""
    return load_handbook().search(RetrievalRequest(query=query, **fields))


def toolbox(answer: Any, **options: Any) -> MCPServer:
    """A server of the SDK's own, with one tool that gives ``answer`` and knows what type that is."""
    server = MCPServer("any")
    kind = options.pop("returns", type(answer))

    async def search(query: str) -> Any:
        return answer

    search.__annotations__["return"] = kind
    server.tool(**options)(search)
    return server


# The call


def test_a_tool_is_asked_for_what_it_takes() -> None:
    """By its own names; parts of a request that it has no name for are not sent, and nothing of the context is."""
    service = ToolService()
    ask(over(service, arguments={"query": "query"}), "sick leave")
    ask(over(service, arguments=NAMES, knowledge_bases=BASES), "leave", top_k=2, filters={"department": "people"})
    assert service.seen == [
        {"query": "sick leave"},
        {
            "query": "leave",
            "top_k": 2,
            "knowledge_base_ids": ["engineering", "people"],
            "filters": {"department": "people"},
        },
    ]


def test_by_default_it_is_asked_for_the_query_alone() -> None:
    """Many a server refuses arguments that it does not know."""
    service = ToolService()
    assert len(ask(MCPProvider(service.server, tool="search", key="k", label="L"), top_k=1)) == 1
    assert service.seen == [{"query": "release policy"}]


def test_bases_go_through_the_table() -> None:
    """Clause 3.4: those asked for by the server's ids; an unknown one is refused and not sent."""
    service = ToolService()
    provider = over(service, arguments=NAMES, knowledge_bases=BASES)
    ask(provider, "leave", knowledge_base_ids=["staff", "elsewhere"])
    assert service.seen[0]["knowledge_base_ids"] == ["people"]
    with pytest.raises(errors.KnowledgeBaseUnknownError):
        ask(over(service, arguments=NAMES, knowledge_bases=BASES), knowledge_base_ids=["people"])
    with pytest.raises(errors.KnowledgeBaseUnknownError):
        ask(over(service), knowledge_base_ids=["staff"])
    assert len(service.seen) == 1


def test_filters_are_sent_where_the_tool_takes_them_and_refused_elsewhere() -> None:
    """Clause 3.5: also when the tool itself refuses one, by the contract's own code."""
    service = ToolService()
    with pytest.raises(errors.KnowledgeFiltersUnsupportedError):
        ask(over(service), filters={"department": "people"})
    assert service.seen == []
    with pytest.raises(errors.KnowledgeFiltersUnsupportedError):
        ask(over(service, arguments={"query": "query", "filters": "filters"}), filters={"no such field": 1})


def test_the_owner_comes_from_the_context_and_stands_over_the_request() -> None:
    """Clause 4.2: whatever the request's filters hold."""
    service = ToolService(tenants=subjects.OWNERS)
    options = {"arguments": {"query": "query", "filters": "tenant"}, "scope": lambda context: {"tenant": "bob"}}
    results = ask(over(service, **options), "sick leave", filters={"tenant": "alice"})
    assert {each.partition("#")[0] for each in ids(results)} == {"holidays"}
    assert service.seen == [{"query": "sick leave", "tenant": "bob"}]


def test_a_blank_owner_and_a_scope_that_gives_nothing_are_refused() -> None:
    """Clause 4.4: an owner that is not told is every owner."""
    blank = RetrievalContext.model_construct(owner_id=" ", signal=CancelSignal())
    with pytest.raises(errors.KnowledgeOwnerRequiredError):
        asyncio.run(subjects.tenants().retrieve(RetrievalRequest(query="any"), blank))
    with pytest.raises(errors.KnowledgeFailedError, match="scope"):
        ask(over(ToolService(), scope=lambda _: {}))
    with pytest.raises(errors.KnowledgeFailedError, match="scope raised RuntimeError"):
        ask(over(ToolService(), scope=lambda _: (_ for _ in ()).throw(RuntimeError(SECRET))))


# Shapes


@pytest.mark.parametrize("shape", [name for name in SHAPES if name not in ("resources", "passages")])
def test_every_shape_gives_the_same_results(shape: str) -> None:
    """Structured or text, wrapped, split or encoded twice, between images: ids, order, contents, sources."""
    results = ask(over(ToolService(shape), score_kind="similarity", citations=True))
    wanted = found()
    assert ids(results) == [each["id"] for each in wanted]
    for result, each in zip(results, wanted, strict=True):
        assert result.model_dump(by_alias=True, exclude_none=True) == each


@pytest.mark.parametrize("shape", SHAPES)
def test_nothing_found_is_an_empty_answer_in_every_shape_that_can_say_it(shape: str) -> None:
    """Clause 3.7: a list that is split over no blocks is empty; where only a remark is left, nobody can tell."""
    provider = over(ToolService(shape), text_as="passage" if shape == "passages" else None)
    if shape == "resources":
        with pytest.raises(errors.KnowledgeInvalidResponseError):
            ask(provider, "zzqx nonsense 9731")
    else:
        assert ask(provider, "zzqx nonsense 9731") == []


@pytest.mark.parametrize("shape", ["list", "split"])
def test_a_list_of_one_is_a_list(shape: str) -> None:
    """Split over blocks, it looks like one record."""
    assert ids(ask(over(ToolService(shape)), top_k=1)) == ["release-handbook#approvals"]


def test_documents_are_results_with_their_places() -> None:
    """Field case 27: embedded resources; text beside them is a remark, and an image has none."""
    results = ask(over(ToolService("resources")))
    assert [result.content for result in results] == [each["content"] for each in found()]
    assert [result.source.uri for result in results if result.source] == [each["source"]["uri"] for each in found()]
    assert len({*ids(results)}) == len(results)


def test_a_link_and_an_image_beside_a_document_cost_it_nothing() -> None:
    """Field case 27: the document's text is the one result, at its own place, which is no address for a browser."""
    blocks = [
        TextContent(text="downloaded OK"),
        EmbeddedResource(resource=TextResourceContents(uri="kb://doc/7", mime_type="text/plain", text="real body")),
        ResourceLink(uri="https://docs.example.com/7", name="Doc 7"),
        ImageContent(data="AA==", mime_type="image/png"),
    ]
    answer = CallToolResult(content=blocks)
    [result] = ask(over(toolbox(answer, returns=CallToolResult), arguments={"query": "query"}))
    assert result.content == "real body"
    assert result.source is not None
    assert (result.source.uri, result.source.locator) == (None, "kb://doc/7")


def test_texts_are_passages_where_the_user_says_so() -> None:
    """With ids made from them, the same each time."""
    results = ask(subjects.passages())
    assert [result.content for result in results] == [each["content"] for each in found()]
    assert ids(results) == ids(ask(subjects.passages()))


def test_a_text_that_is_json_by_chance_stays_a_passage() -> None:
    """``text_as`` means every text."""
    [result] = ask(over(toolbox('{"a": 1}'), text_as="passage"))
    assert result.content == '{"a": 1}'


class Passage(BaseModel):
    id: str
    content: str


class Answer(BaseModel):
    results: list[Passage]


MODELS = [Passage(**record) for record in RECORDS]


@pytest.mark.parametrize(
    ("answer", "options"),
    [
        (Answer(results=MODELS), {}),
        ({"results": RECORDS}, {"returns": dict[str, Any]}),
        (MODELS, {"returns": list[Passage]}),
        (RECORDS, {"returns": list[dict[str, Any]]}),
        (RECORDS, {"structured_output": False}),
        ([Answer(results=MODELS).model_dump_json()], {"structured_output": False}),
        ([record.model_dump_json() for record in MODELS], {"returns": list[str]}),
        (Answer(results=MODELS).model_dump_json(), {}),
        (Answer(results=MODELS).model_dump_json(), {"structured_output": False}),
    ],
    ids=["model", "dict", "models", "dicts", "split", "text", "texts", "wrapped text", "plain text"],
)
def test_what_the_sdks_own_server_makes_of_a_return_value_is_read(answer: Any, options: dict[str, Any]) -> None:
    """So that the scripted shapes are not only ours."""
    results = ask(over(toolbox(answer, **options), arguments={"query": "query"}))
    assert [(result.id, result.content) for result in results] == [("a", "first"), ("b", "second")]


def test_an_answer_in_structured_form_alone_is_read() -> None:
    """Field case 23: where the list of blocks is empty, as the SDK makes it of a result that has one."""
    answer = CallToolResult(content=[], structured_content={"results": RECORDS})
    results = ask(over(toolbox(answer, returns=CallToolResult), arguments={"query": "query"}))
    assert [(result.id, result.content) for result in results] == [("a", "first"), ("b", "second")]


def test_one_record_is_an_answer() -> None:
    """Of a tool that gives the best one."""
    assert ids(ask(over(toolbox(MODELS[0]), arguments={"query": "query"}))) == ["a"]


def test_a_shape_of_the_tools_own_is_named_by_fields() -> None:
    """The vocabulary is that of the HTTP adapter; a distance is negated."""
    item = {"chunk": 17, "text": "Refunds take 14 days.", "doc": {"path": "finance/refunds.md"}, "distance": 0.25}
    fields = AnswerFields(results="result.items", id="chunk", content="text", uri="doc.path", score="distance")
    server = toolbox({"result": {"items": [item]}}, returns=dict[str, Any])
    [result] = ask(over(server, fields=fields, score_kind="distance", arguments={"query": "query"}))
    assert (result.id, result.content, result.score) == ("17", "Refunds take 14 days.", -0.25)
    assert result.source is not None
    assert result.source.locator == "finance/refunds.md"


def test_a_json_document_is_read_and_other_documents_are_not() -> None:
    """By the type that the resource says it has."""
    held = TextResourceContents(uri="kb://found", mime_type="application/json", text='{"results": []}')
    answer = CallToolResult(content=[EmbeddedResource(resource=held)])
    assert ask(over(toolbox(answer, returns=CallToolResult), arguments={"query": "query"})) == []
    held = TextResourceContents(uri="kb://doc/7", mime_type="text/plain", text='{"results": []}')
    answer = CallToolResult(content=[TextContent(text="downloaded OK"), EmbeddedResource(resource=held)])
    [result] = ask(over(toolbox(answer, returns=CallToolResult), arguments={"query": "query"}))
    assert result.content == '{"results": []}'
    assert result.source is not None
    assert (result.source.uri, result.source.locator) == (None, "kb://doc/7")


def test_more_blocks_than_anyone_reads_are_not_read() -> None:
    """Rule N2: eight for each result that was asked for."""
    answer = [f'{{"id": "{n}", "content": "text"}}' for n in range(1000)]
    results = ask(over(toolbox(answer, structured_output=False), arguments={"query": "query"}), top_k=2)
    assert ids(results) == ["0", "1"]


def test_over_http_the_answer_is_the_same() -> None:
    """By events, by JSON, and without sessions."""
    for options in ({}, {"json_response": True}, {"json_response": True, "stateless": True}):
        service = ToolService("list", token=SECRET)
        with serving(service.app(**options)) as url:
            results = ask(over(f"{url}/mcp", headers={"Authorization": f"Bearer {SECRET}"}))
        assert ids(results) == [each["id"] for each in found()]


# Itself


def test_the_description_says_what_it_was_given() -> None:
    """Clauses 1.7 and 1.9."""
    assert subjects.model().describe() == ProviderDescription(
        protocol_version=1,
        key="mcp",
        label="Tool",
        capabilities={"filters": True, "scores": True, "citations": True},
    )
    provider = subjects.passages()
    provider.describe().capabilities["scores"] = True
    assert provider.describe().capabilities == {"filters": False, "scores": False, "citations": False}


@pytest.mark.parametrize(
    "options",
    [
        {"server": "kb.example.com"},
        {"server": f"https://user:{SECRET}@kb.example.com/mcp"},
        {"server": "https://kb.example.com/mcp", "headers": {"X-API-Key": f"{SECRET}\n"}},
        {"headers": {"X-API-Key": SECRET}},
        {"http_client": object},
        {"arguments": {"top_k": "k"}},
        {"arguments": {"query": "q", "owner_id": "o"}},
        {"knowledge_bases": {"a": "b"}},
        {"arguments": NAMES},
        {"text_as": "passage", "score_kind": "similarity"},
        {"key": "Not A Key"},
        {"label": " "},
    ],
)
def test_what_cannot_work_is_refused_when_it_is_made(options: dict[str, Any]) -> None:
    """Not at the first turn, and without repeating a secret."""
    with pytest.raises(ValueError, match=r".") as caught:
        over(options.pop("server", ToolService().server), **options)
    assert SECRET not in subjects.said(caught.value)
    assert isinstance(caught.value, ValidationError) or "wanted" in str(caught.value)


def test_its_repr_shows_no_credential() -> None:
    """Clause 6.4."""
    assert SECRET not in repr(over("https://kb.example.com/mcp", headers={"X-API-Key": SECRET}))


def test_health_asks_the_server_for_its_tools() -> None:
    """Clause 2.1: a tool that is not there is a mistake in the settings; what cannot be reached is unavailable."""

    async def status(provider: MCPProvider) -> str:
        try:
            return (await provider.health()).status
        finally:
            await provider.close()

    assert asyncio.run(status(over(ToolService()))) == "ready"
    assert asyncio.run(status(over(ToolService(), tool="find"))) == "unconfigured"
    assert asyncio.run(status(over("http://127.0.0.1:9/mcp"))) == "unavailable"


# The file and the page


def test_the_file_is_short_and_imports_of_ours_the_contract_alone() -> None:
    """So that it can be copied alone, and read before."""
    source = ADAPTER.read_text(encoding="utf-8")
    tree = ast.parse(source)
    imported = {node.module for node in tree.body if isinstance(node, ast.ImportFrom) and node.module}
    assert {name.partition(".")[0] for name in imported} - set(sys.stdlib_module_names) == {"knowledge_provider"}
    assert len(source.splitlines()) <= 250


def test_a_copy_of_it_imports_where_there_is_no_mcp(tmp_path: Path) -> None:
    """And says what is missing when a provider is made."""
    shutil.copy(ADAPTER, tmp_path / "my_search.py")
    program = """
import sys
sys.modules["mcp"] = None
from my_search import MCPProvider
try: MCPProvider("https://kb.example.com/mcp", tool="search", key="k", label="L")
except ImportError as error: print(error.name)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert ended.stdout == "mcp\n"


EXAMPLES = re.findall(r"^```python\n(.*?)^```$", DOCS.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_of_the_page_runs_alone(example: str, capsys: pytest.CaptureFixture[str]) -> None:
    """And prints what its last comment says."""
    exec(compile(example, str(DOCS), "exec"), {"__name__": "__main__"})
    printed = capsys.readouterr().out.splitlines()
    assert printed
    assert printed == re.findall(r"^# prints: (.*)$", example, re.MULTILINE)
