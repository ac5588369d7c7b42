"""Results of an evaluation under any protocol: plain frozen values for files and reports."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from assay.measures.arrays import Floats
from assay.measures.scores import PerTopic, Scores
from assay.model.labels import LabellerId
from assay.page.page import Board, Definition, Gap
from assay.page.parts import Part
from assay.protocols.members import Jury
from assay.protocols.output import FileData
from assay.protocols.places import UsedLabels
from assay.protocols.ranked import Ranked
from assay.protocols.sides import PeopleBeside

RETRY = (
    "--retry-failed asks again, which helps if a reply was unusable. Texts that a judge does "
    "not read need people or another labeller."
)
"""What helps with failed labels, apart from people's labels."""


@dataclass(frozen=True, slots=True)
class Unlabelled:
    """How many of ``what`` (answers, nuggets) have no usable label."""

    count: int
    what: str = "units"


class ResampledScores(ABC):
    """Scores that are not means over topics but are computed anew for each resample of topics.
    Protocols return it as the ``detail`` of their findings."""

    measure: ClassVar[str]
    """The measure that the scores are of."""

    @abstractmethod
    def scored_topics(self) -> list[str]:
        """The topics that the scores rest on."""

    @abstractmethod
    def resampled(self, runs: Sequence[str], topics: Sequence[str], weights: Floats) -> Floats:
        """The scores of some runs in resamples of some topics, as an array B × runs with NaN for
        undefined scores. ``weights`` is B × topics: how often each topic was drawn."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What a protocol computes from its inputs and labels.

    ``boards`` define the leaderboards of ``scores``. The report begins with the sentences of
    ``lede`` and the ``facts``; it shows ``nothing`` if nothing is missing. ``gaps`` are added to
    the gaps in labels, which are counted for every protocol; a gap with the count 0 is not shown.
    ``unlabelled`` is given if a protocol counts what has no usable label in units other than
    labels; its ``gaps`` are then all that is shown.

    ``files`` are the protocol's own results by name under ``out/``, and ``packed`` maps names of
    gzipped copies to what they are made from. ``commands`` reproduce scores from these files.
    ``ranked`` are rankings to write run files and qrels of. ``more_scores`` are further tables of
    scores by name (``scores_NAME.csv``).

    Computed on demand are ``by_category``, the scores over the topics of each category (None if
    topics have none), ``parts``, the protocol's own sections of the report, and ``document``, what
    ``--json`` adds. ``detail`` is for the protocol's own use.

    ``grounds`` are what scores rest on beside the settings, such as who split answers into claims;
    scores on different grounds are not compared (``assay gate``). ``given`` says which labels are
    among the inputs, and whose. ``topic_texts`` are the texts of topics as far as they are known.
    """

    topics: Sequence[str]
    scores: Scores
    per_topic: PerTopic
    boards: tuple[Board, ...]
    definitions: tuple[Definition, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    lede: tuple[str, ...] = ()
    nothing: str = ""
    gaps: tuple[Gap, ...] = ()
    files: Mapping[str, FileData] = field(default_factory=dict)
    packed: Mapping[str, str] = field(default_factory=dict)
    commands: tuple[str, ...] = ()
    ranked: Ranked | None = None
    parts: Callable[[], Iterable[Part]] = tuple
    document: Callable[[], Mapping[str, object]] = dict
    warnings: tuple[str, ...] = ()
    more_scores: Mapping[str, Scores] = field(default_factory=dict)
    by_category: Callable[[], Mapping[str, Scores] | None] = lambda: None
    unlabelled: Unlabelled | None = None
    detail: Any = None
    grounds: Mapping[str, object] = field(default_factory=dict)
    given: str = ""
    topic_texts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    """Findings with what they rest on.

    By task, ``asked`` counts the units of which scoring wanted a label, ``missing`` those that have
    none yet, ``failed`` those whose labeller's reply was unusable, and ``models`` the labels that
    counted, by the model that the server named. ``by_people`` says whether people labelled anything
    here, whether it counts or not, and ``disputed`` on how many units the people who count
    disagree. ``beside`` compares people's labels with the machine's; call it while the ledger is
    open. If people labelled more of some runs than of others, ``uneven`` has their shares by task
    and run, and ``evened`` is the result in which only the machine's labels count for these tasks.
    ``out`` is where the report says that its files are.
    """

    protocol: str
    protocol_title: str
    title: str
    policy: str
    findings: Findings
    labellers: Mapping[str, LabellerId | None]
    task_titles: Mapping[str, str]
    settings: Mapping[str, object]
    used: UsedLabels
    asked: Mapping[str, int]
    missing: Mapping[str, int]
    failed: Mapping[str, int]
    gaps: tuple[Gap, ...]
    warnings: tuple[str, ...]
    juries: tuple[Jury, ...] = ()
    by_people: bool = False
    disputed: int = 0
    beside: Callable[[], PeopleBeside] = PeopleBeside
    evened: Result | None = None
    uneven: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    out: str = "out/"
    models: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @property
    def comparable(self) -> Result:
        """The result by whose scores runs may be compared: ``evened`` if people labelled more of
        some runs than of others and there is one, else the result itself."""
        return self.evened or self

    @property
    def lacking(self) -> int:
        """The number of units without a usable label."""
        return sum(self.missing.values()) + sum(self.failed.values())

    @property
    def unlabelled(self) -> Unlabelled:
        """What has no usable label, as the protocol counts it."""
        return self.findings.unlabelled or Unlabelled(self.lacking)
