"""``assay release``: what organisers publish from an evaluation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from assay.api.releasing import release
from assay.cli.common import FolderArgument, Paragraph, forms, named_values, present, remark
from assay.cli.judging import LabellerOption, PolicyOption, open_folder, showing
from assay.model.options import Option
from assay.model.wording import counted, joined


@forms("json")
def release_command(
    folder: FolderArgument,
    into: Annotated[Path, Option("A new folder, or an earlier release.", flag="--output -o")],
    team: Annotated[
        list[str] | None,
        Option(
            "Which team a run belongs to (* matches anything), in addition to [release.teams].",
            metavar="RUN=TEAM",
        ),
    ] = None,
    figures: Annotated[
        bool, Option("Draw leaderboards as PDF.", flag="--figures/--no-figures")
    ] = True,
    policy: PolicyOption = None,
    labeller: LabellerOption = None,
) -> None:
    """Score, and write the files to publish: pages, tables, pictures, results and the dossier.

    index.html is for everybody (under 2 MB, without texts of runs and corpora).

    teams/TEAM.html has a page for each team.

    tables/ has Markdown and LaTeX with intervals and letters; figures/ has PDFs.

    results/ has scores as trec_eval -q prints them; matrices/ has topics by runs.

    dossier/ has all of out/ (including texts).

    README.txt explains files, columns and measures to readers without Assay.

    SHA256SUMS can be checked with 'sha256sum -c'.

    Asks no labeller.
    """
    teams = named_values(team or (), "--team", "RUN=TEAM")
    with showing(open_folder(folder, labeller, policy)) as opened:
        found = release(opened, into, teams=teams, figures=figures, note=remark)
    said = [f"{counted(len(found.files) + 1, 'file')} in {into}. Open {into / 'index.html'}."]
    if found.left_out:
        said.append(f"Too large for the public page: {joined(found.left_out, 10)}.")
    said.append(f"Seal (SHA-256 of the manifest): {found.seal}")
    present(lambda: found, [Paragraph(one) for one in said])
