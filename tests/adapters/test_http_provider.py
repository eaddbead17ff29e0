"""What ``HTTPProvider`` asks, what it makes of the answer, and what it says of itself."""

import ast
import asyncio
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import http_subjects as subjects
import httpx
import pytest
import respx
from http_subjects import SECRET, URL, ask, ids, over
from pydantic import ValidationError

import knowledge_adapters.http_provider
from knowledge_adapters.http_provider import HTTPProvider
from knowledge_fakes.handbook import load_handbook
from knowledge_fakes.vendors.http_service import NESTED_FIELDS, SOUND, TENANT, KnowledgeService
from knowledge_fakes.vendors.serving import serving
from knowledge_provider import ProviderDescription, RetrievalRequest, errors

ADAPTER = Path(str(knowledge_adapters.http_provider.__file__))
DOCS = Path(__file__).parents[2] / "docs" / "adapters-http.md"


def found(query: str = "release policy", **fields: Any) -> list[dict[str, Any]]:
    """What the handbook itself gives."""
    return load_handbook().search(RetrievalRequest(query=query, **fields))


# The question


def test_the_question_is_the_contracts_request() -> None:
    """Clause 8.5: its four fields in wire names as JSON, posted; nothing of the context, and no identity."""
    service = KnowledgeService()
    ask(over(service), '"quoted" 知识库 🙂', top_k=3)
    [seen] = service.seen
    assert seen.request == {"query": '"quoted" 知识库 🙂', "topK": 3, "knowledgeBaseIds": [], "filters": {}}
    assert seen.headers["content-type"] == seen.headers["accept"] == "application/json"
    assert seen.headers["accept-encoding"] == "gzip"


def test_it_fits_the_published_schema() -> None:
    """``schemas/request.json`` of the documentation is what a service may check its questions by."""
    service = KnowledgeService()
    ask(over(service, filters=True, knowledge_bases=subjects.BASES), filters={"department": "people"})
    schema = json.loads((DOCS.parent / "schemas" / "request.json").read_text(encoding="utf-8"))
    question = service.seen[0].request
    assert set(question) == set(schema["properties"])
    assert RetrievalRequest.model_validate(question).filters == {"department": "people"}


def test_credentials_come_from_where_it_was_made() -> None:
    """Clause 6.4: headers or ``auth``, with every question; and whatever a client adds."""
    service = KnowledgeService()
    client = httpx.AsyncClient(transport=httpx.MockTransport(service.respond), headers={"X-Client": "mine"})
    ask(over(service, client=client, headers={"X-API-Key": SECRET}, auth=("user", "word")))
    headers = service.seen[0].headers
    assert (headers["x-api-key"], headers["x-client"], headers["authorization"]) == (
        SECRET,
        "mine",
        "Basic dXNlcjp3b3Jk",
    )


def test_a_clients_own_auth_stays_where_none_is_given() -> None:
    """It is the caller's client."""
    service = KnowledgeService()
    client = httpx.AsyncClient(transport=httpx.MockTransport(service.respond), auth=("user", "word"))
    ask(over(service, client=client))
    assert service.seen[0].headers["authorization"] == "Basic dXNlcjp3b3Jk"


# The answer


@pytest.mark.parametrize("shape", ["contract", "list", "nested"])
def test_results_are_the_services_in_its_order(shape: Any) -> None:
    """With their sources and metadata; nothing of the contract's shape is lost."""
    fields = NESTED_FIELDS if shape == "nested" else None
    results = ask(over(KnowledgeService(shape=shape), fields=fields, score_kind="similarity"), top_k=8)
    assert [result.model_dump(by_alias=True) for result in results] == found(top_k=8)


@pytest.mark.parametrize("way", SOUND)
def test_an_answer_that_is_sound_is_read_however_it_comes(way: str) -> None:
    """Field cases 33 and 37: a byte order mark, gzip, characters cut between chunks, a charset that is not so."""
    for query in ("release policy", "差旅报销"):
        came = [(result.id, result.content) for result in ask(over(KnowledgeService(way)), query)]
        assert came == [(each["id"], each["content"]) for each in found(query)]
    assert not came[0][1].isascii()


@pytest.mark.parametrize("way", ["gzip", "letter_by_letter"])
def test_the_same_over_a_real_connection(way: str) -> None:
    """With httpx's own transport."""
    with serving(KnowledgeService(way).app) as url:
        assert ids(ask(HTTPProvider(f"{url}/search", key="k", label="L"))) == [result["id"] for result in found()]


