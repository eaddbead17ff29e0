"""What shows a failure by how it came, whichever check it was: as ``repro_bodies``, and what stands beside a body."""

from typing import Final

ANSWERED: Final = "assert $answer is not None"
HUNG_IN_A_THREAD: Final = """
asked = REQUEST, CONTEXT
call = threading.Thread(target=$opened.retrieve, args=asked, daemon=True)
call.start()
call.join($seconds)
assert not call.is_alive()
"""
REFUSED: Final = """
codes = "knowledge_filters_unsupported", "knowledge_base_unknown"
try:
    $answer
except Exception as error:
    assert error_code(error) in codes, repr(error)
"""
DESCRIBED_AGAIN: Final = """
first = repr($opened.describe())
assert repr($opened.describe()) == first
"""
PARTS: Final = """
def parts(value):
    yield value
    if hasattr(value, "__iter__") and not isinstance(value, (str, bytes)):
        for part in value.items() if isinstance(value, dict) else value:
            yield from parts(part)
"""
"""A body that speaks of ``parts`` has this function beside it."""
