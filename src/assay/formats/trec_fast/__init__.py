"""TREC run files straight to ranked hits, without an object a document.

Reading is nearly all of the work of measuring runs. The reader line by line,
:func:`assay.formats.trec.read_trec_run`, makes a dict of each topic: some 2.1 µs a line with the
measures, .4 µs here (100 runs of 100 × 100 and 5 of 1,000 × 1,000 documents), which is what makes
``assay measure`` three times as fast as trec_eval's library, in the memory of a block. To be that
fast it looks up only what was judged (:mod:`index`), in columns of bytes (:mod:`columns`,
:mod:`blocks`) of which no text is made: so this reader alone, of all formats, knows the qrels and
the arrays that measures are taken of.

What is odd is never guessed at: a block that does not come out as six clean columns is tidied
(:mod:`files`: blanks, line ends), and what is odd then is left to the reader line by line, which
reports every fault with its line. Both ways rank the same.
"""

from assay.formats.trec_fast.reader import BLOCK, RunBatch, read_runs

__all__ = ["BLOCK", "RunBatch", "read_runs"]