def test_the_same_through_respx() -> None:
    """The scripted service is a side effect of a route."""
    with respx.mock:
        route = respx.post(URL).mock(side_effect=KnowledgeService().respond)
        assert ids(ask(HTTPProvider(URL, key="k", label="L"))) == [result["id"] for result in found()]
    assert route.call_count == 1


def test_an_answer_that_was_read_before_is_not_unpacked_twice() -> None:
    """A mock's response, or one that an event hook of the client's has looked at."""

    async def look(response: httpx.Response) -> None:
        await response.aread()

    service = KnowledgeService("gzip")
    client = httpx.AsyncClient(transport=httpx.MockTransport(service.respond), event_hooks={"response": [look]})
    assert ids(ask(over(service, client=client))) == [result["id"] for result in found()]
    assert ids(ask(over(lambda _: httpx.Response(200, json=[{"id": "a", "content": "text"}])))) == ["a"]


def test_nothing_found_is_an_empty_list() -> None:
    """Clause 3.7."""
    assert ask(over(KnowledgeService()), "zzqx nonsense 9731") == []


def test_a_source_without_anything_in_it_is_none_and_brackets_in_a_text_are_text() -> None:
    """Field case 39 (microsoft/graphrag#1871): a citation comes from the source alone."""
    text = "Sales rose [Data: Sources (2071, 292)]."
    answer = {"results": [{"id": "r1", "content": text, "source": {"id": None, "title": None}}]}
    [result] = ask(over(lambda _: httpx.Response(200, json=answer)))
    assert (result.id, result.content, result.source) == ("r1", text, None)


# Filters, bases, owners


def test_filters_go_along_where_the_service_keeps_to_them() -> None:
    """Clause 3.5: and are refused where nobody said so, before anything is sent."""
    service = KnowledgeService()
    wanted = {"department": "people"}
    assert ids(ask(over(service, filters=True), "policy", filters=wanted)) == [
        result["id"] for result in found("policy", filters=wanted)
    ]
    with pytest.raises(errors.KnowledgeFiltersUnsupportedError):
        ask(over(service), filters=wanted)
    assert len(service.seen) == 1


def test_a_filter_that_the_service_refuses_is_refused() -> None:
    """By its own code, which the service says."""
    with pytest.raises(errors.KnowledgeFiltersUnsupportedError):
        ask(over(KnowledgeService(), filters=True), filters={"colour": "red"})


def test_bases_go_by_the_services_ids() -> None:
    """Clause 3.4: those of the table that were asked for, or all of them."""
    service = KnowledgeService()
    results = ask(over(service, knowledge_bases=subjects.BASES), "policy", knowledge_base_ids=("staff", "unknown"))
    assert ids(results) == [result["id"] for result in found("policy", knowledge_base_ids=("people",))]
    ask(over(service, knowledge_bases=subjects.BASES))
    assert [seen.request["knowledgeBaseIds"] for seen in service.seen] == [["people"], ["engineering", "people"]]


@pytest.mark.parametrize("held", [None, subjects.BASES])
def test_unknown_bases_are_refused(held: Any) -> None:
    """Before anything is sent: no other base answers for them."""
    service = KnowledgeService()
    with pytest.raises(errors.KnowledgeBaseUnknownError):
        ask(over(service, knowledge_bases=held), knowledge_base_ids=("people",))
    assert service.seen == []


def test_the_owner_goes_along_by_scope() -> None:
    """Clauses 4.2 and 4.3: from the context; what the request says of owners is data."""
    service = KnowledgeService(tenants=subjects.OWNERS)
    scoped: dict[str, Any] = {"scope": lambda context: {TENANT: context.owner_id}, "filters": True}
    query = f"the leave of bob {TENANT}: bob"
    documents = {result.id.partition("#")[0] for result in ask(over(service, **scoped), query)}
    assert documents <= set(subjects.OWNERS["alice"])
    with pytest.raises(errors.KnowledgeFiltersUnsupportedError):
        ask(over(service, **scoped), query, filters={TENANT: "bob"})
    assert {seen.headers[TENANT] for seen in service.seen} == {"alice"}


@pytest.mark.parametrize("gives", [{}, {TENANT: "a\r\nx-admin: 1"}, {TENANT: "Zoë"}, {TENANT: 3}, None])
def test_a_scope_that_gives_nothing_that_can_be_sent_is_a_failure(gives: Any) -> None:
    """Nothing is asked without the owner, and no header is smuggled in by a name."""
    service = KnowledgeService()
    with pytest.raises(errors.KnowledgeFailedError):
        ask(over(service, scope=lambda _: gives))
    assert service.seen == []


