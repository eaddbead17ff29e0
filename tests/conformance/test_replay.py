"""Replay tokens: what a token holds comes back, what is no token is refused, and a token shows its failure again."""

import json
import re
import zlib
from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from doors import SOUND, ids_in, lines, run_pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from knowledge_conformance import cli, replay
from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.drawn import INPUT_MAX, plain_input, shown_input
from knowledge_conformance.replay import (
    PAYLOAD_MAX,
    READ_MAX,
    TOKEN_MAX,
    Replay,
    TokenError,
    bounded_lines,
    outcome_line,
    read_token,
    settings_of,
    token,
    with_token,
)
from knowledge_conformance.results import CheckOutcome, CheckResult
from knowledge_conformance.settings import KnownFailure, OwnerExpectation, Settings, override
from knowledge_conformance.strategies import requests
from knowledge_provider import RetrievalRequest

SECRET = "s3cr3t/value+acme"
TOP_K, DRAWS = BY_ID["KP-304"], BY_ID["KP-303"]
MARK = "0123456789ab"


def written(check: Any = TOP_K, settings: Settings | None = None, **more: Any) -> str:
    made = token(check, settings or Settings(), **more)
    assert made is not None
    return made


# What a token holds.


def test_a_token_of_defaults_is_short_and_names_its_check() -> None:
    """Whoever reads a log sees which check it is about."""
    assert re.fullmatch(r"KP-304\.1\.[\w-]{1,8}\.[\w-]{6}", written())


@pytest.mark.parametrize("check", BY_ID.values(), ids=BY_ID)
def test_every_check_has_a_token(check: Any) -> None:
    """Of hosts and composites, too."""
    assert read_token(written(check)) == Replay(check)


def test_what_is_no_default_comes_back() -> None:
    """Queries, seed, owners and the rest; but nothing of which provider it was, or of what is made of a failure."""
    settings = Settings(
        providers=("acme:p",), queries=("ü 'x'",), seed=7, examples=3, timeout=1.5, secrets=("ACME_API_KEY",),
        strict_should=True, require=("owners",), owners={"alice": OwnerExpectation(query="q", sees=("a",))},
        known_failures={"KP-304": KnownFailure(reason="r")},
    )  # fmt: skip
    asked = read_token(written(TOP_K, settings, fingerprint=MARK))
    wanted = settings.model_copy(
        update={"providers": ("other:p",), "require": Settings().require, "known_failures": {}}
    )
    found = settings_of(asked, Settings(providers=("other:p",), timeout=9.0, absent=("bases",)))
    assert (found.model_dump(), asked.fingerprint, asked.over) == (wanted.model_dump(), MARK, False)


def test_a_token_costs_no_more_than_a_run_of_ones_own() -> None:
    """Whatever it asks for, and where it leaves a default that is more than the settings allow."""
    dear = Settings(max_calls=100_000, timeout=600.0, concurrency=32, inject_network_faults=True, seed=7)
    own = Settings(max_calls=50, timeout=2.0, concurrency=4)
    for settings in (dear, Settings(seed=7)):
        found = settings_of(read_token(written(TOP_K, settings)), own)
        assert (found.max_calls, found.timeout, found.concurrency, found.inject_network_faults) == (50, 2.0, 4, False)
        assert found.seed == 7


def test_what_a_token_does_not_get_is_said_with_the_way_to_give_it() -> None:
    """Each on a line; nothing where the run allows it, or where a command line gave it."""
    asked = read_token(
        written(TOP_K, Settings(max_calls=9000, timeout=12.5, concurrency=9, inject_network_faults=True))
    )
    assert list(bounded_lines(asked, settings_of(asked, Settings()))) == [
        "the token asks for max-calls = 9000, and this run allows 800: --max-calls=9000 allows it",
        "the token asks for timeout = 12.5, and this run allows 10: --provider-timeout=12.5 allows it",
        "the token asks for concurrency = 9, and this run allows 8: concurrency = 9 in the settings allows it",
        "the token asks for inject-network-faults = true, and this run allows false: --inject-network-faults allows it",
    ]
    given = override(
        settings_of(asked, Settings(concurrency=9)), max_calls=9000, timeout=20.0, inject_network_faults=True
    )
    assert list(bounded_lines(asked, given)) == []
    assert list(bounded_lines(read_token(written(TOP_K)), Settings(max_calls=1))) == []


