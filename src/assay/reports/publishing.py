"""Leaderboards for papers and notebooks: Markdown and LaTeX tables, and plots of intervals."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from assay.measures.scores import Score
from assay.page.wording import one_line, score_interval, shortened, span
from assay.reports.text import line, safe

_LETTERS = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau "
    "upsilon phi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega"
)
_GREEK = dict(zip("αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΥΦΨΩ", _LETTERS.split(), strict=True))
_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "_": r"\_", "%": r"\%", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"{\char34}",
    "…": r"\dots{}", "×": r"$\times$", "≥": r"$\geq$", "≤": r"$\leq$",
    "’": "'", "‘": "`", "“": "``", "”": "''", "–": "--", "—": "---", "−": "$-$",
    **{letter: f"$\\{name}$" for letter, name in _GREEK.items()},
}  # fmt: skip
# Two signs of which TeX would make one have an empty group between them.
_JOINED = re.compile(r"-(?=-)|'(?=')|`(?=`)|,(?=,)|[?!](?=`)")
_SPECIAL = re.compile("|".join([_JOINED.pattern, *map(re.escape, _LATEX)]))
_PDFLATEX = "\u017f"
"""The last letter that pdflatex knows (the end of Latin Extended-A)."""
_LONGEST = 60
_PAGE = 45
"""Rows that fit on a page."""
_ABREAST = 3
"""Measures with intervals that fit in a page's width."""


@dataclass(frozen=True)
class PublishedBoard:
    """A leaderboard to publish: the runs, best first, with rank and scores. ``letters`` belong to
    the first measure (runs that share one do not differ significantly), if available; ``notes``
    explain the numbers."""

    title: str
    measures: Sequence[str]
    rows: Sequence[tuple[str, str, Sequence[Score | None]]]
    letters: dict[str, str]
    notes: Sequence[str]

    def cells(self, safe_text: Callable[[str], str]) -> Iterator[list[str]]:
        """Rank, run, any letters, and each score with its interval."""
        for rank, run, scores in self.rows:
            row = [safe_text(rank), safe_text(shortened(run, _LONGEST))]
            if self.letters:
                row.append(self.letters.get(run, ""))
            yield [*row, *(safe_text(_score(score)) for score in scores)]

    def columns(self) -> list[str]:
        """The headings of :meth:`cells`."""
        return ["#", "run", *(["letters"] if self.letters else []), *self.measures]


def _score(score: Score | None) -> str:
    if score is None:
        return "–"
    ends = score_interval(score, 3)
    return span(score.floor, score.ceiling) + (f" [{ends}]" if ends else "")


def markdown(board: PublishedBoard) -> str:
    """A table in GitHub's Markdown. Texts from files are escaped."""
    columns = board.columns()
    fixed = len(columns) - len(board.measures)
    lines = [
        f"### {safe(board.title)}",
        "",
        line(map(safe, columns)),
        line(["--:", *["---"] * (fixed - 1), *["--:"] * len(board.measures)]),
        *map(line, board.cells(safe)),
        "",
        *(f"{safe(note)}  " for note in board.notes),
    ]
    return "\n".join(lines).rstrip() + "\n"


def latex(board: PublishedBoard) -> str:
    """Tables with ``booktabs`` rules (``longtable`` if longer than a page) and at most three
    measures each, to fit the page's width. Texts from files are escaped. The first line names the
    packages for the preamble, and another engine if pdflatex lacks some letters."""
    tables = [line for part in _abreast(board) for line in _table(part)]
    packages = "booktabs,longtable" if len(board.rows) > _PAGE else "booktabs"
    needs = f"% needs \\usepackage[T1]{{fontenc}} and \\usepackage{{{packages}}}"
    if any(letter > _PDFLATEX for one in tables for letter in one):
        needs += ", and lualatex or xelatex with a font that has all letters"
    return "\n".join([needs, *tables, ""])


def _abreast(board: PublishedBoard) -> Iterator[PublishedBoard]:
    """Split the board into boards of few measures; the first gets letters and notes."""
    for start in range(0, max(len(board.measures), 1), _ABREAST):
        some = slice(start, start + _ABREAST)
        part = replace(
            board,
            measures=board.measures[some],
            rows=[(rank, run, scores[some]) for rank, run, scores in board.rows],
        )
        yield (
            part
            if not start
            else replace(part, title=f"{board.title}, continued", letters={}, notes=())
        )


def _table(board: PublishedBoard) -> list[str]:
    columns = board.columns()
    fixed = len(columns) - len(board.measures)
    shape = "r" + "l" * (fixed - 1) + "r" * len(board.measures)
    caption = f"\\caption{{{escaped(' '.join([board.title + '.', *board.notes]))}}}"
    head = ["\\toprule", _row(map(escaped, columns)), "\\midrule"]
    rows = list(map(_row, board.cells(escaped)))
    if len(rows) > _PAGE:
        return [
            "{\\footnotesize\\setlength{\\tabcolsep}{3pt}",
            f"\\begin{{longtable}}{{{shape}}}",
            f"{caption}\\\\",
            *head,
            "\\endfirsthead",
            *head,
            "\\endhead",
            *rows,
            "\\bottomrule",
            "\\end{longtable}}",
        ]
    return [
        "\\begin{table}",
        "\\centering\\footnotesize\\setlength{\\tabcolsep}{3pt}",
        caption,
        f"\\begin{{tabular}}{{{shape}}}",
        *head,
        *rows,
        "\\bottomrule",
        "\\end{tabular}",
        "\\end{table}",
    ]


def _row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def escaped(text: str) -> str:
    """A text on one line with LaTeX commands escaped."""
    return _SPECIAL.sub(lambda found: _LATEX.get(found[0], found[0] + "{}"), one_line(text))
