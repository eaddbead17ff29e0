"""``adapting.failure``: the contract's error for a vendor's exception, whatever that exception is made of."""

import logging
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from knowledge_provider import adapting, services

SECRET = "hunter2"


class _HttpError(Exception):
    def __init__(self, status: int, *, on_response: bool = False, **headers: str) -> None:
        super().__init__(f"key {SECRET} was refused")
        self.response = SimpleNamespace(headers={name.replace("_", "-"): value for name, value in headers.items()})
        (self.response if on_response else self).__dict__["status_code"] = status


def _validation_error() -> ValidationError:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(int).validate_python(SECRET)
    return caught.value


@pytest.mark.parametrize(
    ("error", "code", "retryable", "retry_after"),
    [
        (ValueError(SECRET), "knowledge_provider_failed", False, None),
        (TimeoutError(SECRET), "knowledge_provider_failed", True, None),
        (_validation_error(), "knowledge_invalid_response", False, None),
        (ConnectionRefusedError(SECRET), "knowledge_unavailable", True, None),
        (_HttpError(401), "knowledge_unauthorized", False, None),
        (_HttpError(403, on_response=True), "knowledge_unauthorized", False, None),
        (_HttpError(404), "knowledge_provider_failed", False, None),
        (_HttpError(429, retry_after="7"), "knowledge_rate_limited", True, 7.0),
        (_HttpError(429, retry_after="Wed, 21 Oct 2015 07:28:00 GMT"), "knowledge_rate_limited", True, 0.0),
        (_HttpError(429, retry_after="soon"), "knowledge_rate_limited", True, None),
        (_HttpError(429), "knowledge_rate_limited", True, None),
        (_HttpError(503, on_response=True), "knowledge_unavailable", True, None),
        (_HttpError(503, retry_after="7"), "knowledge_unavailable", True, 7.0),
        (_HttpError(500, retry_after="7"), "knowledge_unavailable", True, None),
        (_HttpError(408, retry_after="7"), "knowledge_provider_failed", True, None),
        (_HttpError(600), "knowledge_provider_failed", False, None),
    ],
)
def test_a_vendors_exception_becomes_the_contracts_without_its_text(
    error: Exception, code: str, retryable: bool, retry_after: float | None
) -> None:
    """Clauses 5.10, 6.4 and 7.6: the type is named, the text is not, and a vendor's time-out is not the host's."""
    made = adapting.failure(error, "Acme")
    assert (made.code, made.retryable, made.retry_after) == (code, retryable, retry_after)
    assert f"Acme raised {type(error).__name__}" in str(made)
    assert SECRET not in str(made)


def _refuse(*_arguments: object) -> Any:
    raise RuntimeError(SECRET)


_Status: Any = type("_Status", (int,), dict.fromkeys(("__eq__", "__hash__", "__bool__"), _refuse))


def _with(**attributes: Any) -> Exception:
    """An exception of a class of its own with these attributes, properties among them."""
    odd: type[Exception] = type("OddError", (Exception,), attributes)
    return odd()


@pytest.mark.parametrize(
    ("attributes", "code"),
    [
        ({"response": property(_refuse)}, "knowledge_provider_failed"),
        ({"status_code": property(_refuse)}, "knowledge_provider_failed"),
        ({"status_code": property(_refuse), "response": SimpleNamespace(status_code=503)}, "knowledge_unavailable"),
        ({"status_code": "401"}, "knowledge_provider_failed"),
        ({"status_code": True}, "knowledge_provider_failed"),
        ({"status_code": _Status(401)}, "knowledge_unauthorized"),
        ({"status_code": HTTPStatus.SERVICE_UNAVAILABLE}, "knowledge_unavailable"),
        ({"status_code": SimpleNamespace(), "response": SimpleNamespace(status_code=401)}, "knowledge_unauthorized"),
        ({"__class__": property(_refuse)}, "knowledge_provider_failed"),
    ],
)
def test_an_exception_that_cannot_be_read_is_a_failure_all_the_same(attributes: dict[str, Any], code: str) -> None:
    """Clause 5.10: nothing but the contract's error comes of it, and a status counts as the number that it is."""
    made = adapting.failure(_with(**attributes), "Acme")
    assert made.code == code
    assert "Acme raised OddError" in str(made)
    assert SECRET not in str(made)