@given(requests())
@hypothesis_settings(deadline=None, max_examples=50)
def test_any_request_comes_back(request: RetrievalRequest) -> None:
    """In characters that no shell, URL or mail changes."""
    drawn = plain_input("request", request.model_dump(mode="json", exclude_defaults=True))
    made = written(DRAWS, input=drawn)
    assert re.fullmatch(r"[A-Za-z0-9._-]+", made)
    again = settings_of(read_token(made), Settings()).replay
    assert drawn is None or RetrievalRequest.model_validate((again or {})["request"]) == request


def test_the_input_of_a_check_that_draws_none_is_left_out() -> None:
    """It makes the same request by itself."""
    assert read_token(written(TOP_K, input={"request": {"query": "x"}})).input is None


def test_settings_that_are_too_long_are_left_to_the_folder() -> None:
    """The token stays one that can be copied, and goes over what stands in the settings file."""
    owners = {f"owner {at} {at**9:x}": OwnerExpectation(query=f"{at**8:x}", sees=(f"{at**7:x}",)) for at in range(300)}
    settings = Settings(owners=owners, seed=7)
    made = written(TOP_K, settings)
    assert len(made) <= TOKEN_MAX
    found = settings_of(read_token(made), Settings(owners=owners, seed=1, known_failures={"KP-304": {"reason": "r"}}))
    assert (len(found.owners), found.seed, found.known_failures) == (300, 7, {})
    assert token(TOP_K, Settings(queries=tuple(f"{at**30:x}" for at in range(1, 500)))) is None


# What it must not hold.


@pytest.mark.parametrize("where", ["query", "input", "percent"])
def test_no_secret_gets_into_a_token(where: str) -> None:
    """Not even packed: where a declared one would, there is none."""
    spelled = quote(SECRET, safe="") if where == "percent" else SECRET
    settings = Settings(queries=(f"a {spelled} b",)) if where != "input" else Settings()
    drawn: dict[str, Any] | None = {"request": {"query": SECRET}} if where == "input" else None
    assert token(DRAWS, settings, input=drawn, secrets=(SECRET,)) is None
    assert shown_input({"request": {"query": f"a {SECRET}"}}, (SECRET,)) is None


def test_a_result_without_token_or_input_is_a_result_all_the_same() -> None:
    """What settled needs no second look; a finding has its token, and its input where that may be shown."""
    found = CheckResult(id="KP-303", outcome=CheckOutcome.FAILED, input={"request": {"query": "0"}}, fingerprint=MARK)
    made = with_token(DRAWS, found, Settings(), ())
    assert read_token(made.replay or "") == Replay(DRAWS, {}, {"request": {"query": "0"}}, MARK)
    passed = CheckResult(id="KP-303", outcome=CheckOutcome.PASSED)
    assert with_token(DRAWS, passed, Settings(), ()) == passed
    telling = found.model_copy(update={"input": {"request": {"query": SECRET}}})
    hidden = with_token(DRAWS, telling, Settings(), (SECRET,))
    assert hidden.input is None
    assert read_token(hidden.replay or "").input is None


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        {1: 2},
        (1, 2),
        b"x",
        {"a": {"b": {1}}},
        "\ud800",
        type("S", (str,), {})("x"),
        object(),
    ],
)
def test_what_is_not_json_is_found_again_by_its_seed(value: object) -> None:
    """A tuple that came back as a list would be another answer."""
    assert plain_input("response", [value]) is None