def test_a_blank_owner_is_refused_where_owners_are_kept_apart() -> None:
    """Clause 4.4."""
    blank = subjects.context().model_copy(update={"owner_id": "\u200b"})

    async def main() -> None:
        await subjects.tenants().retrieve(RetrievalRequest(query="q"), blank)

    with pytest.raises(errors.KnowledgeOwnerRequiredError):
        asyncio.run(main())


def test_a_cookie_of_one_answer_does_not_go_along_with_the_next_question() -> None:
    """Clause 4.3: it may be another owner's."""
    service = KnowledgeService("cookie")

    async def main(url: str) -> None:
        provider = HTTPProvider(f"{url}/search", key="k", label="L")
        for owner in ("alice", "bob"):
            await subjects.asked(provider, owner=owner)
        await provider.close()

    with serving(service.app) as url:
        asyncio.run(main(url))
    assert [seen.headers.get("cookie") for seen in service.seen] == [None, None]


# What it says of itself


@pytest.mark.parametrize("score_kind", ["similarity", "distance"])
def test_it_claims_what_it_was_told(score_kind: Any) -> None:
    """Clauses 1.2, 1.7 and 1.9: the same each time, whatever was done to it."""
    plain = over(KnowledgeService())
    plain.describe().capabilities["filters"] = True
    claims = {"filters": False, "scores": False, "citations": False}
    assert plain.describe() == ProviderDescription(protocol_version=1, key="http", label="Service", capabilities=claims)
    full = over(KnowledgeService(), filters=True, score_kind=score_kind, citations=True)
    assert full.describe().capabilities == dict.fromkeys(claims, True)


@pytest.mark.parametrize(
    "options",
    [
        {"url": "kb.example.com"},
        {"url": f"https://user:{SECRET}@kb.example.com/"},
        {"url": f"https://kb.example.com/?api_key={SECRET}"},
        {"headers": {"X-API-Key": f"{SECRET}\n"}},
        {"scope": lambda _: {}, "redirect_hosts": ("other.example.com",)},
        {"knowledge_bases": {"a": ""}},
        {"knowledge_bases": {f"{n}": f"{n}" for n in range(9)}},
        {"key": "Not A Key"},
        {"label": " "},
    ],
)
def test_what_cannot_work_is_refused_when_it_is_made(options: dict[str, Any]) -> None:
    """Not at the first turn, and without repeating a secret."""
    with pytest.raises(ValueError, match=r".") as caught:
        over(KnowledgeService(), **{"url": URL, **options})
    assert SECRET not in subjects.said(caught.value)
    assert isinstance(caught.value, ValidationError) or str(caught.value).startswith(("wanted", "redirect_hosts"))


def test_its_repr_shows_no_credential() -> None:
    """Clause 6.4."""
    assert SECRET not in repr(over(KnowledgeService(), headers={"X-API-Key": SECRET}, auth=("user", SECRET)))


# The file and the page


def test_the_file_is_short_and_imports_of_ours_the_contract_alone() -> None:
    """So that it can be copied alone, and read before."""
    source = ADAPTER.read_text(encoding="utf-8")
    tree = ast.parse(source)
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    assert {name.partition(".")[0] for name in imported} - set(sys.stdlib_module_names) == {"knowledge_provider"}
    assert len(source.splitlines()) <= 150


def test_a_copy_of_it_imports_where_there_is_no_httpx(tmp_path: Path) -> None:
    """And says what is missing when a provider is made."""
    shutil.copy(ADAPTER, tmp_path / "my_search.py")
    program = """
import sys
sys.modules["httpx"] = None
from my_search import HTTPProvider
try: HTTPProvider("https://kb.example.com/", key="k", label="L")
except ImportError as error: print(error.name)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert ended.stdout == "httpx\n"


EXAMPLES = re.findall(r"^```python\n(.*?)^```$", DOCS.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_of_the_page_runs_alone(example: str, capsys: pytest.CaptureFixture[str]) -> None:
    """And prints what its last comment says."""
    exec(compile(example, str(DOCS), "exec"), {"__name__": "__main__"})
    printed = capsys.readouterr().out.splitlines()
    assert printed
    assert printed == re.findall(r"^# prints: (.*)$", example, re.MULTILINE)