class _Headers:
    get = _refuse


_NO_SECONDS: list[Any] = ["9" * 10, "9" * 5000, "-1", "inf", "nan", "1e3", "٣", "", [7], True]
_NO_HEADERS: list[Any] = [None, 7, [], {}, _Headers()]


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": 7}, 7.0),
        ({"retry-after": " 120 "}, 120.0),
        ({"retry-after": "9" * 9}, 999_999_999.0),
        *[({"retry-after": odd}, None) for odd in _NO_SECONDS],
        *[(odd, None) for odd in _NO_HEADERS],
    ],
)
def test_how_long_to_wait_is_finite_or_not_known(headers: object, seconds: float | None) -> None:
    """A host may wait for as long as this says, so a number that no float holds must not become infinity."""
    made = adapting.failure(_with(status_code=429, response=SimpleNamespace(headers=headers)), "Acme")
    assert (made.code, made.retry_after) == ("knowledge_rate_limited", seconds)


def test_a_date_to_wait_for_is_read_from_an_exception_as_from_an_answer() -> None:
    """One reading of statuses and headers, in whatever form they come."""
    later = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    for made in (adapting.failure(_HttpError(503, retry_after=later), "Acme"), services.refusal(503, later)):
        assert made.code == "knowledge_unavailable"
        assert 3500 < (made.retry_after or 0) <= 3600


def test_there_is_one_function_for_exceptions() -> None:
    """Two of one name that did different things would be mistaken for each other."""
    assert services.failure is adapting.failure


@pytest.mark.parametrize("kinds", [LookupError, (OSError, LookupError)])
def test_a_clients_own_exceptions_win_over_a_status_and_ask_nothing_of_the_exception(kinds: Any) -> None:
    """A connection that broke off while an error was read is lost; a class that lies about itself changes nothing."""
    odd: type[Exception] = type("OddError", (KeyError,), {"__class__": property(_refuse), "status_code": 401})
    assert adapting.failure(odd(), "Acme", lost=kinds).code == "knowledge_unavailable"
    late = adapting.failure(odd(), "Acme", late=kinds, lost=kinds)
    assert (late.code, late.retryable) == ("knowledge_provider_failed", True)
    assert adapting.failure(odd(), "Acme", late=TimeoutError, lost=OSError).code == "knowledge_unauthorized"


def _of_client(*named: str, base: type[Exception] = Exception) -> Exception:
    """An exception as of a client's, from its class up to the last one before ``base``, each with its module."""
    kind = base
    for module, _, name in (full.rpartition(".") for full in reversed(named)):
        kind = type(name, (kind,), {"__module__": module})
    return kind(SECRET)


_LOST = "knowledge_unavailable"
_OTHER = "knowledge_provider_failed"
_GARBLED = "knowledge_invalid_response"


