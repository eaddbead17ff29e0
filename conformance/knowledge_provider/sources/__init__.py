"""External sources of a task (clause 10), in one place to import from; knows names only.

What awaits is in ``retrieving``, ``validating``, ``listing`` and ``bridging``; the rest are pure functions on values,
and two storages.
"""

from knowledge_provider.sources._standing import ReferenceVerdict
from knowledge_provider.sources.bindings import (
    BindingStorage,
    BindingWarning,
    BoundReferences,
    MemoryStorage,
    Row,
    TaskBindings,
)
from knowledge_provider.sources.bridging import ProviderSource, SourceProvider
from knowledge_provider.sources.listing import DocumentListing, DocumentPage, list_documents, list_merged
from knowledge_provider.sources.records import MergedRecords, SourceRecord, SourceStatus
from knowledge_provider.sources.references import (
    ExternalKnowledgeRef,
    read_reference,
    target_key,
)
from knowledge_provider.sources.registry import RetrievalSource, SourceRegistry
from knowledge_provider.sources.rendering import (
    OpenerRegistry,
    RenderedReference,
    SourceViewRegistry,
    render_message,
    render_reference,
    render_source_view,
)
from knowledge_provider.sources.retrieving import retrieve_merged
from knowledge_provider.sources.sqlite_storage import SQLiteStorage
from knowledge_provider.sources.validating import validate_references

__all__ = [
    "BindingStorage",
    "BindingWarning",
    "BoundReferences",
    "DocumentListing",
    "DocumentPage",
    "ExternalKnowledgeRef",
    "MemoryStorage",
    "MergedRecords",
    "OpenerRegistry",
    "ProviderSource",
    "ReferenceVerdict",
    "RenderedReference",
    "RetrievalSource",
    "Row",
    "SQLiteStorage",
    "SourceProvider",
    "SourceRecord",
    "SourceRegistry",
    "SourceStatus",
    "SourceViewRegistry",
    "TaskBindings",
    "list_documents",
    "list_merged",
    "read_reference",
    "render_message",
    "render_reference",
    "render_source_view",
    "retrieve_merged",
    "target_key",
    "validate_references",
]
