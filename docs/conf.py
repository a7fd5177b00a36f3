"""Sphinx builds the site from the pages in this folder: `make site`. The navigation is the list in README.md."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from sphinx.application import Sphinx

import octavo

DOCS = Path(__file__).parent
SECTION = re.compile(r"^## (?P<title>.+)\n(?P<body>(?:(?!## ).*\n)*)", re.MULTILINE)
PAGE_LINK = re.compile(r"\]\((?P<page>[\w/-]+)\.md\)")
OUTER_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]+)\]\((?P<target>(?:\.\./)+[^)#]+)(?:#[^)]*)?\)")

project = "Octavo"
version = release = octavo.__version__
extensions = ["myst_parser"]
root_doc = "README"
source_suffix = {".md": "markdown"}
myst_heading_anchors = 4
myst_disable_syntax = ["footnote_def", "footnote_ref"]  # `[^x]` is part of a pattern
suppress_warnings = ["misc.highlighting_failure"]  # blocks that show a part of something

html_theme = "furo"
html_title = f"Octavo {version}"
html_show_sourcelink = html_copy_source = False
html_show_sphinx = False
html_show_copyright = False


def navigation(readme: str) -> str:
    """A table of contents per section of the list of pages."""
    parts, seen = list[str](), set[str]()
    for section in SECTION.finditer(readme):
        pages = [page for page in dict.fromkeys(PAGE_LINK.findall(section["body"])) if page not in seen]
        seen.update(pages)
        parts.append("\n".join(["```{toctree}", ":hidden:", f":caption: {section['title']}", "", *pages, "```\n"]))
    return "\n".join(parts)


def without_outer_links(text: str, folder: Path) -> str:
    """The page with the names of files in place of links that lead out of docs/: the site does not have those files."""

    def name(link: re.Match[str]) -> str:
        target = (folder / link["target"]).resolve()
        if target.is_relative_to(DOCS):
            return link[0]
        shown = f"`{target.relative_to(DOCS.parent)}`"
        return shown if link["text"].strip("`") in shown else f"{link['text']} ({shown})"

    return OUTER_LINK.sub(name, text)


def on_source_read(app: Sphinx, page: str, source: list[str]) -> None:
    text = without_outer_links(source[0], (DOCS / page).parent)
    if page == root_doc:
        text += "\n" + navigation(text)
    if page == "decisions/README":
        text += "\n```{toctree}\n:hidden:\n:glob:\n\n0*\n```\n"
    source[0] = text


def on_build_finished(app: Sphinx, error: Exception | None) -> None:
    if error is None:
        shutil.copyfile(Path(app.outdir) / f"{root_doc}.html", Path(app.outdir) / "index.html")


def setup(app: Sphinx) -> None:
    app.connect("source-read", on_source_read)
    app.connect("build-finished", on_build_finished)
