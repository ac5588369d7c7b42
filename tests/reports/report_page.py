"""A strict reading of a report: what elements, attributes and texts it has."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "input", "br"}
SVG = {"svg", "g", "line", "rect", "circle", "polygon", "polyline", "text", "title"}
ELEMENTS = (
    VOID
    | SVG
    | set(
        """html head style body header footer main nav section article div span p h1 h2 h3 h4 a
    ul ol li dl dt dd table caption thead tbody tr th td small strong b i em s bdi code details
    summary blockquote figure figcaption label select option button output script""".split()  # noqa: SIM905
    )
)
ATTRIBUTES = set(
    """lang charset http-equiv content name class id href dir title role scope open type
    autocomplete value for data-cat data-tags data-run data-v data-first aria-sort tabindex
    aria-label aria-hidden data-name data-p rel viewbox width height x y x1 x2 y1 y2 cx cy r rx
    points text-anchor transform""".split()  # noqa: SIM905
)


class Page(HTMLParser):
    """Collects a page and complains about everything that a report never holds."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.faults, self.texts, self.ids, self.links = [], [], [], []
        self.tags, self.values, self._open = [], [], []
        self.feed(html)
        self.close()
        self.faults += [f"never closed: {tag}" for tag in self._open]

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in ELEMENTS:
            self.faults.append(f"element {tag}")
        for name, value in attrs:
            if name not in ATTRIBUTES or name.startswith("on"):
                self.faults.append(f"attribute {tag} {name}={value}")
            self.values.append(value or "")
            if name == "id":
                self.ids.append(value)
            if name == "href":
                self.links.append(value)
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag):
        if not self._open or self._open.pop() != tag:
            self.faults.append(f"end tag {tag}")

    def handle_comment(self, data):
        self.faults.append(f"comment {data}")

    def handle_decl(self, decl):
        if decl != "DOCTYPE html":
            self.faults.append(f"declaration {decl}")

    def handle_data(self, data):
        if self._open and self._open[-1] in ("style", "script"):
            return
        self.texts.append(data)

    @property
    def text(self):
        return " ".join(self.texts)
