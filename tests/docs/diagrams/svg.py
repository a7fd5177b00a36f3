"""A small writer of SVG: boxes, text, arrows and braces, legible on light and dark pages."""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.sax.saxutils import escape

SIZE = 13

# Each class of shape has a colour for light pages and one for dark pages.
LIGHT = {
    "page": "#ffffff", "ink": "#1f2328", "soft": "#59636e", "line": "#8b949e", "plain": "#f3f4f6",
    "blue": "#d3e5ff", "green": "#d0f0d6", "orange": "#ffe3c2", "red": "#ffd9d6",
}  # fmt: skip
DARK = {
    "page": "#0d1117", "ink": "#e6edf3", "soft": "#9da7b1", "line": "#6e7681", "plain": "#21262d",
    "blue": "#143d70", "green": "#12502a", "orange": "#6b3d0a", "red": "#6e2020",
}  # fmt: skip
FILLS = ("plain", "blue", "green", "orange", "red")


def _rules(colours: dict[str, str]) -> str:
    fills = "".join(f".{name}{{fill:{colours[name]}}}" for name in FILLS)
    return (
        f".page{{fill:{colours['page']}}}.none{{fill:none}}.ink{{fill:{colours['ink']}}}.soft{{fill:{colours['soft']}}}"
        f".box,.line{{stroke:{colours['line']}}}.way{{stroke:{colours['ink']}}}.head{{fill:{colours['ink']}}}"
        f".halo{{paint-order:stroke;stroke:{colours['page']};stroke-width:5px}}{fills}"
    )


STYLE = (
    f"text{{font:{SIZE}px system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif}}"
    f".code{{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:{SIZE - 1}px}}"
    ".small{font-size:11px}.tiny{font-size:8.5px}.title{font-size:15px;font-weight:600}"
    ".line,.way{fill:none;stroke-width:1.3}.dashed{stroke-dasharray:4 3}"
    f"{_rules(LIGHT)}@media(prefers-color-scheme:dark){{{_rules(DARK)}}}"
)


@dataclass
class Drawing:
    """A picture of a given size; shapes are painted in the order in which they are added."""

    title: str
    width: int
    height: int
    shapes: list[str] = field(default_factory=list)

    def box(
        self, x: float, y: float, width: float, height: float, fill: str = "plain", *, dashed: bool = False
    ) -> None:
        classes = f"box {fill}{' dashed' if dashed else ''}"
        self._add(f'<rect class="{classes}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="2"/>')

    def text(self, x: float, y: float, text: str, classes: str = "ink", *, anchor: str = "start") -> None:
        """One line; y is its base line."""
        where = f'x="{x:g}" y="{y:g}"' + (f' text-anchor="{anchor}"' if anchor != "start" else "")
        self._add(f'<text class="{classes}" {where} xml:space="preserve">{escape(text)}</text>')

    def label(self, x: float, y: float, width: float, height: float, text: str, classes: str = "ink code") -> None:
        """A line of text in the middle of a box."""
        self.text(x + width / 2, y + height / 2 + 4.5, text, classes, anchor="middle")

    def cell(self, x: float, y: float, width: float, height: float, text: str, fill: str = "plain") -> None:
        """A box with a line of text in its middle."""
        self.box(x, y, width, height, fill)
        self.label(x, y, width, height, text)

    def line(self, *points: tuple[float, float], dashed: bool = False) -> None:
        self._path("line" + (" dashed" if dashed else ""), points)

    def arrow(self, *points: tuple[float, float]) -> None:
        """A line with a head at its last point."""
        self._path("way", points, 'marker-end="url(#head)"')

    def brace(self, x: float, end: float, y: float, text: str) -> None:
        """A bracket below a range, with a line of text under it."""
        self.line((x + 1, y), (x + 1, y + 6), (end - 1, y + 6), (end - 1, y))
        self.text((x + end) / 2, y + 20, text, "soft small", anchor="middle")

    def svg(self) -> str:
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'width="{self.width}" height="{self.height}" role="img" aria-label="{escape(self.title)}">\n'
            f"<title>{escape(self.title)}</title>\n<style>{STYLE}</style>\n"
            '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto"><path class="head" d="M0 0L8 4L0 8z"/></marker></defs>\n'
            f'<rect class="page" width="{self.width}" height="{self.height}" rx="6"/>\n'
        )
        return head + "\n".join(self.shapes) + "\n</svg>\n"

    def _path(self, classes: str, points: tuple[tuple[float, float], ...], more: str = "") -> None:
        data = "M" + "L".join(f"{x:g} {y:g}" for x, y in points)
        self._add(f'<path class="{classes}" d="{data}" {more}/>'.replace(" />", "/>"))

    def _add(self, shape: str) -> None:
        self.shapes.append(shape)
