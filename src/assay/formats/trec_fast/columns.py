"""Columns of text as arrays: comparing, hashing and parsing the tokens of many lines at once.

A column is the start and the length in bytes of each line's token; its bytes are processed eight at
a time, as one unsigned integer. No Python object is made for a token unless requested.
Parsing eight digits with three multiplications is the method of Mula and Lemire (2019).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Bools, Floats, Integers

LONGEST = 256
"""Maximum length of a token in bytes, a multiple of 8. Processing all tokens takes as long as if
each were as long as the longest."""

PAD = LONGEST
"""Bytes required before the first and after the last token, so that whole words can be read."""

Words = npt.NDArray[np.uint64]

_U = np.uint64
_FIRST = np.array([(1 << 8 * n) - 1 for n in range(9)], dtype=np.uint64)
"""Masks of the first (lowest) N bytes of a word, by N."""
_LAST = np.array([~((1 << 8 * (8 - n)) - 1) & ((1 << 64) - 1) for n in range(9)], dtype=np.uint64)
"""Masks of the last (highest) N bytes of a word, by N."""
_DIGITS = 16
"""Bytes of a number that are parsed at once."""
_TENS = 10.0 ** np.arange(_DIGITS + 1)


def _each(byte: int) -> np.uint64:
    return _U(int.from_bytes(bytes([byte]) * 8, "little"))


_ONES, _TOPS, _ZERO, _POINT = _each(0x01), _each(0x80), _each(ord("0")), _each(ord(".") ^ ord("0"))
_TO_SIGN = _each(0x80 - 10)


class Column:
    """The tokens of one column.

    ``data``: the text, with at least :data:`PAD` bytes before the first and after the last token.
    ``starts``: where each line's token begins. ``lengths``: its length in bytes, at least 1.
    """

    __slots__ = ("data", "lengths", "starts")

    def __init__(self, data: bytes | bytearray, starts: Integers, lengths: Integers) -> None:
        self.data, self.starts, self.lengths = data, starts, lengths

    def __len__(self) -> int:
        return len(self.starts)

    def rows(self, wanted: slice | Integers | Bools) -> Column:
        """The column restricted to some lines."""
        return Column(self.data, self.starts[wanted], self.lengths[wanted])

    def text(self, row: int) -> str:
        """One token."""
        return self.bytes(row).decode()

    def bytes(self, row: int) -> bytes:
        """One token as bytes."""
        start = int(self.starts[row])
        return bytes(self.data[start : start + int(self.lengths[row])])

    def words(self) -> Iterator[Words]:
        """The first eight bytes of each token, then the next eight; zeros after its end."""
        if not len(self):
            return
        least, most = int(self.lengths.min()), int(self.lengths.max())
        words = _words_at(self.data, self.starts, -(-most // 8))
        for passed, word in zip(range(0, most, 8), words, strict=True):
            if least >= passed + 8:
                yield word
            elif least == most:
                yield word & _FIRST[most - passed]
            else:
                yield word & _FIRST[np.clip(self.lengths - passed, 0, 8)]

    def hashes(self) -> Words:
        """64-bit hashes, equal for equal tokens of any columns, hardly ever for others."""
        return hashed(self.lengths, self.words())

    def repeats(self) -> Bools:
        """For each line but the first, whether its token equals that of the line before."""
        if len(self) < 2:
            return np.zeros(0, dtype=bool)
        same: Bools = self.lengths[1:] == self.lengths[:-1]
        for word in self.words():
            same &= word[1:] == word[:-1]
        return same


def hashed(lengths: Integers, words: Iterable[Words]) -> Words:
    """The hashes of tokens, given by their lengths and words."""
    mixed = lengths.astype(np.uint64)
    for number, word in enumerate(words):
        # Words after the end of a token are 0 and add nothing.
        own = word * _U(0x9E3779B97F4A7C15)
        own ^= own >> _U(29)
        own *= _U(0xBF58476D1CE4E5B9 + 2 * number)
        own ^= own >> _U(32)
        mixed += own
    mixed *= _U(0x94D049BB133111EB)
    return mixed


def _words_at(data: bytes | bytearray, places: Integers, count: int) -> Words:
    """The bytes from each place on as ``count`` little-endian words: a row with the first word of
    each place, then one with the next. All are fetched at once, as fetching is the slowest part."""
    size = 8 * count
    every = np.ndarray((len(data) - size + 1,), f"V{size}", data, strides=(1,))
    return np.ascontiguousarray(every[places].view("<u8").reshape(-1, count).T)


def whole_numbers(column: Column) -> Integers | None:
    """The integers in a column of one to eight ASCII digits; None if other tokens occur."""
    if int(column.lengths.max(initial=0)) > 8:
        return None
    words = _words_at(column.data, column.starts + column.lengths - 8, 1)[0]
    digits = (words ^ _ZERO) & _LAST[column.lengths]
    if _not_digits(digits).any():
        return None
    return _eight_digits(digits).view(np.int64)


def decimals(column: Column) -> Floats | None:
    """The numbers in a column, exactly as ``float`` parses them; None if a token is not a finite
    number in ASCII characters without underscores."""
    if not len(column):
        return np.zeros(0)
    last = column.starts + column.lengths - _DIGITS
    high, low = _words_at(column.data, last, 2)
    values = _short_decimals(column, high, low)
    if values is not None:
        return values
    first = np.frombuffer(column.data, np.uint8)[column.starts]
    negative = first == ord("-")
    lengths = column.lengths - negative if negative.any() else column.lengths
    shown = np.clip(lengths, 0, _DIGITS)
    low = (low ^ _ZERO) & _LAST[np.minimum(shown, 8)]
    high = (high ^ _ZERO) & _LAST[np.maximum(shown - 8, 0)]
    point_low, point_high = _points(low), _points(high)
    points = (point_low | point_high) != 0
    one = ((point_low & (point_low - _U(1))) | (point_high & (point_high - _U(1)))) == 0
    one &= (point_low == 0) | (point_high == 0)
    places = np.where(
        point_low != 0,
        63 - np.bitwise_count(point_low - _U(1)).astype(np.int64) >> 3,
        127 - np.bitwise_count(point_high - _U(1)).astype(np.int64) >> 3,
    )
    high, low = _without_point(high, low, point_high, point_low)
    plain = one & ((_not_digits(high) | _not_digits(low)) == 0)
    plain &= (lengths <= _DIGITS) & (lengths > points)
    # Fifteen digits and a power of ten up to 10^15 are exact: one division rounds as float does.
    values = (_eight_digits(high) * _U(10**8) + _eight_digits(low)).astype(np.float64)
    values /= _TENS[np.where(points, places, 0)]
    np.negative(values, out=values, where=negative)
    for row in np.flatnonzero(~plain).tolist():
        token = column.bytes(row)
        try:
            values[row] = float("x" if b"_" in token else token)
        except ValueError:
            return None
    return values if np.isfinite(values).all() else None


def _short_decimals(column: Column, high: Words, low: Words) -> Floats | None:
    """The numbers in a column of up to eight digits, all with the same number of decimals, fewer
    than eight, given the last sixteen bytes of each; None for other columns. Most runs write scores
    in this way."""
    _, point, after = column.bytes(0).partition(b".")
    if int(column.lengths.max()) > 8 + len(point) or len(after) > 7:
        return None
    if int(column.lengths.min()) < 1 + len(point):
        return None
    digits = low
    if point:
        if not ((low >> _U(8 * (7 - len(after)))).astype(np.uint8) == ord(".")).all():
            return None
        before = (low << _U(8) | high >> _U(56)) & ~_LAST[len(after)]
        digits = (low & _LAST[len(after)]) | before
    digits = (digits ^ _ZERO) & _LAST[column.lengths - len(point)]
    if _not_digits(digits).any():
        return None
    return _eight_digits(digits).astype(np.float64) / float(10 ** len(after))


def _points(digits: Words) -> Words:
    """Words with the highest bit set in each byte that is a decimal point.

    A slash after a point is marked too; a token with two marks is never read as a number.
    """
    others = digits ^ _POINT
    found: Words = (others - _ONES) & ~others & _TOPS
    return found


def _without_point(
    high: Words, low: Words, point_high: Words, point_low: Words
) -> tuple[Words, Words]:
    """Sixteen digits with those before the point shifted by one place to close the gap."""
    for point, where in ((point_high, "high"), (point_low, "low")):
        if not point.any():
            continue
        own = high if where == "high" else low
        byte = point >> _U(7)
        shifted = (own & ~((byte << _U(8)) - _U(1))) | ((own & (byte - _U(1))) << _U(8))
        some = point != 0
        if where == "high":
            high = np.where(some, shifted, high)
        else:
            low = np.where(some, shifted | (high >> _U(56)), low)
            high = np.where(some, high << _U(8), high)
    return high, low


def _not_digits(digits: Words) -> Words:
    """Words that are 0 only if every byte is a number from 0 to 9."""
    found: Words = ((digits + _TO_SIGN) | digits) & _TOPS
    return found


def _eight_digits(digits: Words) -> Words:
    """The numbers written by eight bytes from 0 to 9, the first (lowest) byte leading."""
    pairs = (digits * _U(2561)) >> _U(8)
    fours = ((pairs & _U(0x00FF00FF00FF00FF)) * _U(6553601)) >> _U(16)
    numbers: Words = ((fours & _U(0x0000FFFF0000FFFF)) * _U(42949672960001)) >> _U(32)
    return numbers
