r"""Takes what may be a key out of a text before anybody sees it; knows how secrets are written, no provider or report.

Known secrets go first, in every spelling that a library might give them. Then sieves take what only looks like a
secret: by the place it stands in (a URL, a header, ``name=value``), by a vendor's prefix, and at last any long run of
mixed letters and digits. A sieve may take too much; it must not take too little.

Every expression takes linear time on any text: what may fail after a repetition has a bounded repetition. No sieve
takes a mask for a secret, so that a text may be redacted alone and again as a part of a longer one.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final
from urllib.parse import unquote_plus

from knowledge_conformance.taint import spelled

MASK: Final = "[redacted]"
"""What stands where a secret stood."""

LOOKED_AT_MAX: Final = 20_000
"""Code points of a text that are looked at; what comes after them is not shown."""

# What a cut leaves of a key may be shorter than a sieve recognises, so the last characters go with it.
_CUT_END: Final = 64

_Replacement = str | Callable[[re.Match[str]], str]


def redact(text: str, secrets: Iterable[str] = (), *, limit: int = LOOKED_AT_MAX, random: bool = True) -> str:
    """``text`` without what may be a key, each one replaced by ``[redacted]``; pure and total.

    ``secrets`` are taken out wherever they stand, in every spelling that ``spellings`` names. At most ``limit`` code
    points are looked at; a longer text is cut there, and "…" says so. Without ``random``, what is a key only by its
    mixed letters and digits stays: it may be an id.
    """
    text = str.__str__(text)
    shown = mask_known(text, secrets, limit=limit)
    if len(text) > limit:
        shown = _before_cut(shown)
    for pattern, replacement in _SIEVES if random else _SIEVES[:-1]:
        shown = pattern.sub(replacement, shown)
    return f"{shown}…" if len(text) > limit else shown


def _before_cut(text: str) -> str:
    # User-info is told by the "@" behind it, which may have been cut off: of a URL, nothing is kept.
    start = max(map(text.rfind, " \t\r\n")) + 1
    word = text[start:]
    return text[:start] + (word.partition("//")[0] if "//" in word else word[:-_CUT_END])


def mask_known(text: str, secrets: Iterable[str], *, limit: int = LOOKED_AT_MAX) -> str:
    """The first ``limit`` code points of ``text`` with known secrets masked, and nothing else; no guesses."""
    known = frozenset(spelling for secret in secrets for spelling in spellings(secret))
    # A secret that begins within the limit is masked whole, also where it goes beyond.
    window = str.__str__(text)[: limit + max(map(len, known), default=0)]
    parts: list[str] = []
    at = 0
    for start, end in sorted(_places(window, known)):
        if start >= limit:
            break
        if start > at or not parts:
            parts += [window[at:start], MASK]
        at = max(at, end)
    return "".join([*parts, window[at:limit]])


def spellings(secret: str) -> frozenset[str]:
    """Every way in which a secret is masked: each in which it is searched for (``taint.spelled``)."""
    return frozenset(spelled(secret))


def _places(text: str, known: Iterable[str]) -> Iterator[tuple[int, int]]:
    # Overlapping ones too, so that no rest of one secret stays beside another.
    for spelling in known:
        start = text.find(spelling)
        while start >= 0:
            yield start, start + len(spelling)
            start = text.find(spelling, start + 1)


# Names that hold a secret, by their end: "OPENAI_API_KEY", "x-api-key", "clientSecret", "db.password".
_NAME: Final = r"""(?:
    pass(?:word|wd|phrase)[\w-]{0,16} | secret[\w-]{0,24} | pwd | token | credentials? | jwt | signature
  | (?:access|account|api|app|auth|client|encryption|function|license|master|private|secret|service|shared|signing
      |storage|subscription)[-_ ]?key (?:[-_]?id|\ provided)?
  | session[-_]?id | (?<![A-Za-z])(?:auth|hmac|otp|pass|pw|sid|sig)
)"""
# What binds a name to its value: "=", ":", "=>", ">" of a tag, and "," in a list of pairs.
_LINK: Final = r"""(?: \\{0,8}["'`]?\]?\s{0,4}(?:=>|:=|[:=>]|(?<=["'`]),)\s{0,4} )"""
_NOTHING: Final = r"(?!(?:None|null|true|false)\b)"
_QUOTED: Final = r"""(?P<open>[A-Za-z]{0,2}(?P<mark>\\{0,8}["'`]))(?:(?!(?P=mark))(?:\\.|.))*"""
_BARE: Final = r"""(?:[^\s&;"'`,]|,(?=\S)|'(?=\w))+"""
_BRACKETED: Final = rf"(?!{re.escape(MASK)})[\[({{][^\])}}]*[\])}}]?(?:{_BARE})?"
_FLAGS: Final = re.VERBOSE | re.IGNORECASE | re.DOTALL

# Vendors' prefixes; where one is also how a word begins ("npm_config_registry"), a digit or a capital must follow.
_PREFIXED: Final = r"""(?<![A-Za-z0-9])(?:
    sk-[\w-]{8,} | [prs]k_(?:live|test)_\w{8,} | gh[oprsu]_\w{8,} | github_pat_\w{8,}
  | gl(?:agent|cbt|dt|ffct|ft|imt|oas|pat|ptt|rt|soat)-[\w-]{8,} | xox[a-z]-[\w-]{6,} | xapp-[\w-]{8,}
  | (?:A3T[A-Z0-9]|AGPA|AIDA|AKIA|ANPA|AROA|ASIA)[A-Z0-9]{8,} | AIza[\w-]{16,} | ya29\.[\w.-]{8,}
  | (?:dop_v1|gsk|hf|lin_api|npm|nvapi|pcsk|pplx|pypi|r8|tvly|whsec)[-_](?=[a-z_-]{0,80}[A-Z0-9])[\w-]{12,}
  | SG\.[\w-]{8,}\.[\w-]{8,}
  | eyJ[\w-]{4,}(?:\.[\w-]*){1,4}
)"""

# Browsers leave out a line end inside a URL; in a text, more than one is no part of a name.
_PARAMETER_WORD: Final = r"[^=&;\#\s?]{1,120}"
_PARAMETER: Final = (
    rf"(?P<mark>[?&;\#])(?P<name>{_PARAMETER_WORD}(?:[\t\r\n]{{1,2}}{_PARAMETER_WORD})?)="
    r"""(?:[^&;\#\s"'<>]|'(?=\w))*"""
)

# Names that are secrets in a query alone; elsewhere they are ordinary words ("key" is a field of a description).
_QUERY_NAMES: Final = frozenset(
    {
        *("auth", "authorization", "code", "hmac", "key", "otp", "pass", "samlresponse", "sig", "ticket"),
        *("jsessionid", "phpsessid", "session", "sid"),
        *("hdnts", "verify", "awsaccesskeyid", "googleaccessid", "keypairid", "ossaccesskeyid", "qsignature"),
        *("xamzcredential", "xgoogcredential"),
    }
)
_NAME_AT_END: Final = re.compile(rf"{_NAME}\Z", _FLAGS)

_CLASS_NAME: Final = re.compile(r"[A-Z][A-Za-z0-9]*(?:Error|Exception|Exit|Interrupt|Timeout|Warning)")
# A secret access key of AWS: Base64, so it may look like a path.
_FORTY: Final = re.compile(r"(?=.{0,39}[a-z])(?=.{0,39}[A-Z])(?=.{0,39}[0-9])[A-Za-z0-9/+]{40}")
_EXPONENT: Final = re.compile(r"[0-9]{1,17}[eE][+-][0-9]{1,3}")
_PROSE: Final = re.compile(r"[A-Za-z][a-z]{0,19}(?:[-_/.][a-z]{1,20})*[.-]?")
_LONG_WORD: Final = re.compile(r"[A-Za-z0-9]{16,}")
# Where the kind of character changes inside a word; a capital that begins a word is no change.
_CHANGE: Final = re.compile(r"(?<=[a-z])[A-Z0-9]|(?<=[A-Z])[0-9]|(?<=[0-9])[A-Za-z]")


def _keep_mark(match: re.Match[str]) -> str:
    return f"{match['name']}{match['open'] or ''}{MASK}"


def _query_value(match: re.Match[str]) -> str:
    secret = names_parameter(unquote_plus(match["name"]))
    return f"{match['mark']}{match['name']}={MASK}" if secret else match[0]


def names_parameter(name: str) -> bool:
    """Whether a parameter of a query of this name holds a secret."""
    plain = re.sub(r"[-_\s\[\]?]", "", name).casefold()
    return plain in _QUERY_NAMES or names_secret(name) or names_secret(plain)


def names_secret(name: str) -> bool:
    """Whether a field of this name, wherever it stands, holds a secret."""
    return _NAME_AT_END.search(name) is not None


def _scheme_value(match: re.Match[str]) -> str:
    # "Basic understanding" is prose, "Basic dXNlcjpwYXNz" is not.
    return match[0] if _PROSE.fullmatch(match["value"]) else f"{match['name']}{MASK}"


def _run(match: re.Match[str]) -> str:
    if _EXPONENT.fullmatch(match[0]):
        return match[0]
    if _FORTY.fullmatch(match[0]):
        return MASK
    parts = re.split("(/+)", match[0])
    # A slash is a character of Base64 too: beside one random part, a shorter one is suspect.
    least = 4 if any(_is_random(part, 16) for part in parts) else 16
    return "".join(MASK if _is_random(part, least) else part for part in parts)


def _is_mixed(word: str) -> bool:
    return not word.isalpha() and not word.isdigit() and not _CLASS_NAME.fullmatch(word)


def _is_random(part: str, least: int) -> bool:
    if any(map(_is_mixed, _LONG_WORD.findall(part))):
        return True
    # A random text changes its kind at every second character, a written one at every sixth.
    return len(part) >= least and len(_CHANGE.findall(part)) * 4 >= len(part)


_SIEVES: Final[tuple[tuple[re.Pattern[str], _Replacement], ...]] = (
    # PEM, also unfinished and with escaped line ends.
    (re.compile(r"-----BEGIN [^-\n]{0,60}-----.*?(?:-----END [^-\n]{0,60}-----|\Z)", re.DOTALL), MASK),
    # URI policy, rule 3: user-info as browsers read it (any slashes, tabs and line ends inside) ...
    (re.compile(r"((?:\b(?:https?|wss?|ftp):[/\\]*|[/\\]{2}))[^ /\\?#]{0,1000}@", re.IGNORECASE), rf"\1{MASK}@"),
    # ... as database drivers do, where a password may hold a slash (but "host:8080/" is a port) ...
    (re.compile(r"(//)[^\s/@:]{0,200}:(?![0-9]{1,5}[/?#])\S{0,1000}@"), rf"\1{MASK}@"),
    # ... and with no scheme at all: "root:password@tcp(db)".
    (re.compile(r"(?<![\w/])([\w.-]{1,64}:)(?!\\)[^\s@/:\"']{1,256}@(?=[\w(\[])"), rf"\1{MASK}@"),
    # URI policy, rule 6, in a query or a fragment.
    (re.compile(_PARAMETER), _query_value),
    (re.compile(r"(;jsessionid=)[^\s/?#;\"']+", re.IGNORECASE), rf"\1{MASK}"),
    # Headers: the whole value, which may have several words.
    (
        re.compile(rf"(?P<name>(?:authorization|cookie){_LINK})(?:{_QUOTED}|[^\r\n]+)", _FLAGS),
        _keep_mark,
    ),
    (
        re.compile(
            r"(?P<name>\b(?:apikey|basic|bearer|digest|negotiate|token)(?:\s{1,4}|%20|\+))(?P<value>[A-Za-z0-9_.~+/=-]{6,})",
            re.IGNORECASE,
        ),
        _scheme_value,
    ),
    (re.compile(rf"(?P<name>{_NAME}{_LINK}){_NOTHING}(?:{_BRACKETED}|{_QUOTED}|{_BARE})", _FLAGS), _keep_mark),
    (re.compile(rf"(?<![\w-])(--[\w-]{{0,80}}{_NAME}\s{{1,4}}){_BARE}", _FLAGS), rf"\1{MASK}"),
    (re.compile(_PREFIXED, re.VERBOSE | re.ASCII), MASK),
    (re.compile(r"[A-Za-z0-9_+/-]{16,}={0,2}"), _run),
)
