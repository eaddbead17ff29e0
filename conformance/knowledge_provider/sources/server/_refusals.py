"""What the API says where it does nothing: a status, and a body that names the field; knows no Starlette and no task.

A body is ``{"detail": [{"type", "loc", "msg"}]}``, as FastAPI's own for 422, for every status. Its words are this
package's: what was raised elsewhere is never repeated, since it may hold anything.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from knowledge_provider.errors import (
    KnowledgeReferenceInvalidError,
    KnowledgeReferenceUnknownError,
    KnowledgeUnavailableError,
)
from knowledge_provider.sources._standing import ReferenceVerdict

Location = tuple[str | int, ...]
"""Where a field is: ``path``, ``query``, ``header`` or ``body``, and the names and places that lead to it."""

_HOST: Final[Mapping[int, tuple[str, str]]] = MappingProxyType(
    {
        401: (
            "knowledge_owner_required",
            "Wanted a user who is known, and there is none. Whose sources these are cannot be told. Sign in first.",
        ),
        403: (
            "forbidden",
            "Wanted a user who may do this with this task, and this one may not. Nothing was changed. Ask its owner.",
        ),
        404: (
            "task_unknown",
            "task_id: wanted a task of this user, and none has this id. Nothing was changed. Send the id of one.",
        ),
    }
)
_KEPT: Final = ("www-authenticate", "retry-after")
_LATER: Final = "Try again later."


class RefusedError(Exception):
    """A request that is not done: its status, and what the body says of it."""

    def __init__(
        self,
        status: int,
        kind: str,
        message: str,
        location: Location = (),
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers
        self.body: dict[str, Any] = {"detail": [{"type": kind, "loc": list(location), "msg": message}]}


def unfit(location: Location, wanted: str, came: str) -> RefusedError:
    """For what was sent and cannot be read."""
    field = location[-1]
    message = f"{field}: wanted {wanted}; {came}. Nothing was done. Send it as it should be."
    return RefusedError(422, "request_invalid", message, location)


def by_host(status: int, headers: Mapping[str, str] | None) -> RefusedError:
    """What the host's own function refuses, by its status; of its headers, those that a client needs for it."""
    # Not an error of ours, and nothing that a client of an API could follow.
    if not 400 <= status < 600:
        return failed()
    kind, message = _HOST.get(
        status, ("refused", f"The application refuses this request with status {status}. Nothing was changed.")
    )
    kept = {name: value for name, value in (headers or {}).items() if name.lower() in _KEPT and _is_plain(value)}
    return RefusedError(status, kind, message, ("path", "task_id") if status == 404 else (), kept)


def _is_plain(value: str) -> bool:
    # HTTP carries no others.
    return value.isascii() and value.isprintable()


def of_reference(error: KnowledgeReferenceInvalidError, location: Location) -> RefusedError:
    """For a reference that is none; ``location`` is where it was sent."""
    inner = () if error.field in (None, "reference") else (error.field or "",)
    return RefusedError(422, error.code, str(error), (*location, *inner))


def of_verdicts(verdicts: Sequence[ReferenceVerdict]) -> RefusedError | None:
    """For references of a request, in its order: 422 where a source refuses some, 503 where one cannot say, or None.

    A refusal stands first: what only the client can mend is said before what may pass.
    """
    refused = [
        RefusedError(422, KnowledgeReferenceUnknownError.code, _unknown(each.ref.provider), ("body", "refs", at))
        for at, each in enumerate(verdicts)
        if each.status == "refused"
    ]
    failed = [
        RefusedError(503, KnowledgeUnavailableError.code, _unsaid(each), ("body", "refs", at), _again(each))
        for at, each in enumerate(verdicts)
        if each.status == "failed"
    ]
    return _together(refused or failed)


def _unknown(provider: str) -> str:
    return (
        f"ref: wanted one that its source lets stand, and {provider} refuses it, by itself or with the others that "
        "came. Nothing would ever be found there. Nothing was stored. Send one that it lists."
    )


def _unsaid(verdict: ReferenceVerdict) -> str:
    why = "gave no answer in time" if verdict.reason == "timeout" else "could not say"
    return (
        f"ref: wanted one that its source lets stand, and {verdict.ref.provider} {why}. Nothing is known of it. "
        f"Nothing was stored. {_LATER}"
    )


def _again(verdict: ReferenceVerdict) -> Mapping[str, str]:
    # A refused credential or a nonsense answer is not mended by waiting.
    return {"Retry-After": "1"} if verdict.reason in ("timeout", "error") else {}


def _together(refusals: Sequence[RefusedError]) -> RefusedError | None:
    """The first, with what all of them say."""
    if not refusals:
        return None
    said = [part for each in refusals for part in each.body["detail"]]
    first = refusals[0]
    first.body = {"detail": said}
    return first


def of_unbound(error: KnowledgeReferenceUnknownError) -> RefusedError:
    """404 for what is not bound, and 409 where its whole source is, or parts of it."""
    return RefusedError(409 if error.overlapping else 404, error.code, str(error), ("body", "ref"))


def of_storage(error: KnowledgeUnavailableError) -> RefusedError:
    """For bindings that cannot be read or changed now."""
    message = f"Wanted to read or change the bindings, and they cannot be reached. Nothing was changed. {_LATER}"
    return RefusedError(503, error.code, message, headers={"Retry-After": "1"} if error.retryable else {})


def failed() -> RefusedError:
    """For everything that nobody foresaw."""
    return RefusedError(
        500, "internal", f"The request could not be done, for a reason that is only in the log. {_LATER}"
    )
