"""Placeholder; replaced at once."""
import re
def has_surrogate(text: str) -> bool:
    return any("\ud800" <= c <= "\udfff" for c in text)
def is_blank(text: str) -> bool:
    return not text.strip()
def short_text(value: object, limit: int) -> str:
    return re.sub(r"\s+", " ", value).strip()[:limit] if isinstance(value, str) else ""
