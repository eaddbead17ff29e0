"""Every check of renderers in the order of a run, and how they see one. Runs nothing."""

from collections.abc import Mapping
from typing import Final

from knowledge_conformance.check import Check, in_phases
from knowledge_conformance.checks import renderers
from knowledge_conformance.renderer_subject import RendererSubject

CHECKS: Final[tuple[Check, ...]] = in_phases(*renderers.CHECKS)
"""Every check of what puts retrieved text in front of a model, prerequisites first."""

SUBJECT: Final = RendererSubject
"""What a check looks at."""

NOT_TESTED: Final[Mapping[str, str]] = {
    "12.1 (the override)": "what a host has asked for in so many words is its own decision",
    "12.1 (other templates)": "models read chat templates in more ways than those that are tried",
}
"""Clauses about renderers, or lines of them, that no check stands for, with the reason."""
