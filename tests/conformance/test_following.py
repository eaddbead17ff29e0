"""What is refused of what a user asks for beside a verdict, before anything is run."""

import os
from pathlib import Path

import pytest

from knowledge_conformance.following import FollowUpError, refuse_unwritable


@pytest.mark.parametrize("name", ["", "out", "out/more/of/it"])
def test_a_folder_need_not_be_there(name: str, tmp_path: Path) -> None:
    """It is made when there is something to write into it, and not before."""
    refuse_unwritable(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_takes_no_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The nearest one that is there decides; nothing is said of a folder that takes some."""
    locked = tmp_path / "locked"
    locked.mkdir()
    monkeypatch.setattr(os, "access", lambda place, _: place != locked)
    refuse_unwritable(tmp_path / "out")
    with pytest.raises(FollowUpError, match=r"locked/out: /.*/locked takes no files from you; name a folder"):
        refuse_unwritable(locked / "out")
    with pytest.raises(FollowUpError, match=r"locked: it takes no files from you; name a folder"):
        refuse_unwritable(locked)
