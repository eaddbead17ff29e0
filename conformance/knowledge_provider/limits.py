"""The contract's numbers, each once; knows no model, text rule or error.

Text limits count code points. The numbers are part of protocol version 1.
"""

from typing import Final

PROTOCOL_VERSION: Final = 1
"""The only protocol version (clause 1.3)."""

# Clauses 1.4 to 1.6: what a provider says about itself.
KEY_MAX: Final = 64
LABEL_MAX: Final = 120
CAPABILITIES_MAX: Final = 16

# Clause 2.1.
HEALTH_SECONDS: Final = 5.0
HEALTH_MESSAGE_MAX: Final = 500

# Clause 3.1: the request.
QUERY_MAX: Final = 500
TOP_K_MIN: Final = 1
TOP_K_MAX: Final = 8
TOP_K_DEFAULT: Final = 5
BASES_MAX: Final = 8
BASE_ID_MAX: Final = 120

# Clauses 5.2, 5.5 and 5.6: the response.
RESULT_ID_MAX: Final = 160
CONTENT_MAX: Final = 4000
SOURCE_ID_MAX: Final = 120
SOURCE_TITLE_MAX: Final = 300
SOURCE_MIME_TYPE_MAX: Final = 120
SOURCE_LOCATOR_MAX: Final = 300
METADATA_ENTRIES_MAX: Final = 16
METADATA_KEY_MAX: Final = 80
METADATA_TEXT_MAX: Final = 500

# The URI policy, rule 1.
URI_MAX: Final = 2000

# Rules N2, N12 and N13: what the host makes of a response.
CANDIDATES_PER_RESULT: Final = 8
SNIPPET_MAX: Final = 1200
PROVIDER_NAME_MAX: Final = 120
SOURCE_REPORTS_MAX: Final = 64

# Clause 7: time.
CALL_SECONDS_DEFAULT: Final = 10.0
CANCEL_SECONDS: Final = 1.0
LOOP_HELD_SECONDS: Final = 0.25
DESCRIBE_SECONDS: Final = 0.05
CONCURRENCY_DEFAULT: Final = 8
CONCURRENCY_MAX: Final = 32
