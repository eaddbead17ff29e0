"""Ids that are not the same as another and look like it, or become it where somebody tidies; knows texts alone."""

import unicodedata
from collections.abc import Iterator
from typing import Final

LOOKALIKES_MAX: Final = 7
"""So many at most for one id."""

# Cyrillic and Greek letters that most fonts draw as the Latin ones.
_TWINS: Final = str.maketrans("aceiopxyAEOP", "асеіорхуΑΕΟΡ")
_FULL_WIDTH: Final = 0xFEE0


def lookalikes(id_: str) -> dict[str, str]:
    """Ids that look like this one, by how they differ from it; each is another text, and none is blank.

    White space, an invisible character, the case, a compatibility form, a normal form, letters of another alphabet:
    what ``strip``, ``casefold``, ``unicodedata.normalize``, a database's collation or an eye takes for the same.
    """
    made = {
        "a space at the end": f"{id_} ",
        "a line end before it": f"\n{id_}",
        "an invisible character": f"{id_[:1]}\u200b{id_[1:]}",
        "the other case": id_.swapcase(),
        "a full-width character": "".join(_widened(id_)),
        "another normal form": _other_form(id_),
        "letters of another alphabet": id_.translate(_TWINS),
    }
    return {how: each for how, each in made.items() if each != id_}


def _widened(id_: str) -> Iterator[str]:
    place = next((at for at, letter in enumerate(id_) if "!" <= letter <= "~"), len(id_))
    for at, letter in enumerate(id_):
        yield chr(ord(letter) + _FULL_WIDTH) if at == place else letter


def _other_form(id_: str) -> str:
    composed, decomposed = (unicodedata.normalize(form, id_) for form in ("NFC", "NFD"))
    return decomposed if id_ == composed else composed
