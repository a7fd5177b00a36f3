"""The site builds without a warning, its links lead somewhere, and it needs no other host."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.docs.pages import QUIET, ROOT

pytest.importorskip("sphinx", reason="Sphinx is not installed (pip install octavo[docs])")
DOCS = ROOT / "docs"


class Page(HTMLParser):
    """What a page links to, what it loads, and the anchors that it has."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        self.loads += [found[name] for name in ("src", "href") if name in found and tag != "a"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-d", folder / "doctrees", DOCS, folder / "html"],
        env=QUIET, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "html"


def test_every_link_leads_somewhere(site: Path) -> None:
    parsed = cache(Page)
    broken = []
    for path in site.rglob("*.html"):
        for link in parsed(path).links:
            parts = urlsplit(link)
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if parts.scheme or (target.is_file() and target.suffix != ".html"):
                continue
            if not target.is_file() or unquote(parts.fragment) not in ("", *parsed(target).anchors):
                broken.append(f"{path.relative_to(site)}: {link}")
    assert broken == []


def test_nothing_is_loaded_from_another_host(site: Path) -> None:
    for path in site.rglob("*.html"):
        assert [load for load in Page(path).loads if urlsplit(load).netloc] == []
    for path in site.rglob("*.css"):
        style = path.read_text(encoding="utf-8")
        assert "url(http" not in style and "url(//" not in style and "@import" not in style


def test_every_page_is_on_the_site_and_can_be_searched(site: Path) -> None:
    pages = [path.relative_to(DOCS).with_suffix("") for path in DOCS.rglob("*.md")]
    assert [page for page in pages if not (site / f"{page}.html").is_file()] == []
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    assert [page for page in pages if f'"{page}"' not in index] == []
    assert (site / "index.html").is_file()
