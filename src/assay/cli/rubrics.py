"""``assay rubrics``: scores of graded answers, and rubrics made from nuggets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from assay.api.rubrics import FailedCriteria, Rubric, rubric_scores, rubrics_of_nuggets
from assay.cli.common import PerTopicOption, ScoreUnlessNamed, forms, group, put, remark
from assay.cli.support import TopicsOption, show
from assay.model.options import Argument, Option

app = group(
    "Score answers graded by weighted rubrics: assay rubrics GRADED.jsonl (short for assay "
    "rubrics score). 'make' turns nuggets into rubrics.",
    ScoreUnlessNamed,
)


@app.command("score")
@forms("json", "csv")
def score_command(
    files: Annotated[
        list[Path],
        Argument("GRADED...", "Graded answers of RAGDoll or ResearchRubrics, JSON Lines."),
    ],
    failed: Annotated[
        FailedCriteria,
        Option(
            "A criterion whose judging failed is left 'out' of the score, counts as 'zero', or "
            "turns the score into a 'range'."
        ),
    ] = "out",
    clip: Annotated[bool, Option("Clip topic scores below 0 to 0.")] = False,
    axes: Annotated[bool, Option("Show the scores of each axis (type) too.")] = False,
    topics: TopicsOption = "all",
    per_topic: PerTopicOption = False,
) -> None:
    """Compute ternary and binary scores of answers: the satisfied weights as a share of all
    positive weights.

    Satisfied counts 1, partly satisfied 0.5 (binary: 0). A criterion with a negative weight
    describes a fault and lowers the score, which may be below 0. A topic without a positive weight
    has no score.
    """
    show(
        "Rubrics",
        rubric_scores(files, Rubric(failed, clip, axes), topics, remark),
        "Partly satisfied counts 0.5, in 'binary' 0; faults subtract their weight.",
        per_topic=per_topic,
    )


@app.command("make")
@forms()
def make_command(file: Annotated[Path, Argument("NUGGETS", "Nuggets, JSON Lines.")]) -> None:
    """Print a rubric for each topic of a nugget file, in RAGDoll's format: each vital nugget
    becomes a mandatory criterion of weight 5."""
    put([rubrics_of_nuggets(file, remark)])
