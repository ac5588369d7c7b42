"""``assay release``: what organisers publish of an evaluation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from assay.api.releasing import release
from assay.cli.common import FolderArgument, Paragraph, forms, named_values, present, remark
from assay.cli.judging import LabellerOption, PolicyOption, open_folder, showing
from assay.model.options import Option
from assay.model.wording import counted, listed


@forms("json")
def release_command(
    folder: FolderArgument,
    into: Annotated[Path, Option("A new folder, or a release.", flag="--output -o")],
    team: Annotated[
        list[str] | None,
        Option("Whose a run is (* for anything), beside [release.teams].", metavar="RUN=TEAM"),
    ] = None,
    figures: Annotated[
        bool, Option("Draw leaderboards as PDF.", flag="--figures/--no-figures")
    ] = True,
    policy: PolicyOption = None,
    labeller: LabellerOption = None,
) -> None:
    """Score, and write what is published: pages, tables, pictures, results and the dossier.

    index.html for everybody (under 2 MB, without texts of runs and corpora), teams/TEAM.html for
    each team, tables/ in Markdown and LaTeX with intervals and letters, figures/ as PDF, results/
    as trec_eval -q prints them, matrices/ of topics by runs, dossier/ with all of out/ (texts
    too), and SHA256SUMS ('sha256sum -c' checks it). Asks nobody.
    """
    teams = named_values(team or (), "--team", "RUN=TEAM")
    with showing(open_folder(folder, labeller, policy)) as opened:
        found = release(opened, into, teams=teams, figures=figures, note=remark)
    said = [f"{counted(len(found.files) + 1, 'file')} in {into}. Open {into / 'index.html'}."]
    if found.left_out:
        said.append(f"No room on the public page for: {listed(found.left_out, 10)}.")
    said.append(f"Seal (SHA-256 of the manifest): {found.seal}")
    present(lambda: found, [Paragraph(one) for one in said])
