"""What measures are that several protocols may have, in a sentence each, with their sources."""

from __future__ import annotations

from assay.page.page import Definition

CONFIDENCE = (
    Definition(
        "HMR",
        "Harmonic mean of the two rewards R_O and R_U: how modest a run is, neither over- nor"
        " underconfident. 0 if both are 0. Higher is better.",
        "Sakai, EMTCIR 2024 (CEUR-WS 3854); R2C2 task paper, equation 4",
    ),
    Definition(
        "R_O",
        "Reward for suppressing overconfidence: 1 − the mean confidence of the wrong answers; 1 if"
        " none is wrong. Higher is better.",
        "Sakai, EMTCIR 2024; equation 2",
    ),
    Definition(
        "R_U",
        "Reward for suppressing underconfidence: the mean confidence of the right answers; 1 if"
        " none is right. Higher is better.",
        "Sakai, EMTCIR 2024; equation 3",
    ),
    Definition(
        "Accuracy",
        "Right answers over all questions; a question that a run leaves out is wrong. Higher is"
        " better.",
        "R2C2 task paper, step 5",
    ),
    Definition(
        "ECE, MCE",
        "Expected and maximum calibration error: answers are put into bins by confidence; the mean"
        " (weighted by bin size) and the largest gap between a bin’s accuracy and its mean"
        " confidence. Lower is better.",
        "Naeini et al., AAAI 2015; Guo et al., ICML 2017",
    ),
    Definition(
        "Brier",
        "Mean squared difference between confidence and correctness (1 or 0). Lower is better.",
        "Brier, Monthly Weather Review 78, 1950",
    ),
    Definition(
        "KS",
        "Kolmogorov–Smirnov calibration error: the largest gap between cumulated confidence and"
        " cumulated correctness, answers sorted by confidence; it needs no bins. Lower is better.",
        "Gupta et al., ICLR 2021",
    ),
    Definition(
        "AUROC",
        "Chance that a right answer has a higher confidence than a wrong one, ties counting half;"
        " undefined where all answers are right or all are wrong. Higher is better.",
        "Hanley and McNeil, Radiology 143, 1982",
    ),
    Definition(
        "Risk–coverage",
        "If a run answered only from some confidence up: the share that it would still answer"
        " (coverage) and the share of that which is wrong (risk).",
        "El-Yaniv and Wiener, JMLR 11, 2010",
    ),
    Definition(
        "abstention precision, abstention recall",
        "Of the answers that decline, the share whose questions are to be refused; of the questions"
        " to be refused, the share that is declined. Higher is better.",
        "Wen et al., TACL 13, 2025",
    ),
)
"""Of runs whose answers state a confidence."""

RANKING = (
    Definition(
        "nDCG",
        "Discounted cumulated gain over that of the ideal list, the “Microsoft” version: gain over"
        " log(rank + 1). Higher is better.",
        "Järvelin and Kekäläinen, TOIS 20, 2002; Burges et al., ICML 2005",
    ),
    Definition(
        "Q",
        "Q-measure: average precision with the blended ratio, which gives credit for grades."
        " Higher is better.",
        "Sakai, Metrics, Statistics, Tests, 2014",
    ),
    Definition(
        "nERR",
        "Expected reciprocal rank over that of the ideal list: a reader stops at the first"
        " satisfying passage. Higher is better.",
        "Chapelle et al., CIKM 2009",
    ),
    Definition(
        "iRBU",
        "Rank-biased utility without diversity: the chance-weighted utility of a reader with"
        " patience 0.99 who stops when satisfied. Higher is better.",
        "Amigó et al., SIGIR 2018; Sakai and Zeng, SIGIR 2019",
    ),
)
"""Of rankings."""

_TRACK = "Overview of the TREC 2025 RAG track"
NUGGETS = (
    Definition(
        "strict_vital", "Share of the vital nuggets that the answer fully supports.",
        f"{_TRACK}, 3.2",
    ),
    Definition("vital", "The same with partial support worth one half.", f"{_TRACK}, 3.2"),
    Definition("strict_all", "Share of all nuggets that the answer fully supports.", _TRACK),
    Definition("all", "The same with partial support worth one half.", _TRACK),
    Definition(
        "weighted",
        "(Σ s over vital + ½ Σ s over okay) / (vital + ½ okay), s = 1, ½ or 0.",
        "Pradeep et al. 2025, The great nugget recall",
    ),
    Definition(
        "coverage",
        "Share of the sub-narratives with at least one nugget that the answer fully supports.",
        f"{_TRACK}, 3.2",
    ),
)  # fmt: skip
"""How much of what a good answer should say an answer says."""

SUPPORT = (
    Definition(
        "weighted_precision",
        "Mean support (1, ½, 0) of the sentences that cite something; 0 where none does.",
        f"{_TRACK}, 3.3; Liu et al. 2023",
    ),
    Definition(
        "weighted_recall",
        "The same over all sentences; one without citations counts 0.",
        f"{_TRACK}, 3.3; Liu et al. 2023",
    ),
    Definition("hard_precision", "weighted_precision with full support alone counted.", _TRACK),
    Definition("hard_recall", "weighted_recall with full support alone counted.", _TRACK),
)  # fmt: skip
"""How far cited passages support the sentences that cite them."""

JUDGMENTS = (
    Definition(
        "agreement", "Share of the documents of the pool with the same label.", f"{_TRACK}, 3.4"
    ),
    Definition(
        "kappa",
        "Cohen's κ, unweighted, on labels 0 to 4; an undecided document has the label that makes "
        "κ least.",
        f"{_TRACK}, 3.4",
    ),
    Definition(
        "pairs_agree", "Share of pairs of documents of a topic that both order the same way.",
        f"{_TRACK}, 3.4",
    ),
    Definition("pairs_tie", "Share of pairs that one side gives the same label.", _TRACK),
    Definition(
        "pairs_disagree", "Share of pairs ordered in opposite ways, or not judged.", _TRACK
    ),
)  # fmt: skip
"""Labels of relevance against others."""
