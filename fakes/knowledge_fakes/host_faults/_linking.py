"""Mistakes with links; knows clause 8.8's rule N10 of the contract, no way of catching them."""

import ipaddress
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from knowledge_fakes import _plain_reading as read
from knowledge_fakes.host_faults._host_fault import host_fault
from knowledge_fakes.host_faults._reading import has_id, plain_items, with_results
from knowledge_fakes.plain_host import PlainHost
from knowledge_provider import Outcome, OutcomeResult, RetrievalContext, Source, public_uri


class _Keeping(PlainHost):
    """A host that keeps links which the policy drops."""

    keep: Callable[[str], bool]

    def outcome(self, answer: Any, query: str, limit: int, context: RetrievalContext) -> Any:
        made: Outcome = super().outcome(answer, query, limit, context)
        links = _links(answer)
        results = [self._linked(result, links.get(result.id, ""), context) for result in made.results]
        known = {citation.id for citation in made.citations}
        added = {
            result.citation_id: self.ledger(context).cite(result.url, source=Source(), content=result.content)
            for result in results
            if result.url and result.citation_id not in known
        }
        return with_results(made, *results).model_copy(update={"citations": (*made.citations, *added.values())})

    def _linked(self, result: OutcomeResult, link: str, context: RetrievalContext) -> OutcomeResult:
        if result.url or not link or not type(self).keep(link):
            return result
        source = (result.source or Source()).model_copy(update={"uri": link})
        citation = self.ledger(context).cite(link, source=source, content=result.content)
        return result.model_copy(update={"source": source, "url": link, "citation_id": citation.id})


def _link(item: dict[str, Any]) -> str:
    uri = read.argument(read.argument(item, "source"), "uri")
    return uri if type(uri) is str else ""


def _links(answer: Any) -> dict[object, str]:
    """The link of each result, by its id."""
    return {read.argument(item, "id"): _link(item) for item in plain_items(answer) if has_id(item)}


def _host(link: str) -> str:
    try:
        return urlsplit(link).hostname or ""
    except ValueError:
        return ""


def _is_http(link: str) -> bool:
    return link.startswith(("http://", "https://"))


def _is_private_address(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return host == "localhost"


@host_fault("KP-816", fragment="'https://'")
class AnyHttpLinkKept(_Keeping):
    """What begins with http is a link."""

    keep = staticmethod(_is_http)


@host_fault("KP-816", fragment="no link (private-ipv4)")
class PrivateHostsKept(_Keeping):
    """Links without a credential are kept, those to the company's own network too."""

    @staticmethod
    def keep(link: str) -> bool:
        """Whether only its host speaks against it."""
        return public_uri(link, allow_hosts=[_host(link)]) is not None


@host_fault("KP-816", fragment="no link")
class CredentialsKept(_Keeping):
    """Links to public hosts are kept, those with a token in them too."""

    @staticmethod
    def keep(link: str) -> bool:
        """Whether the host alone is public."""
        return _is_http(link) and public_uri(f"https://{_host(link)}/") is not None


@host_fault("KP-816", fragment="no link")
class PrivateByIpaddress(_Keeping):
    """A host is private when the standard library says so of its address as it is written."""

    @staticmethod
    def keep(link: str) -> bool:
        """Whether the standard library has nothing against it."""
        return _is_http(link) and bool(_host(link)) and not _is_private_address(_host(link))


@host_fault("KP-840", "KP-815", fragment="no link (single-label)")
class ShortNamesKept(_Keeping):
    """A name without a dot is taken for a public one, and the user's browser asks the company's own network."""

    @staticmethod
    def keep(link: str) -> bool:
        """Whether its host is a bare name."""
        return (
            _is_http(link)
            and _host(link).isascii()
            and _host(link).isalpha()
            and _host(link) not in {"localhost", "metadata"}
        )


@host_fault("KP-840", "KP-815", fragment="no link (rebinding-host)")
class ResolversKept(_Keeping):
    """Names that a public resolver turns into any address, private ones too, are public names."""

    @staticmethod
    def keep(link: str) -> bool:
        """Whether its host is under such a resolver."""
        return _is_http(link) and _host(link).endswith((".nip.io", ".sslip.io"))


@host_fault("KP-816", fragment="None and None")
class OnlyHttpsKept(PlainHost):
    """Links without TLS are dropped, and public pages lose their citation."""

    def outcome(self, answer: Any, query: str, limit: int, context: RetrievalContext) -> Any:
        made = super().outcome(answer, query, limit, context)
        kept = tuple(citation for citation in made.citations if citation.url.startswith("https:"))
        results = (result if _is_https(result) else _unlinked(result) for result in made.results)
        return with_results(made, *results).model_copy(update={"citations": kept})


@host_fault("KP-816", fragment="'https://example.com' and 'https://example.com'")
class LinksAsWritten(PlainHost):
    """A kept link is shown as the provider wrote it, and read in another way by a browser than by the policy."""

    def outcome(self, answer: Any, query: str, limit: int, context: RetrievalContext) -> Any:
        made = super().outcome(answer, query, limit, context)
        links = _links(answer)
        written = {result.url: links.get(result.id) or result.url for result in made.results if result.url}
        citations = tuple(citation.model_copy(update={"url": written[citation.url]}) for citation in made.citations)
        results = (_relinked(result, written[result.url]) if result.url else result for result in made.results)
        return with_results(made, *results).model_copy(update={"citations": citations})


def _is_https(result: OutcomeResult) -> bool:
    return not result.url or result.url.startswith("https:")


def _unlinked(result: OutcomeResult) -> OutcomeResult:
    return _relinked(result, None).model_copy(update={"citation_id": None})


def _relinked(result: OutcomeResult, link: str | None) -> OutcomeResult:
    source = (result.source or Source()).model_copy(update={"uri": link})
    return result.model_copy(update={"url": link, "source": source if any(vars(source).values()) else None})