def test_a_long_or_endless_input_is_not_kept() -> None:
    """The seed is shorter."""
    endless: list[Any] = []
    endless.append(endless)
    assert plain_input("response", "x" * INPUT_MAX) is None
    assert plain_input("response", endless) is None
    assert plain_input("response", {"a": [1, None, 0.5, True, "ü"]}) == {"response": {"a": [1, None, 0.5, True, "ü"]}}
    assert shown_input({"request": {"query": "x" * INPUT_MAX}}, ()) is None


# What is no token.


def sealed(payload: bytes, check: str = "KP-303") -> str:
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = urlsafe_b64encode(deflate.compress(payload) + deflate.flush()).decode().rstrip("=")
    return replay._sealed(f"{check}.1.{packed}")


def payload(**held: Any) -> str:
    return sealed(json.dumps(held).encode())


REFUSED = {
    "": "'' is no token: wanted one such as",
    "KP-304": "is no token",
    "a.b.c.d.e": "is no token",
    "x" * (READ_MAX + 1): "more than 16,000 characters",
    "KP-304.2.q64FAA.xxxxxx": "of version '2', and this kit reads version 1",
    replay._sealed("KP-999.1.q64FAA"): "no check 'KP-999'",
    replay._sealed("KP-304.1.____"): "payload cannot be read",
    replay._sealed("KP-304.1."): "or only a part of what it held",
    replay._sealed("KP-304.1.ä"): "payload cannot be read",
    sealed(b" " * (PAYLOAD_MAX + 1)): "more than 64,000 bytes",
    sealed(b"[" * 50_000): "payload cannot be read",
    sealed(b"9" * 50_000): "payload cannot be read",
    sealed(b"\xff"): "payload cannot be read",
    sealed(b"[]"): "not what this kit writes",
    payload(x=1): "not what this kit writes",
    payload(s=[]): "not what this kit writes",
    payload(f=1): "not what this kit writes",
    payload(s={"known-failures": {}}): "not what this kit writes",
    payload(s={"replay": {}}): "not what this kit writes",
    payload(i={"request": {"query": " "}}): "not valid by clause 3.1",
    payload(i={"request": 3}): "not valid by clause 3.1",
    payload(i={"request": {"query": "x"}, "b": 1}): "takes none such",
    sealed(json.dumps({"i": {"request": {"query": "x"}}}).encode(), "KP-304"): "takes none such",
}


@pytest.mark.parametrize(("text", "fragment"), REFUSED.items(), ids=range(len(REFUSED)))
def test_what_is_no_token_is_refused_in_one_line(text: str, fragment: str) -> None:
    """The line begins with the option and says what is wrong."""
    with pytest.raises(TokenError) as caught:
        read_token(text)
    assert str(caught.value).startswith("--replay: ")
    assert fragment in str(caught.value)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 300


@given(st.text() | st.from_regex(r"KP-30[34]\.1\.[\w-]{0,40}\.[\w-]{6}", fullmatch=True))
@hypothesis_settings(deadline=None, max_examples=200)
def test_any_text_is_a_token_or_refused(text: str) -> None:
    """Nothing else comes out, whoever sent it."""
    try:
        read_token(text)
    except TokenError:
        return
    assert text.startswith("KP-")


@given(st.integers(0, 200), st.characters(codec="ascii", categories=("L", "N")))
@hypothesis_settings(deadline=None, max_examples=100)
def test_one_wrong_character_is_noticed(at: int, character: str) -> None:
    """A copied line often loses its end."""
    made = written(DRAWS, Settings(seed=3), input={"request": {"query": "0"}})
    at %= len(made)
    changed = made[:at] + character + made[at + 1 :]
    if changed != made:
        with pytest.raises(TokenError):
            read_token(changed)
    with pytest.raises(TokenError):
        read_token(made[: at or 1])


def test_line_breaks_do_not_matter() -> None:
    """Terminals and mails break lines."""
    made = written(DRAWS, Settings(seed=3))
    assert read_token(f"  {made[:9]}\n   {made[9:]}\r\n") == read_token(made)


