"""One page of HTML for parts of a file: bytes on the left, and on the right the field of the byte under the mouse."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from html import escape

from octavo.cli.explain.text import are_bits, value_text
from octavo.cli.options import many
from octavo.format.anatomy import Node

_COLOURS = 6
_MOST_BYTES = 1024  # of one field
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<style>
body {{ font: 14px/1.5 system-ui, sans-serif; margin: 1.5rem; color: #222; background: #fff; }}
h1 {{ font-size: 1.1rem; }}
h2 {{ font-size: .9rem; margin: 1rem 0 .2rem; font-weight: 600; }}
main {{ display: flex; gap: 2rem; align-items: flex-start; }}
.hex {{ font: 13px/1.6 ui-monospace, monospace; width: 48ch; flex: none; overflow-wrap: normal; }}
.inner {{ border-left: 3px solid #bbb; padding-left: .6rem; }}
aside {{ position: sticky; top: 1rem; min-height: 12rem; flex: 1; padding: 1rem; border: 1px solid #ccc; }}
dt {{ color: #777; font-size: .8rem; }}
dd {{ margin: 0 0 .5rem; overflow-wrap: anywhere; }}
.b {{ border-radius: 3px; cursor: default; }}
.c0 {{ background: #dbeafe; }} .c1 {{ background: #dcfce7; }} .c2 {{ background: #fef9c3; }}
.c3 {{ background: #fae8ff; }} .c4 {{ background: #ffe4e6; }} .c5 {{ background: #e0f2f1; }}
.b:hover, .b:focus {{ background: #334155; color: #fff; outline: none; }}
.wrong {{ text-decoration: underline wavy #dc2626; }}
</style>
</head>
<body>
<h1>{title}</h1>
<main>
<div>
{body}
</div>
<aside><dl id="about"><dt>Point at a byte</dt><dd>to see its field, its value and its meaning.</dd></dl></aside>
</main>
<script>
const about = document.getElementById("about");
function show(event) {{
  const field = event.target.closest(".b");
  if (!field) return;
  about.replaceChildren();
  for (const [name, text] of Object.entries(JSON.parse(field.dataset.about))) {{
    const term = document.createElement("dt"), detail = document.createElement("dd");
    term.textContent = name;
    detail.textContent = text;
    about.append(term, detail);
  }}
}}
document.addEventListener("mouseover", show);
document.addEventListener("focusin", show);
</script>
</body>
</html>
"""


def html_page(title: str, nodes: Iterable[Node], more: str = "") -> str:
    """The page, which needs nothing from elsewhere; `more` says what it leaves out."""
    body = "\n".join(_block(node) for node in nodes)
    return _PAGE.format(title=escape(title), body=body + (f"\n<p>{escape(more)}</p>" if more else ""))


def _block(node: Node) -> str:
    head = f"{node.name} at position {node.position}" + (f": {node.meaning}" if node.meaning else "")
    return f'<h2>{escape(head)}</h2>\n<div class="hex">{"".join(_spans(node, []))}</div>'


def _spans(node: Node, path: list[str]) -> Iterator[str]:
    """The bytes of a node, as spans of its smallest fields. What was decompressed follows as a separate block."""
    inside = [*path, node.name]
    if _tiles(node):
        for child in node.children:
            yield from _spans(child, inside)
        return
    yield _span(node, inside)
    if node.children and not are_bits(node):
        parts = "".join(span for child in node.children for span in _spans(child, [*inside, "decompressed"]))
        yield f'<div class="inner">{parts}</div>'


def _tiles(node: Node) -> bool:
    """Whether the bytes of the children, one after the other, are those of the node."""
    return bool(node.children) and b"".join(child.raw for child in node.children) == node.raw


def _span(node: Node, path: list[str]) -> str:
    about = {"field": " › ".join(path), "position": f"{node.position}, {many(node.length, 'byte')}"}
    if node.value is not None:
        about["value"] = value_text(node.value, most=500)
    if node.meaning:
        about["meaning"] = node.meaning
    if are_bits(node):
        about |= {child.name: f"{value_text(child.value)}: {child.meaning}" for child in node.children}
    if node.problem:
        about["wrong"] = node.problem
    shown = " ".join(f"{byte:02x}" for byte in node.raw[:_MOST_BYTES])
    shown += f" … {many(node.length - _MOST_BYTES, 'more byte')}" if node.length > _MOST_BYTES else ""
    colour = sum(map(ord, node.name)) % _COLOURS
    wrong = " wrong" if node.problem else ""
    return f'<span class="b c{colour}{wrong}" tabindex="0" data-about="{escape(json.dumps(about))}">{shown}</span> '
