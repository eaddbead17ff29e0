"""Where reports are written: as what the suffix says, each in its place."""

from pathlib import Path

import pytest
from sample_reports import TARGET, sample

from knowledge_conformance.reading import read_report
from knowledge_conformance.writing import SUFFIXES, SuffixError, checked, write_reports

OTHER = sample(target="acme.other:provider")


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".HTML"])
def test_a_report_is_what_its_suffix_says(suffix: str, tmp_path: Path) -> None:
    """In a folder that is made."""
    path = tmp_path / "out" / f"report{suffix}"
    write_reports(checked(path), [sample()])
    begins = {".json": "{", ".html": "<!doctype html>", ".htm": "<!doctype html>"}.get(
        suffix.lower(), "## ✓ conformant"
    )
    assert path.read_text(encoding="utf-8").startswith(begins)


@pytest.mark.parametrize("name", ["report", "report.txt", "report.json.gz", ".json"])
def test_another_suffix_is_refused(name: str) -> None:
    """Before anything is run."""
    with pytest.raises(SuffixError, match=r"ends in: .json, .html or .md"):
        checked(Path(name))


def test_a_page_and_a_summary_hold_all_reports(tmp_path: Path) -> None:
    """One file."""
    for name in ("page.html", "summary.md"):
        write_reports(tmp_path / name, [sample(), OTHER])
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert "acme.search" in text
        assert "acme.other" in text
    assert len(list(tmp_path.iterdir())) == 2


def test_json_is_one_file_for_each_report_whatever_their_names(tmp_path: Path) -> None:
    """Two targets that are spelled alike, and the same one as two kinds."""
    host = sample().model_copy(update={"kind": "host"})
    write_reports(tmp_path / "all.json", [sample(), OTHER, host, sample(target="acme.search-provider")])
    found = [read_report(path) for path in tmp_path.iterdir()]
    assert sorted((each.target, each.kind) for each in found) == [
        ("acme.other:provider", "provider"),
        ("acme.search-provider", "provider"),
        (TARGET, "host"),
        (TARGET, "provider"),
    ]
