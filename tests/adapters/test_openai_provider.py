"""``OpenAIFileSearchProvider``: what it is and shows, other ways to the service, the file itself and its page."""

import ast
import asyncio
import logging
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import openai
import pytest
from openai_subjects import HANDBOOK, SECRET, answer_of, ask, client_of, over, over_url

import knowledge_adapters.openai_file_search_provider as module
from knowledge_adapters.openai_file_search_provider import OpenAIFileSearchProvider
from knowledge_fakes.vendors.openai_service import VectorStoreService
from knowledge_fakes.vendors.serving import serving
from knowledge_provider import ProviderDescription, errors

ADAPTER = Path(module.__file__)
DOCS = Path(__file__).parents[2] / "docs" / "adapters-openai-file-search.md"


# Identity


def test_the_description_is_equal_each_time_whatever_is_done_to_it() -> None:
    """Clauses 1.2 and 1.7."""
    provider = over(VectorStoreService())
    described = provider.describe()
    described.capabilities["filters"] = False
    capabilities = {"filters": True, "scores": True, "citations": True}
    assert provider.describe() == ProviderDescription(
        protocol_version=1, key="handbook", label="Handbook", capabilities=capabilities
    )


@pytest.mark.parametrize(("key", "label"), [("Not A Key", "L"), ("k\n", "L"), ("k", " ")])
def test_a_bad_key_or_label_is_refused_when_it_is_made(key: str, label: str) -> None:
    """Clauses 1.4 and 1.5: not at the first turn."""
    with pytest.raises(ValueError, match="validation error"):
        OpenAIFileSearchProvider(HANDBOOK, key=key, label=label, api_key=SECRET)


def test_a_missing_api_key_is_refused_when_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """And one in the environment is used."""
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(openai.OpenAIError, match="credentials"):
        OpenAIFileSearchProvider(HANDBOOK, key="k", label="L")
    service = VectorStoreService(api_key=SECRET)
    with serving(service.app) as url:
        monkeypatch.setenv("OPENAI_API_KEY", SECRET)
        monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/v1")
        provider = OpenAIFileSearchProvider(HANDBOOK, key="k", label="L")

        async def main() -> int:
            found = await answer_of(provider)
            await provider.close()
            return len(found["results"])

        assert asyncio.run(main()) == 5


@pytest.mark.parametrize("key", [f"{SECRET}\n", f" {SECRET}", f"{SECRET}é", f"{SECRET}\x00"])
def test_an_api_key_that_http_cannot_carry_is_refused_and_not_repeated(key: str) -> None:
    """Clause 6.4: HTTP's own error for it repeats it, as for one that was read from a file with its newline."""
    with pytest.raises(ValueError, match="printable ASCII") as caught:
        over_url("https://example.org", api_key=key)
    assert SECRET not in str(caught.value)


def test_the_api_key_shows_nowhere(caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]) -> None:
    """Clause 6.4: not in what the provider is or says, nor in what the client logs at its most talkative."""
    caplog.set_level(logging.DEBUG)
    service = VectorStoreService(api_key=SECRET)

    async def main(url: str) -> str:
        provider = over_url(url)
        found = await answer_of(provider)
        health = await provider.health()
        await provider.close()
        return repr((provider, provider.describe(), health, found))

    with serving(service.app) as url:
        told = asyncio.run(main(url))
    assert [search.key for search in service.searches] == [SECRET]
    assert SECRET not in told
    assert SECRET not in caplog.text
    assert SECRET not in "".join(capsys.readouterr())


# Other ways to the service


def test_respx_can_stand_for_the_service() -> None:
    """It knows httpx; with these targets it reaches the client's httpx2 as well, and the fake answers as an app."""
    respx = pytest.importorskip("respx")
    mocker = respx.mocks.HTTPCoreMocker
    mocker.add_targets(*(target.replace("httpcore.", "httpcore2.") for target in mocker.targets))
    service = VectorStoreService()
    provider = over_url("https://api.openai.com")
    with respx.mock(base_url="https://api.openai.com/v1") as router:
        route = router.post("/vector_stores/vs_handbook/search")
        route.side_effect = respx.ASGIHandler(service.app)
        assert len(ask(provider)) == 5
        route.side_effect = None
        route.respond(429, headers={"retry-after": "3"})
        with pytest.raises(errors.KnowledgeRateLimitedError) as caught:
            ask(provider)
    assert caught.value.retry_after == 3
    assert route.call_count == 2


def test_a_client_of_the_old_http_library_works_too() -> None:
    """The client takes an ``httpx.AsyncClient`` as well."""
    httpx = pytest.importorskip("httpx")
    service = VectorStoreService()
    http = httpx.AsyncClient(transport=httpx.ASGITransport(app=service.app))
    assert len(ask(over(service, client=lambda: client_of(service.app, http_client=http)))) == 5

    def refused(_request: Any) -> None:
        raise httpx.ConnectError("refused")

    broken = httpx.AsyncClient(transport=httpx.MockTransport(refused))
    with pytest.raises(errors.KnowledgeUnavailableError):
        ask(over(service, client=lambda: client_of(service.app, http_client=broken)))


# The file and the page


def test_the_file_is_short_and_imports_of_ours_the_contract_alone() -> None:
    """So that it can be copied alone, and read before; openai is imported where a provider is made."""
    source = ADAPTER.read_text(encoding="utf-8")
    tree = ast.parse(source)
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    roots = {name.partition(".")[0] for name in imported} - set(sys.stdlib_module_names)
    assert roots == {"knowledge_provider", "openai"}
    assert len(source.splitlines()) <= 150
    program = f"import sys; sys.modules['openai'] = None; import {module.__name__}"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_copy_of_it_works_alone(tmp_path: Path) -> None:
    """Beside this package and openai it needs nothing: neither the adapters nor the fakes are imported."""
    shutil.copy(ADAPTER, tmp_path / "my_search.py")
    program = """
import asyncio, sys
sys.modules["knowledge_adapters"] = sys.modules["knowledge_fakes"] = None
import httpx2, openai
from my_search import OpenAIFileSearchProvider
from knowledge_provider import RetrievalContext, RetrievalRequest
found = {"data": [{"file_id": "f", "score": 0.5, "content": [{"type": "text", "text": "found it"}]}]}
http = httpx2.AsyncClient(transport=httpx2.MockTransport(lambda _: httpx2.Response(200, json=found)))
client = openai.AsyncOpenAI(api_key="sk-example", http_client=http)
provider = OpenAIFileSearchProvider({"a": "vs_a"}, key="k", label="L", client=client)
answer = asyncio.run(provider.retrieve(RetrievalRequest(query="q"), RetrievalContext(owner_id="o")))
print(answer["results"][0].content)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert ended.stdout == "found it\n"


EXAMPLES = re.findall(r"^```python\n(.*?)^```$", DOCS.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_of_the_page_runs_alone(example: str, capsys: pytest.CaptureFixture[str]) -> None:
    """And prints what its comments say."""
    exec(compile(example, str(DOCS), "exec"), {"__name__": "__main__"})
    printed = capsys.readouterr().out.splitlines()
    assert printed
    assert printed == re.findall(r"^# prints: (.*)$", example, re.MULTILINE)
