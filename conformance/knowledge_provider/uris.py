"""``public_uri``: which URIs may be shown to anyone, by reading alone; looks nothing up and raises for no value.

A URI is read once, as browsers read it, and every decision is made on that reading: how it was spelled in the text
that came (``http://0x7f.1``, ``http:127.0.0.1``) decides nothing. Tables and their sources stand in the private
modules beside this one.
"""

import re
from collections.abc import Iterable
from typing import Final

from pydantic_core import Url

from knowledge_provider._addresses import address_fault, is_address
from knowledge_provider._credentials import credential_fault, written_credential_fault
from knowledge_provider._hosts import name_fault, without_root
from knowledge_provider._uri_faults import UriFault
from knowledge_provider.limits import URI_MAX
from knowledge_provider.text import class_name, has_surrogate, is_a

__all__ = ["UriFault", "public_uri", "uri_fault"]

_SHOWN_SCHEMES: Final = frozenset({"http", "https"})
_SCHEME: Final = re.compile(r"[\x00-\x20]*[A-Za-z][A-Za-z0-9+.\t\n\r-]*:")
_NOT_OF_A_HOST: Final = re.compile(r"[/\\?#@]")


def public_uri(value: object, *, allow_hosts: Iterable[str] = ()) -> str | None:
    """Answer the URI as it may be shown to anyone, or None when it may not.

    Any value gets an answer, never an exception; a wrong ``allow_hosts`` is the caller's mistake, and is said for every
    value alike. The answer is an exact ``str``: the WHATWG serialisation without
    its fragment, at most 2,000 characters, and a fixed point (asked again, it gives itself).

    ``allow_hosts`` are exact host names or addresses, without port, that count as public though they are not (an
    intranet wiki). They do not let a credential or another scheme through. A lone string is one host, and entries that
    are no host match nothing.

    A ``str`` subclass is read as the text it holds; none of its own methods is called.

    Raises ``TypeError`` when ``allow_hosts`` is not iterable or raises when it is iterated.
    """
    verdict = _judge(value, read_hosts(allow_hosts))
    return None if isinstance(verdict, UriFault) else verdict


def uri_fault(value: object, *, allow_hosts: Iterable[str] = ()) -> UriFault | None:
    """Say why ``public_uri`` answers None, or None when it answers a URI; holds nothing of the URI itself.

    A credential comes before every other fault, so ``fault.is_credential`` tells whether clause 6.1 is broken also
    for a URI that is private, of another scheme (``postgres://user:password@db``), too long or unreadable.

    Raises ``TypeError`` as ``public_uri`` does.
    """
    verdict = _judge(value, read_hosts(allow_hosts))
    return verdict if isinstance(verdict, UriFault) else None


def read_hosts(allow_hosts: Iterable[str]) -> tuple[str, ...]:
    """The entries of an ``allow_hosts``, read once, whatever they are; a lone string is one host, not its letters.

    Raises ``TypeError`` when it is not iterable or raises when it is iterated; what it raised is the ``__cause__``.
    """
    if is_a(allow_hosts, str):
        return (allow_hosts,)
    try:
        return tuple(allow_hosts)
    except Exception as error:
        raise TypeError(
            f"allow_hosts must be an iterable of host names, since each is compared; got {class_name(allow_hosts)}, "
            f"which raised {class_name(error)}: pass a tuple of strings, or leave it out"
        ) from error


def _judge(value: object, allow_hosts: tuple[str, ...]) -> str | UriFault:
    text = _exact_text(value)
    if text is None:
        return UriFault.NOT_A_STRING
    url = _read(text)
    if isinstance(url, UriFault):
        return written_credential_fault(text) or url
    # Rule 3. Wrapped schemes (jdbc:postgresql://…) hold a URI that the outer reading does not see.
    if url.scheme not in _SHOWN_SCHEMES:
        return credential_fault(url) or written_credential_fault(text) or UriFault.SCHEME
    return credential_fault(url) or _host_fault(url.host or "", allow_hosts) or _shown(url)


def _exact_text(value: object) -> str | None:
    # Rule 1 and N1. ``str.__str__`` copies a subclass's text into an exact ``str`` without asking the subclass.
    return str.__str__(value) if is_a(value, str) else None


def _read(text: str) -> Url | UriFault:
    # Rules 1 and 2.
    if len(text) > URI_MAX:
        return UriFault.OVERLONG
    try:
        return Url(text)
    except ValueError:
        return _unreadable(text)


def _unreadable(text: str) -> UriFault:
    if has_surrogate(text):
        return UriFault.LONE_SURROGATE
    return UriFault.PARSE_ERROR if _SCHEME.match(text) else UriFault.NOT_ABSOLUTE


def _shown(url: Url) -> str | UriFault:
    # In the serialisation, "#" begins the fragment and stands nowhere else. Escaping may have made it longer.
    shown = str(url).partition("#")[0]
    return shown if len(shown) <= URI_MAX else UriFault.OVERLONG


def _host_fault(host: str, allow_hosts: tuple[str, ...]) -> UriFault | None:
    fault = address_fault(host) if is_address(host) else name_fault(host)
    return None if fault is None or _is_allowed(host, allow_hosts) else fault


def _is_allowed(host: str, allow_hosts: tuple[str, ...]) -> bool:
    # Rule 7.
    wanted = without_root(host)
    return any(_as_host(entry) == wanted for entry in allow_hosts)


def _as_host(entry: object) -> str | None:
    # Read by the same parser, so that case, IDN and address spellings compare as they do in a URI.
    text = (_exact_text(entry) or "").strip()
    if _NOT_OF_A_HOST.search(text):
        return None
    literal = f"[{text.strip('[]')}]" if ":" in text else text
    try:
        return without_root(Url(f"http://{literal}/").host or "")
    except ValueError:
        return None
