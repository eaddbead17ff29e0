"""A block of retrieved text among LangChain's messages (clause 12.1); knows their classes, and no provider or model."""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from knowledge_provider.untrusted import leading_system, require_block


def inject_block(
    messages: Sequence[BaseMessage], block: str, *, allow_untrusted_system_message: bool = False
) -> list[BaseMessage]:
    """A new list: the same messages, and the block as a ``HumanMessage`` after the leading system messages.

    With ``allow_untrusted_system_message=True`` it is a ``SystemMessage``: whoever can write what is retrieved then
    speaks with the host's authority, framed or not. ``developer`` counts as system.

    Raises ``ValueError`` when ``block`` is not what ``render_block`` made, ``TypeError`` for what is no message.
    """
    place = leading_system([_role(message) for message in messages])
    made = SystemMessage if allow_untrusted_system_message is True else HumanMessage
    return [*messages[:place], made(content=require_block(block)), *messages[place:]]


def _role(message: Any) -> str:
    if not isinstance(message, BaseMessage):
        raise TypeError(
            f"messages must be LangChain's, since the block goes behind the system's; got {type(message).__name__}: "
            "for dictionaries, use knowledge_provider.untrusted.inject"
        )
    # Part of one that is streamed is of a type of its own.
    if isinstance(message, SystemMessage):
        return "system"
    # A ChatMessage has its role beside a type that is always "chat".
    role: str = getattr(message, "role", message.type)
    return role
