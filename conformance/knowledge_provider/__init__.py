"""The contract of a knowledge retrieval provider, and the pure functions that a host needs."""

from knowledge_provider.cancel import CancelSignal as CancelSignal
from knowledge_provider.citations import CitationLedger as CitationLedger
from knowledge_provider.errors import ERROR_CODES as ERROR_CODES
from knowledge_provider.errors import KnowledgeError as KnowledgeError
from knowledge_provider.errors import error_code as error_code
from knowledge_provider.limits import PROTOCOL_VERSION as PROTOCOL_VERSION
from knowledge_provider.models import Health as Health
from knowledge_provider.models import ProviderDescription as ProviderDescription
from knowledge_provider.models import RetrievalContext as RetrievalContext
from knowledge_provider.models import RetrievalRequest as RetrievalRequest
from knowledge_provider.models import RetrievalResult as RetrievalResult
from knowledge_provider.models import Source as Source
from knowledge_provider.normalize import normalize_response as normalize_response
from knowledge_provider.outcome import Citation as Citation
from knowledge_provider.outcome import Outcome as Outcome
from knowledge_provider.protocol import KnowledgeProvider as KnowledgeProvider
from knowledge_provider.uris import public_uri as public_uri
