"""The HTTP API of a task's external sources (clause 10), to import from; the only place here that needs Starlette.

Nothing else of the package imports it. ``app`` awaits; the rest are pure functions on values, and know no Starlette.
"""

try:
    from knowledge_provider.sources.server.app import Authorize, external_sources_app
except ModuleNotFoundError as _missing:
    if str(_missing.name).partition(".")[0] not in ("starlette", "anyio"):
        raise
    raise ImportError(
        "The HTTP API of external sources stands on Starlette, which is not installed, so nothing can be served. "
        "Install it: pip install 'knowledge-provider-kit[server]'"
    ) from _missing
from knowledge_provider.sources.server.openapi import openapi_document

__all__ = ["Authorize", "external_sources_app", "openapi_document"]
