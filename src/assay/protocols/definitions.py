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
