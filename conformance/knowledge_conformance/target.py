"""What ``module:obj`` names and how a provider is made of it; knows importing and opening, no contract clause.

``module:obj+fault`` is the same provider with a fault of ``knowledge_fakes.faults`` in it.
"""

import importlib
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from itertools import accumulate
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from knowledge_conformance.manner import Step
from knowledge_conformance.render import show, show_error

if TYPE_CHECKING:
    # A user's ordinary run has no use for the faults.
    from knowledge_fakes.faults import Fault, Misread

_SHAPE: Final = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*(\+[a-z][a-z0-9_]*)?")


A_PROVIDER: Final = "a provider, or what makes one"
A_SOURCE: Final = "a retrieval source, or what makes one"


class TargetError(Exception):
    """The target cannot be used; the message is one line that says what was wanted and what came."""


@dataclass(frozen=True, slots=True)
class Target:
    """A loaded target. ``instance``: the object itself is the provider, and lives for the whole run.

    ``wrap`` is put over each provider of it: a fault, to see whether the checks catch it here. So is ``misread``, where
    the fault is what becomes of bad replies.
    """

    name: str
    value: Any
    instance: bool
    wrap: Callable[[Any], Any] | None = None
    misread: "Misread | None" = None

    def with_fault(self, fault: "Fault") -> "Target":
        """The same with a fault in each provider of it."""
        if fault.misread is not None and not fault.at_home(self.name):
            return replace(self, misread=fault.misread)
        return replace(self, wrap=fault.wrap)


def check_name(name: str) -> str:
    """``name`` when it reads ``module:obj``; raises ``TargetError`` otherwise."""
    if not isinstance(name, str) or not _SHAPE.fullmatch(name):
        raise TargetError(f"{show(name)} is not a target: wanted module:object, such as acme.search:provider")
    return name


def load(name: str, wanted: str = A_PROVIDER) -> Target:
    """Import a target; raises ``TargetError`` for whatever goes wrong, ``SystemExit`` of the module included.

    ``wanted`` says in words what it has to be.
    """
    plain_name, _, fault = check_name(name).partition("+")
    if not fault:
        return _loaded(name, wanted)
    # Only then, since they take long to load.
    from knowledge_fakes.faults import FAULTS

    if wanted != A_PROVIDER or fault not in FAULTS:
        known = "knowledge-kit faults lists them" if wanted == A_PROVIDER else "only a provider can be given one"
        raise TargetError(f"cannot load {name}: there is no fault {fault!r}; {known}")
    return replace(_loaded(plain_name, wanted).with_fault(FAULTS[fault]), name=name)


def _loaded(name: str, wanted: str) -> Target:
    module_name, _, path = name.partition(":")
    value = _imported(module_name, name)
    try:
        for attribute in path.split("."):
            value = _attribute(value, attribute, name)
        return target_of(value, name, wanted)
    except TargetError:
        raise
    except AttributeError:
        raise TargetError(f"cannot load {name}: {module_name} has no {path!r}{_taken(module_name)}") from None
    except BaseException as error:  # so may an object when it is looked at
        raise TargetError(f"cannot use {name}: looking at it raised {show_error(error)}") from None


def _imported(module_name: str, name: str) -> Any:
    try:
        return importlib.import_module(module_name)
    except BaseException as error:  # a module may raise anything while it is imported
        raise TargetError(f"cannot load {name}: {_not_imported(error, module_name)}") from None


def _attribute(value: Any, attribute: str, name: str) -> Any:
    try:
        return getattr(value, attribute)
    except AttributeError:
        # Clause 1.1: any object, also a module, which its package has as an attribute once it is imported.
        module_name = f"{value.__name__}.{attribute}" if isinstance(value, ModuleType) else ""
        if not (hasattr(value, "__path__") and _is_found(module_name)):
            raise
    return _imported(module_name, name)


def _not_imported(error: BaseException, module_name: str) -> str:
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    if missing is None:
        return f"importing {module_name} raised {show_error(error)}"
    if f"{module_name}.".startswith(f"{missing}."):
        where = f"the folder where the run starts is on it{_taken(module_name)}"
        return f"there is no module {missing!r} on the path ({where})"
    return f"{module_name} imports {missing!r}, which is not installed"


def _taken(module_name: str) -> str:
    top = module_name.partition(".")[0]
    standard = top in sys.stdlib_module_names
    return f"; {top} is a module of the standard library, so name yours otherwise" if standard else ""


