"""What no reference and no record may hold: raw URLs and credentials; and what is a place of a source's own instead.

Knows text alone, and never returns what it found.

It reads what is written, and can know no secret by its look alone: it finds links, parameters with the names of secrets
and the token formats that vendors publish.
"""

import re
import unicodedata
from typing import Final
from urllib.parse import unquote

from knowledge_provider import limits
from knowledge_provider.text import short_text
from knowledge_provider.uris import uri_fault

TEXT_MAX: Final = 2000
"""Code points that are looked at; no field of a reference or a record is longer."""

# What a browser or a downloader would open. Other schemes are a provider's own: ``ap:kb-1`` is no raw URL.
_OPENED: Final = (
    "https?|ftps?|sftp|wss?|file|data|blob|javascript|vbscript|s3[an]?|gs|gcs|az|abfss?|wasbs?|hdfs|smb|cifs|nfs|ssh|scp|git|"
    "svn|rsync|webdavs?|davs?|jdbc|odbc|postgres(?:ql)?|mysql|mongodb(?:\\+srv)?|rediss?|amqps?|ldaps?"
)
_RAW: Final = re.compile(rf"(?<![a-z0-9])(?:{_OPENED}):\S|^[/\\]{{2}}\S|(?<![a-z0-9.])www\.[a-z0-9-]+\.")
_USER_INFO: Final = re.compile(r"[/\\]{2}[^/\\\s@]*@")
_PARAMETER: Final = (
    r"(?:(?:api|access|secret|private|auth|subscription)[_-]?key|(?:[a-z]+[_-])?(?:token|secret|password|passwd|pwd|"
    r"credentials?|signature))"
)
_NAMED: Final = re.compile(
    rf"(?<![a-z0-9]){_PARAMETER}\s*=\s*\S|(?<![a-z0-9]){_PARAMETER}[\"']?\s*:\s*[\"']?(?=[^\s0-9]{{0,64}}+[0-9])\S{{8,}}"
)
# Above and below, a digit is looked for in 64 characters, and no shorter beginning is tried again: that would hold the
# loop for seconds (clause 7.4), and a token that begins with 64 letters is none that a machine made.
# The forms that vendors publish so that scanners find them. Case matters in them.
_FORMS: Final = re.compile(
    r"(?<![A-Za-z0-9])(?:sk-(?=[^\s0-9]{0,64}+[0-9])[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|"
    r"github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|xox[abeprs]-[A-Za-z0-9-]{10,}|(?:AKIA|ASIA)[A-Z0-9]{16}|"
    r"AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{20,}|(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}|"
    r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{40,}|dapi[a-f0-9]{32}|"
    r"ATATT[A-Za-z0-9_=-]{20,}|(?:ntn_|lin_api_|hf_)[A-Za-z0-9]{20,}|eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}|"
    r"(?:[Bb]earer|[Bb]asic) (?=[^\s0-9]{0,64}+[0-9])[A-Za-z0-9._~+/=-]{12,})|-----BEGIN [A-Z ]*PRIVATE KEY"
)
# What there is in every text that the expressions above find: to look for it takes a tenth of their time.
_SIGNS_OF_FORMS: Final = (
    "sk-",
    "gh",
    "github_",
    "glpat-",
    "xox",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29",
    "k_live_",
    "k_test_",
    "SG.",
    "npm_",
    "pypi-",
    "dapi",
    "ATATT",
    "ntn_",
    "lin_api_",
    "hf_",
    "eyJ",
    "earer",
    "asic",
    "--",
)
_SIGNS_OF_NAMES: Final = ("key", "token", "secret", "passw", "pwd", "credential", "signature")

# A source that quotes its ids, and a link that was quoted already.
_ENCODED_TIMES: Final = 2

_URI: Final = re.compile(r"[a-z][a-z0-9+.-]*:[\x21-\x7e]+", re.IGNORECASE)


def is_uri(text: str) -> bool:
    """Whether a text is a URI of one line, of any scheme, and no longer than a record may have it."""
    return len(text) <= limits.URI_MAX and _URI.fullmatch(text) is not None


def own_scheme(name: str) -> str:
    """The scheme of a source's own places: its name, or one made of it.

    A source may be called ``s3``, ``team-data`` or ``4``, and what begins so is a raw URL to whoever reads it, or none.
    """
    made = (name, f"{name}-place", f"place-{name}-place")
    return next((each for each in made if is_uri(f"{each}:x") and fault(f"{each}:x") is None), "place")


def fault(text: str) -> str | None:
    """``a raw URL``, ``a credential``, or None where the text has neither, percent-encoded or not."""
    for _ in range(_ENCODED_TIMES):
        found, decoded = _fault(text), unquote(text) if "%" in text else text
        if found or decoded == text:
            return found
        text = decoded
    return _fault(text)


def _fault(text: str) -> str | None:
    # Full-width letters and invisible characters are read as a browser reads them.
    read = short_text(unicodedata.normalize("NFKC", text), TEXT_MAX)
    folded = read.casefold()
    if (
        (_has(read, _SIGNS_OF_FORMS) and _FORMS.search(read))
        or (_has(folded, _SIGNS_OF_NAMES) and _NAMED.search(folded))
        or _USER_INFO.search(folded)
        or _has_secret_part(read)
    ):
        return "a credential"
    return "a raw URL" if _has(folded, (":", "www.", "//", "\\")) and _RAW.search(folded) else None


def _has(text: str, signs: tuple[str, ...]) -> bool:
    return any(sign in text for sign in signs)


def _has_secret_part(text: str) -> bool:
    found = uri_fault(text)
    return found is not None and found.is_credential
