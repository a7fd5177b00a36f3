"""The reference of the public API in Markdown, from signatures and docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from enum import Enum
from types import ModuleType

WIDTH = 100
# The classes whose constructor is shown. Others are results of calls, or their fields are what their constructor takes.
CONSTRUCTED = ("LogDir", "Broker", "Kafka", "ScanFindings")
# Public for other parts of this package, not for users.
HIDDEN = (
    *("check_complete", "check_configs", "check_topic", "close_first", "disown"),
    *("action", "hitting", "is_empty", "last_requests", "try_hit"),
    *("future_and_stray", "make_dispatcher", "make_loop", "make_missing", "ownership", "producer_ids", "write_held"),
    *("LogDir.broker_sources", "LogDir.group_coordinator", "LogDir.log", "LogDir.logs", "LogDir.prefer_directory"),
    *("LogDir.shared", "LogDir.transactions", "Tally.add"),
    *(f"ScanFindings.{name}" for name in ("count", "damage", "loss", "note", "take", "unreadable")),
)
# What the reference shows for the factories of defaults.
EMPTY = {"dict": "{}", "list": "[]", "set": "set()"}
_SECTIONS = ("Args:", "Returns:", "Raises:", "Yields:")
_ENTRY = re.compile(r"^    ([*\w]+): ")
_FIELD = re.compile(
    r"^    (?P<name>[a-z]\w*): (?P<kind>[^=#\n]+?)(?: = (?P<default>[^#\n]+?))?(?:  # (?P<doc>.*))?$", re.M
)


def api_reference(module: ModuleType) -> str:
    """All public names of a module: functions, then classes, then errors."""
    names = [name for name in module.__all__ if not name.startswith("__")]
    found = {name: getattr(module, name) for name in names}
    errors = {name: value for name, value in found.items() if _is_error(value)}
    classes = {name: value for name, value in found.items() if inspect.isclass(value) and name not in errors}
    functions = {name: value for name, value in found.items() if callable(value) and not inspect.isclass(value)}
    missing = [name for name, value in found.items() if not _doc(value)]
    assert not missing, f"without a docstring: {missing}"
    parts = [_function(f"{module.__name__}.{name}", value) for name, value in functions.items()]
    parts += [part for name, value in classes.items() for part in _class(name, value)]
    if errors:
        parts.append(_errors(errors))
    return "\n".join(parts)


def annotated(module: ModuleType) -> Iterator[tuple[str, str]]:
    """The place and text of each annotation in the signatures, attributes and fields of what the reference lists."""
    for name in module.__all__:
        value = getattr(module, name)
        if not inspect.isclass(value):
            members = [(name, value)] if callable(value) else []
        else:
            members = [(f"{name}.{member}", found) for member, found in _members(value)]
            members += [(name, value.__init__)] if name in CONSTRUCTED else []
            yield from ((f"{name}.{field}", kind) for field, kind, *_ in _fields(value))
        for where, member in members:
            function = getattr(member, "fget", None) or getattr(member, "__func__", member)
            for annotation in inspect.get_annotations(function).values():
                yield where, str(annotation)


def _is_error(value: object) -> bool:
    return inspect.isclass(value) and issubclass(value, Exception)


def _doc(value: object) -> str:
    """A docstring as Markdown, its sections (Args, Raises) as lists; an inherited one does not count."""
    shown: list[str] = []
    is_section = False
    for line in inspect.cleandoc(value.__doc__ or "").splitlines():
        is_section = line in _SECTIONS or (is_section and line.startswith("    "))
        if line in _SECTIONS:
            shown += [f"**{line.removesuffix(':')}**", ""]
        elif is_section:
            shown.append(_ENTRY.sub(r"- `\1`: ", line).replace("        ", "  ").replace("<", r"\<"))
        else:  # an example is indented
            shown.append(line if line.startswith("    ") else line.replace("<", r"\<"))
    return "\n".join(shown)


def _function(name: str, function: Callable[..., object]) -> str:
    return f"## {name}\n\n{_signature(name, function)}\n{_doc(function)}\n"


def _signature(name: str, function: Callable[..., object], *, bound: bool = False) -> str:
    """A signature as a block; one parameter per line if it is long."""
    signature = inspect.signature(function)
    parts = list(_parameters(list(signature.parameters.values())[bound:]))
    returns = signature.return_annotation
    arrow = "" if returns in (inspect.Parameter.empty, "None", None) else f" -> {returns}"
    text = f"{name}({', '.join(parts)}){arrow}"
    if len(text) > WIDTH:
        text = f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){arrow}"
    return f"```text\n{text}\n```\n"


def _parameters(parameters: list[inspect.Parameter]) -> Iterator[str]:
    """The parameters as declared, with `/` after positional-only ones and `*` before keyword-only ones."""
    kinds = inspect.Parameter
    for number, parameter in enumerate(parameters):
        before = parameters[number - 1].kind if number else None
        if parameter.kind is kinds.KEYWORD_ONLY and before not in (kinds.KEYWORD_ONLY, kinds.VAR_POSITIONAL):
            yield "*"
        if before is kinds.POSITIONAL_ONLY and parameter.kind is not before:
            yield "/"
        default = "" if parameter.default is kinds.empty else f" = {_default(parameter.default)}"
        stars = "*" * (parameter.kind is kinds.VAR_POSITIONAL) + "**" * (parameter.kind is kinds.VAR_KEYWORD)
        annotation = "" if parameter.annotation is kinds.empty else f": {parameter.annotation}"
        yield f"{stars}{parameter.name}{annotation}{default}"


def _default(value: object) -> str:
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    return '"' + value + '"' if isinstance(value, str) else repr(value).replace("mappingproxy({})", "{}")


def _class(name: str, cls: type) -> Iterator[str]:
    yield f"## {name}\n\n{_doc(cls)}\n"
    if issubclass(cls, Enum):
        yield "Members: " + ", ".join(f"`{member.name}`" for member in cls) + ".\n"
        return
    if name in CONSTRUCTED:
        yield _signature(name, cls)
    fields = list(_fields(cls))
    if fields:
        rows = (f"| `{field}` | {' | '.join(cells)} |\n" for field, *cells in fields)
        yield "| field | type | default | |\n|---|---|---|---|\n" + "".join(rows)
    shown = {field[0] for field in fields}
    properties = [(member, value) for member, value in _members(cls) if isinstance(value, property)]
    if any(member not in shown for member, _ in properties):
        rows = (f"| `{member}` | {_cell(value)} |\n" for member, value in properties if member not in shown)
        yield "| attribute | |\n|---|---|\n" + "".join(rows)
    for member, value in _members(cls):
        if not isinstance(value, property) and member not in shown:
            is_bound = not isinstance(inspect.getattr_static(cls, member), staticmethod | classmethod)
            function = getattr(cls, member)
            yield f"### {name}.{member}\n\n{_signature(member, function, bound=is_bound)}\n{_doc(function)}\n"


def _cell(value: object) -> str:
    return " ".join(_doc(value).split()).replace("|", r"\|")


def _fields(cls: type) -> Iterator[tuple[str, ...]]:
    """The fields of a named tuple or a dataclass: name, type, default and comment."""
    declared = [*getattr(cls, "_fields", ()), *getattr(cls, "__dataclass_fields__", ())]
    source = inspect.getsource(cls) if declared else ""
    for field in _FIELD.finditer(source):
        if field["name"] in declared and not field["name"].startswith("_"):
            default = re.sub(r"field\(default_factory=(\w+)\)", lambda made: EMPTY[made[1]], field["default"] or "")
            cells = (f"`{field['kind']}`", f"`{default}`" if default else "", (field["doc"] or "").replace("<", r"\<"))
            yield field["name"], *(cell.replace("|", r"\|") for cell in cells)


def _members(cls: type) -> Iterator[tuple[str, object]]:
    """Public methods and properties of a class and its bases in this package, in the order of definition."""
    seen: set[str] = set()
    for base in cls.__mro__:
        if base.__module__.split(".")[0] != "octavo":
            continue
        for name, value in vars(base).items():
            is_member = isinstance(value, property | staticmethod | classmethod) or inspect.isfunction(value)
            is_hidden = name in (*seen, *HIDDEN) or f"{cls.__name__}.{name}" in HIDDEN
            if is_member and not name.startswith("_") and not is_hidden and _doc(value):
                seen.add(name)
                yield name, value


def _errors(errors: dict[str, type]) -> str:
    """The errors as a tree, each below its parent."""
    rows: list[str] = []

    def add(name: str, depth: int) -> None:
        rows.append(f"| {'&emsp;' * depth}`{name}` | {_cell(errors[name])} |\n")
        for below in errors:
            if errors[below].__bases__[0] is errors[name]:
                add(below, depth + 1)

    for name, error in errors.items():
        if error.__bases__[0] not in errors.values():
            add(name, 0)
    return (
        "## Errors\n\nEach error is indented below the one that it is a kind of.\n\n| error | |\n|---|---|\n"
        + "".join(rows)
    )