def target_of(value: Any, name: str, wanted: str = A_PROVIDER) -> Target:
    """What kind of target an object is; raises ``TargetError`` for one that can be none.

    An object with ``describe`` or ``retrieve`` is a provider as it is, a context manager is entered for the whole run,
    and any other callable makes a fresh provider for each check.
    """
    if inspect.isclass(value) or inspect.isroutine(value):
        return Target(name, value, instance=False)
    if _is_provider(value) or _is_context_manager(value):
        return Target(name, value, instance=True)
    if callable(value):
        return Target(name, value, instance=False)
    raise TargetError(f"cannot use {name}: it is {_kind(value)}; wanted {wanted}")


class Opening(NamedTuple):
    """A provider, and the steps that led to it from its target."""

    provider: Any
    steps: tuple[Step, ...] = ()

    @property
    def entered(self) -> bool:
        """Whether it came out of a context manager."""
        return "with" in self.steps or "async with" in self.steps


async def open_provider(target: Target, stack: AsyncExitStack) -> Opening:
    """A provider of the target; a context manager that it came out of is on ``stack``. Raises ``TargetError``."""
    try:
        value, steps = (target.value, ()) if target.instance else await _made(target.value)
        if _is_provider(value):
            return Opening(_wrapped(target, value), steps)
        value, entered = await _entered(value, stack)
        if _is_provider(value):
            return Opening(_wrapped(target, value), (*steps, *entered))
    except BaseException as error:  # a factory may raise anything
        raise TargetError(f"cannot open {target.name}: it raised {show_error(error)}") from error
    raise TargetError(f"cannot open {target.name}: it gave {_kind(value)}, which has no describe and no retrieve")


def _wrapped(target: Target, provider: Any) -> Any:
    return provider if target.wrap is None else target.wrap(provider)


def factory_of(
    target: Target, wanted: str, arguments: tuple[tuple[object, ...], Mapping[str, object]]
) -> Callable[..., Any]:
    """The target itself, which can be called with ``arguments``; ``TargetError`` unless it is what is ``wanted``."""
    factory: Callable[..., Any] = target.value
    if not callable(factory):
        raise TargetError(f"cannot use {target.name}: it is {_kind(factory)}; wanted {wanted}")
    try:
        positional, named = arguments
        inspect.signature(factory).bind(*positional, **named)
    except TypeError as error:
        raise TargetError(f"cannot use {target.name}: {show_error(error)}; wanted {wanted}") from None
    except BaseException:  # its signature cannot be read, which says nothing
        return factory
    return factory


async def _made(factory: Callable[[], Any]) -> tuple[Any, tuple[Step, ...]]:
    # A synchronous factory runs on the loop's thread, as it would in a host: what it makes may bind itself to the loop.
    value = factory()
    return (await value, ("call", "await")) if inspect.isawaitable(value) else (value, ("call",))


async def _entered(value: Any, stack: AsyncExitStack) -> tuple[Any, tuple[Step, ...]]:
    if hasattr(type(value), "__aenter__"):
        return await stack.enter_async_context(value), ("async with",)
    if hasattr(type(value), "__enter__"):
        return stack.enter_context(value), ("with",)
    return value, ()


def _is_provider(value: object) -> bool:
    return not inspect.isclass(value) and (hasattr(value, "describe") or hasattr(value, "retrieve"))


def _is_context_manager(value: object) -> bool:
    return hasattr(type(value), "__aenter__") or hasattr(type(value), "__enter__")


def _kind(value: object) -> str:
    return f"a {type(value).__module__}.{type(value).__qualname__}"


def importable_name(value: object) -> str | None:
    """``module:qualname`` under which another process finds the same object, or None."""
    module_name, path = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if type(module_name) is not str or type(path) is not str or "<" in path:
        return None
    name = f"{module_name}:{path}"
    # A test file that pytest loads by its path has a name that no other process can import.
    if module_name == "__main__" or not _SHAPE.fullmatch(name) or not _is_found(module_name):
        return None
    found: Any = sys.modules.get(module_name)
    for attribute in path.split("."):
        found = getattr(found, attribute, None)
    return name if found is value else None


def _is_found(module_name: str) -> bool:
    """Whether an import in a new process would find the module: what is loaded here says nothing about that."""
    places = None
    for name in accumulate(module_name.split("."), "{}.{}".format):
        found = (finder.find_spec(name, places) for finder in sys.meta_path if hasattr(finder, "find_spec"))
        spec = next((spec for spec in found if spec is not None), None)
        if spec is None:
            return False
        places = spec.submodule_search_locations
    return True