@pytest.mark.parametrize("settings", [{"timeout": -1}, {"no-such": 1}, {"queries": 3}, {"require": ["owners"]}])
def test_settings_that_this_kit_has_not_are_refused(settings: dict[str, Any]) -> None:
    """Of a newer kit, or of nobody's."""
    with pytest.raises(TokenError):
        settings_of(read_token(payload(s=settings)), Settings())


# What came of it.


@pytest.mark.parametrize(
    ("outcome", "mark", "said"),
    [
        (CheckOutcome.PASSED, None, "KP-303 passes: the failure does not reproduce"),
        (CheckOutcome.FAILED, MARK, "KP-303 fails again: the failure reproduces"),
        (CheckOutcome.ADVISORY, MARK, "KP-303 fails again: the failure reproduces"),
        (CheckOutcome.ERRORED, "ba9876543210", "KP-303 fails, but not as it did"),
        (CheckOutcome.BLOCKED, None, "KP-303 could not be tried, it is blocked: KP-301 has to hold first"),
    ],
)
def test_what_came_of_it_is_one_line(outcome: CheckOutcome, mark: str | None, said: str) -> None:
    """Whether it reproduces is what was asked."""
    result = CheckResult(id="KP-303", outcome=outcome, saw="KP-301 has to hold first", fingerprint=mark)
    assert outcome_line(Replay(DRAWS, fingerprint=MARK), result).startswith(said)


# The doors.

CLUMSY = """
from knowledge_fakes.handbook import provider as sound


class Clumsy:
    def __init__(self):
        self.sound = sound()
        self.describe = self.sound.describe

    def retrieve(self, request, context):
        if request.top_k == 7:
            raise ValueError("no page has seven")
        return self.sound.retrieve(request, context)
"""


