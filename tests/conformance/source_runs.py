"""A source as a check sees it, that nobody watches; knows no particular source."""

from collections.abc import Callable
from typing import Any

from knowledge_conformance.settings import Settings
from knowledge_conformance.source_subject import SourceSubject
from knowledge_conformance.source_survey import SourceSurvey


def subject_of(
    source: Any,
    settings: Settings,
    *,
    allowed: int = 100,
    surveyor: SourceSurvey | None = None,
    announce: Callable[[str, float], None] = lambda *_: None,
) -> SourceSubject:
    """A subject with a survey of its own, unless it is given one."""
    return SourceSubject(
        source, settings, allowed=allowed, announce=announce, surveyor=SourceSurvey() if surveyor is None else surveyor
    )
