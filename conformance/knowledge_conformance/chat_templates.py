"""How common chat templates put messages into one text, and what a model reads out of it; knows marks, no renderer.

A mark is text that a tokenizer reads as a control token, or that a model was trained to read as a turn. Reading is
literal, as a tokenizer reads: whatever looks like a mark is one, whoever wrote it.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

Turn = tuple[str, str]
"""A role and what it says."""

OUTSIDE: Final = "outside"
"""The role of text that stands between turns, where none belongs."""


@dataclass(frozen=True, slots=True)
class ChatTemplate:
    """One template: what opens each role's turn, what closes a turn if anything does, and other control tokens."""

    name: str
    openings: Mapping[str, str]
    closing: str
    controls: tuple[str, ...] = ()

    def written(self, turns: Iterable[Turn]) -> str:
        """The turns as one text; a role must be one that the template opens."""
        return "".join(f"{self.openings[role]}{text}{self.closing}" for role, text in turns)

    def read(self, text: str) -> list[Turn]:
        """The turns that a model sees in it, with ``OUTSIDE`` for what is in none, and each other control as one."""
        roles = {opening: role for role, opening in self.openings.items()}
        marks = sorted(self.marks, key=len, reverse=True)
        before, *pairs = re.split(f"({'|'.join(map(re.escape, marks))})", text)
        read = [(OUTSIDE, before)]
        for mark, after in zip(pairs[::2], pairs[1::2], strict=True):
            read.append((roles.get(mark, OUTSIDE if mark == self.closing else mark), after))
        return [turn for turn in read if turn != (OUTSIDE, "")]

    @property
    def marks(self) -> tuple[str, ...]:
        """All of its marks."""
        return tuple(mark for mark in (*self.openings.values(), self.closing, *self.controls) if mark)


def _tagged(name: str, opening: str, closing: str, **spelled: str) -> ChatTemplate:
    roles = {"system": "system", "user": "user", "assistant": "assistant", **spelled}
    return ChatTemplate(name, {role: opening.format(word) for role, word in roles.items()}, closing)


CHAT_TEMPLATES: Final = (
    _tagged("ChatML", "<|im_start|>{}\n", "<|im_end|>\n"),
    _tagged("Llama 3", "<|start_header_id|>{}<|end_header_id|>\n\n", "<|eot_id|>"),
    _tagged("Llama 4", "<|header_start|>{}<|header_end|>\n\n", "<|eot|>"),
    _tagged("Gemma", "<start_of_turn>{}\n", "<end_of_turn>\n", assistant="model"),
    _tagged("Harmony", "<|start|>{}<|message|>", "<|end|>", system="developer"),
    _tagged("Phi and Zephyr", "<|{}|>\n", "<|end|>\n"),
    _tagged("DeepSeek", "<｜{}｜>", "<｜end▁of▁sentence｜>", system="System", user="User", assistant="Assistant"),
    _tagged(
        "Command R",
        "<|START_OF_TURN_TOKEN|><|{}_TOKEN|>",
        "<|END_OF_TURN_TOKEN|>",
        system="SYSTEM",
        user="USER",
        assistant="CHATBOT",
    ),
    ChatTemplate(
        "Llama 2",
        {"system": "[INST] <<SYS>>\n", "user": "<s>[INST] ", "assistant": " [/INST] "},
        "</s>",
        ("<</SYS>>", "[INST]", "[/INST]", "<s>"),
    ),
    ChatTemplate(
        "Mistral",
        {"system": "[SYSTEM_PROMPT]", "user": "[INST]", "assistant": "[/INST]"},
        "</s>",
        ("[/SYSTEM_PROMPT]", "[AVAILABLE_TOOLS]", "[TOOL_CALLS]", "[TOOL_RESULTS]", "[ARGS]", "[THINK]"),
    ),
    _tagged("Vicuna", "{}: ", "</s>", system="SYSTEM", user="USER", assistant="ASSISTANT"),
    _tagged("Alpaca", "\n\n### {}:\n", "", system="Input", user="Instruction", assistant="Response"),
    _tagged("transcript", "\n\n{}: ", "", system="System", user="Human", assistant="Assistant"),
)
"""Those of the families that most models in use are of."""

_TURN_LINE: Final = re.compile(
    r"^[\W_]*(?:system|user|assistant|human|developer|instruction|response)[\W_]*:", re.IGNORECASE | re.MULTILINE
)


def begins_a_turn(text: str) -> str | None:
    """The first beginning of a line in ``text`` that reads as somebody's turn, however it is decorated; or None."""
    found = _TURN_LINE.search(text)
    return None if found is None else found[0]
