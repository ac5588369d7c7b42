"""What an evaluation under any protocol came to: plain frozen values that files and reports are
made from."""

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
    "--retry-failed asks again, which helps where a reply was unusable. Texts that a judge does "
    "not read need people or another labeller."
)
"""What helps where labels failed, beside people."""


@dataclass(frozen=True, slots=True)
class Unlabelled:
    """How many of ``what`` (answers, nuggets) have no usable label."""

    count: int
    what: str = "units"


class ResampledScores(ABC):
    """Scores that are no means over topics, but computed anew of each draw of topics. Protocols
    give it as the ``detail`` of their findings."""

    measure: ClassVar[str]
    """The measure whose scores these are."""

    @abstractmethod
    def scored_topics(self) -> list[str]:
        """The topics that the scores rest on."""

    @abstractmethod
    def resampled(self, runs: Sequence[str], topics: Sequence[str], weights: Floats) -> Floats:
        """The scores of some runs in resamples of some topics, B × runs, NaN where there are none;
        ``weights`` are B × topics, how often each topic was drawn."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What a protocol computes from its inputs and labels.

    ``boards`` say how ``scores`` are shown. ``facts`` head the report, after the sentences
    ``lede``; ``nothing`` is said where nothing is missing. ``gaps`` are added to those of the
    labels, which the machinery counts; one of nothing is not shown. ``files`` are the protocol's
    own results by name under ``out/``, ``packed`` names compressed ones and what they are made of,
    ``commands`` give scores again from these, where they lie,
    ``ranked`` are the rankings that files are written of; ``more_scores`` are further tables of
    scores by name (``scores_NAME.csv``). Made where they are wanted are ``by_category``, the scores
    over the topics of each category (None where topics have none), ``parts``, its sections of the
    report, and ``document``, what ``--json`` adds. ``detail`` is what the protocol itself makes of
    its findings. ``unlabelled`` says what has no usable label where that
    is told in other things than labels; its ``gaps`` are then all. ``grounds`` are what scores
    stand on beside the settings, such as who split answers into claims: scores on other grounds are
    not compared (``assay gate``). ``given`` says which labels are among the inputs, and whose.
    ``topic_texts`` are the texts of topics, as far as they are known.
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
    """An evaluation's findings with what they rest on.

    ``models`` counts, for each task, the labels that counted by the model that the server named.
    ``asked`` counts, for each task, the units that scoring wanted a label of, ``missing`` those
    that have none yet and ``failed`` those whose labeller's reply was unusable. ``by_people`` says
    whether people labelled anything here, whether that counts or not, ``disputed`` of how many
    units those who count say different things, ``out`` where the report says
    that its files are. ``beside`` sets people's labels beside the machine's, while the ledger is
    open. Where people labelled more of some runs than of others, ``uneven`` has the
    shares by task and run, and ``evened`` is what comes of the machine's labels there.
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
        """The result whose scores may be set beside each other: in which no run's labels are
        people's to a larger share than another's, where that can be had."""
        return self.evened or self

    @property
    def lacking(self) -> int:
        """How many units have no usable label."""
        return sum(self.missing.values()) + sum(self.failed.values())

    @property
    def unlabelled(self) -> Unlabelled:
        """What has no usable label, as the protocol tells it."""
        return self.findings.unlabelled or Unlabelled(self.lacking)
