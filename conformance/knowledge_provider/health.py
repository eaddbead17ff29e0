"""What a provider's answer to ``health`` means (clause 2.1), as a pure function; knows no call and no host."""

from typing import Any, Final, get_args

from pydantic import BaseModel

from knowledge_provider import limits
from knowledge_provider.errors import read_or_none
from knowledge_provider.failing import error_kind
from knowledge_provider.models import Health
from knowledge_provider.provider_calls import Ending
from knowledge_provider.text import is_a, short_text

_STATUSES: Final = frozenset(get_args(Health.model_fields["status"].annotation))
_DICT: Final[type[dict[Any, Any]]] = dict
# A model's fields, also where a subclass has put something else in the way.
_MODEL_FIELDS: Final = BaseModel.__dict__["__dict__"]


def read_health(ending: Ending) -> dict[str, str]:
    """``status``, one of the four words, and ``message`` where there is one: one line of at most 500 code points.

    Whatever did not end, raised or answered something else is ``unavailable``; raises nothing but a
    ``KeyboardInterrupt``.
    """
    if ending.timed_out:
        return _unavailable("health() did not end in time")
    if ending.error is not None:
        # As in clause 8.11: the provider's own text may hold anything.
        return _unavailable(f"health() raised {error_kind(ending.error)}")
    return _answered(ending.value)


def _answered(value: object) -> dict[str, str]:
    fields = _MODEL_FIELDS.__get__(value) if is_a(value, Health) else value
    status, message = (_entry(fields, name) for name in ("status", "message"))
    if type(status) is not str or status not in _STATUSES:
        return _unavailable("health() gave none of the four statuses")
    said = short_text(message, limits.HEALTH_MESSAGE_MAX)
    return {"status": status, "message": said} if said else {"status": status}


def _entry(fields: object, name: str) -> object:
    return read_or_none(lambda: _DICT.get(fields, name)) if is_a(fields, _DICT) else None


def _unavailable(message: str) -> dict[str, str]:
    return {"status": "unavailable", "message": message}