@pytest.fixture(scope="module")
def clumsy(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with the provider, and the token of its failure."""
    folder = tmp_path_factory.mktemp("clumsy")
    (folder / "clumsy.py").write_text(CLUMSY)
    done = run_pytest(folder, "--provider=clumsy:Clumsy", "provider::KP-303", "--provider-seed=3")
    (again,) = lines(done.stdout, starting="again ")
    return folder, again.rpartition("--replay=")[2]


def test_the_token_holds_the_shrunk_request(clumsy: tuple[Path, str]) -> None:
    """And the seed it came from."""
    asked = read_token(clumsy[1])
    assert (asked.check.id, asked.settings) == ("KP-303", {"seed": 3})
    assert asked.input == {"request": {"query": "0", "top_k": 7}}


@pytest.mark.parametrize("more", [[], ["-n", "2", "-p", "xdist"], ["-p", "no:terminal"]])
def test_a_token_shows_the_failure_again(more: list[str], clumsy: tuple[Path, str]) -> None:
    """In another folder, by itself; that check alone, with exit code 1."""
    folder, text = clumsy
    done = run_pytest(folder, "--provider=clumsy:Clumsy", f"--replay={text}", "--provider-report=replayed.json", *more)
    assert done.returncode == 1, done.stdout
    if "no:terminal" not in more:
        assert "replay  KP-303 fails again: the failure reproduces" in done.stdout
    found = json.loads((folder / "replayed.json").read_text())
    assert [check["id"] for check in found["checks"]] == ["KP-303"]
    assert found["checks"][0]["replay"].split(".")[0] == "KP-303"
    assert "top_k=7" in found["checks"][0]["where"]


def test_a_token_that_is_bounded_says_so(clumsy: tuple[Path, str]) -> None:
    """Before what came of it; an option beside it allows what it asks for."""
    folder, _ = clumsy
    dear = written(DRAWS, Settings(inject_network_faults=True), input={"request": {"query": "q", "top_k": 7}})
    said = "replay  the token asks for inject-network-faults = true, and this run allows false"
    shown = run_pytest(folder, "--provider=clumsy:Clumsy", f"--replay={dear}").stdout
    assert said in shown
    assert "KP-303 fails again" in shown
    assert (
        said not in run_pytest(folder, "--provider=clumsy:Clumsy", f"--replay={dear}", "--inject-network-faults").stdout
    )


def test_a_mended_provider_does_not_reproduce(clumsy: tuple[Path, str]) -> None:
    """And that is exit code 0, with a verdict about nothing else."""
    done = run_pytest(clumsy[0], f"--provider={SOUND}", f"--replay={clumsy[1]}")
    assert done.returncode == 0, done.stdout
    assert "replay  KP-303 passes: the failure does not reproduce" in done.stdout
    assert lines(done.stdout, starting="verdict partial: 1 of")
    assert ids_in(done.stdout) in ([], ["KP-303"])


def test_the_console_script_replays_too(clumsy: tuple[Path, str], capsys: pytest.CaptureFixture[str]) -> None:
    """With the same line and the same exit codes."""
    assert cli.main(["run", SOUND, "--replay", clumsy[1]]) == 0
    assert "replay  KP-303 passes: the failure does not reproduce" in capsys.readouterr().out
    assert cli.main(["run", "knowledge_fakes.faulty:round_page_sizes", "--replay", clumsy[1]]) == 1
    assert "replay  KP-303 fails, but not as it did" in capsys.readouterr().out
    assert cli.main(["run", SOUND, "--replay", f"{clumsy[1]}x"]) == 4
    assert "checksum" in capsys.readouterr().err


def test_a_token_of_a_host_wants_a_host(tmp_path: Path) -> None:
    """One line, exit code 4."""
    done = run_pytest(tmp_path, f"--provider={SOUND}", f"--replay={written(BY_ID['KP-815'])}")
    assert done.returncode == 4
    assert "--replay: KP-815 is a check of a host, and this run has none; name one" in done.stdout


def test_a_drawn_answer_is_replayed_to_a_host(tmp_path: Path) -> None:
    """The host gets this answer alone."""
    (tmp_path / "hosts.py").write_text(
        "from knowledge_provider import KnowledgeHost\n\n\n"
        "class Host(KnowledgeHost):\n"
        "    async def search(self, *args, **more):\n"
        "        outcome = await super().search(*args, **more)\n"
        "        seen = outcome.to_dict()\n"
        "        return {**seen, 'results': [each for each in seen['results'] if each['id'] != 'drawn']}\n"
    )
    drawn = written(BY_ID["KP-815"], input={"response": [{"id": "drawn", "content": "x"}]})
    done = run_pytest(tmp_path, "--host=hosts:Host", f"--replay={drawn}")
    assert "replay  KP-815 fails" in done.stdout, done.stdout
    sound = run_pytest(tmp_path, "--host=knowledge_provider:KnowledgeHost", f"--replay={drawn}")
    assert "replay  KP-815 passes: the failure does not reproduce" in sound.stdout, sound.stdout


def test_a_replay_writes_no_known_failures(tmp_path: Path) -> None:
    """It looked at one input alone."""
    done = run_pytest(tmp_path, f"--provider={SOUND}", f"--replay={written()}", "--write-known-failures")
    assert done.returncode == 4
    assert "--write-known-failures: a --replay looks at one input alone" in done.stdout
    assert not list(tmp_path.glob("*.toml"))


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("replay = { request = { query = 'x' } }", "replay: is no setting of a file; pass --replay TOKEN"),
        ("trial = true", "trial: is no setting of a file; pass --prove"),
        ("record-network = 'a.json'", "record-network: is no setting of a file; pass --record-network FILE"),
    ],
)
def test_what_an_option_sets_is_no_file_s(written: str, said: str, tmp_path: Path) -> None:
    """A settings file that named one input would make every run look at that alone."""
    (tmp_path / "knowledge-conformance.toml").write_text(written)
    done = run_pytest(tmp_path, f"--provider={SOUND}")
    assert done.returncode == 4
    assert said in done.stdout


def test_a_token_names_no_file_and_a_folder_keeps_its_own() -> None:
    """A recording is a file of whoever runs the kit."""
    text = written(settings=Settings(network_recording="net.json", record_network="new.json"))
    assert text == written()
    assert settings_of(read_token(text), Settings(network_recording="mine.json")).network_recording == "mine.json"