@pytest.mark.parametrize(
    ("error", "code", "retryable"),
    [
        (_of_client("httpx.ConnectError", "httpx.NetworkError", "httpx.TransportError"), _LOST, True),
        (_of_client("httpx2.ReadError", "httpx2.NetworkError", "httpx2.TransportError"), _LOST, True),
        (_of_client("httpx2.RemoteProtocolError", "httpx2.TransportError"), _LOST, True),
        (_of_client("httpcore._exceptions.ConnectError", "httpcore._exceptions.NetworkError"), _LOST, True),
        (_of_client("requests.exceptions.SSLError", "requests.exceptions.ConnectionError", base=OSError), _LOST, True),
        (_of_client("urllib3.exceptions.MaxRetryError"), _LOST, True),
        (_of_client("urllib3.exceptions.NewConnectionError", "urllib3.exceptions.TimeoutError"), _LOST, True),
        (_of_client("aiohttp.client_exceptions.ClientOSError", "aiohttp.client.ClientConnectionError"), _LOST, True),
        (_of_client("acme.NoStore", "httpx.ConnectError"), _LOST, True),
        (_of_client("httpx.ConnectTimeout", "httpx.TimeoutException", "httpx.TransportError"), _OTHER, True),
        (_of_client("httpcore2.PoolTimeout", "httpcore2.TimeoutException"), _OTHER, True),
        (_of_client("requests.exceptions.ConnectTimeout", "requests.exceptions.ConnectionError"), _OTHER, True),
        (_of_client("requests.exceptions.ReadTimeout", "requests.exceptions.Timeout", base=OSError), _OTHER, True),
        (_of_client("urllib3.exceptions.ReadTimeoutError", "urllib3.exceptions.TimeoutError"), _OTHER, True),
        (_of_client("aiohttp.ServerTimeoutError", "aiohttp.ClientConnectionError", base=TimeoutError), _OTHER, True),
        (_of_client("httpx.UnsupportedProtocol", "httpx.TransportError"), _OTHER, False),
        (_of_client("requests.exceptions.MissingSchema", base=OSError), _OTHER, False),
        (_of_client("httpx2.DecodingError", "httpx2.RequestError"), _GARBLED, False),
        (_of_client("urllib3.exceptions.DecodeError"), _GARBLED, False),
        (_of_client("requests.exceptions.ContentDecodingError", base=OSError), _GARBLED, False),
        (_of_client("aiohttp.http_exceptions.ContentEncodingError"), _GARBLED, False),
        (_of_client("acme.DecodeError"), _OTHER, False),
        (_of_client("acme.httpx.ConnectError"), _OTHER, False),
        (_of_client("httpxtra.ConnectError"), _OTHER, False),
        (_of_client("acme.TimeoutException"), _OTHER, False),
    ],
)
def test_a_common_clients_exception_is_told_by_the_name_of_its_class(
    error: Exception, code: str, retryable: bool
) -> None:
    """Clause 7.6: of a store that is far away, they are all that comes, and no adapter of it knows the client."""
    made = adapting.failure(error, "Acme")
    assert (made.code, made.retryable) == (code, retryable)
    assert SECRET not in str(made)


def test_a_connection_that_was_lost_over_an_encoding_is_an_invalid_response() -> None:
    """As OpenAI's client packs it: the answer came, and no other try mends it."""

    class LostError(Exception):
        pass

    lost = LostError(SECRET)
    assert adapting.failure(lost, "Acme", lost=LostError).code == _LOST
    lost.__cause__ = _of_client("httpx2.DecodingError")
    assert adapting.failure(lost, "Acme", lost=LostError).code == _GARBLED


def test_a_status_says_more_than_the_name_of_a_class() -> None:
    """As that of a proxy's refusal."""
    error = _of_client("httpx.ProxyError")
    vars(error)["response"] = SimpleNamespace(status_code=401, headers={})
    assert adapting.failure(error, "Acme").code == "knowledge_unauthorized"


@pytest.mark.parametrize("module", [None, 7, property(_refuse), "httpx" * 1000, "\ud800"])
def test_a_module_that_is_no_name_is_passed_over(module: Any) -> None:
    """Nothing of an exception's class is run to be read."""
    odd: type[Exception] = type("ConnectError", (Exception,), {"__module__": module})
    assert adapting.failure(odd(), "Acme").code == _OTHER


def test_an_interrupt_comes_out_of_reading_an_exception() -> None:
    """Ctrl-C is the user's."""

    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        adapting.failure(_with(response=property(interrupt)), "Acme")


def test_a_package_logs_without_tracebacks_and_others_do_with_them(caplog: pytest.LogCaptureFixture) -> None:
    """Clause 6.4: the exception of an answer that cannot be read holds the answer; asking for it twice adds nothing."""
    for _ in range(2):
        services.log_without_tracebacks("acme", "acme.reading", "acme.asking")
    assert len(logging.getLogger("acme.asking").filters) == 1
    raised = (ValueError, ValueError(SECRET), None)
    for path in ("/lib/acme/session.py", "/lib/other/session.py"):
        record = logging.LogRecord("acme.asking", logging.WARNING, path, 7, "cannot read %s", ("it",), raised)
        logging.getLogger("acme.asking").handle(record)
    assert [record.getMessage() for record in caplog.records] == ["cannot read it"] * 2
    assert [record.exc_info for record in caplog.records] == [None, raised]
