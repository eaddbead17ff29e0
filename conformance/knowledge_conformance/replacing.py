"""Puts a text in the place of a file, whole or not at all; knows files, not what stands in them."""

import contextlib
import os
import tempfile
from pathlib import Path


def replace_text(path: Path, text: str) -> None:
    """Write ``text`` as UTF-8 where ``path`` leads, with the rights of the file that was there; raises ``OSError``."""
    # Beside it and then in its place, so that whoever reads it meanwhile, or a power cut, finds one or the other.
    place = path.resolve()
    descriptor, temporary = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        mode = place.stat().st_mode & 0o7777 if place.exists() else 0o644
        Path(temporary).chmod(mode)
        Path(temporary).replace(place)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise
