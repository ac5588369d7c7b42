"""Rendering well-known templates as text, by name.

A template that shows text in a sentence or table (a date, a name in two scripts, a sum of money,
*won*) becomes that text. Lists become lines; citations, navigation and maintenance vanish.
Wikipedia has hundreds of thousands of templates: those of film pages are listed, and others are
recognised by the form of their names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from assay.systems.corpus.names import MONEY, NAMES, RULES, SYMBOLS, UNITS, listed, name_set

_MONTHS = listed(
    """
    January February March April May June July August September October November December
    """
)


@dataclass(frozen=True, slots=True)
class Call:
    """A use of a template: its name in lower case, and its rendered parameters."""

    name: str
    args: Sequence[str]
    named: Mapping[str, str]

    def arg(self, number: int) -> str:
        """Positional parameter ``number`` (from 1), or an empty string."""
        if 0 < number <= len(self.args):
            return self.args[number - 1]
        return self.named.get(str(number), "")

    @property
    def values(self) -> tuple[str, ...]:
        """All parameters, unnamed ones first."""
        return (*self.args, *self.named.values())

    def every(self) -> list[str]:
        """All non-empty positional parameters."""
        return [arg for arg in self.args if arg]


Say = Callable[[Call], str]

COMPUTED = "\ue002"  # stands for what the wiki would compute, until the last pass


def dropped(name: str) -> bool:
    """Whether a template of this name contributes nothing to the text."""
    return RULES["dropped"].match(name) is not None


def sayer(name: str) -> Say | None:
    """The function that renders templates of this name, or None if unknown."""
    if name == "langx":
        return _second
    return _SAYERS.get(name) or (_first if name.startswith(("lang-", "langx")) else None)


def _symbol(call: Call) -> str:
    text = call.arg(1)
    bare = call.name in ("!", "=", "snd", "spaces", "nbsp")
    return text if text and not bare else SYMBOLS[call.name]


def date_words(year: str, month: str = "", day: str = "") -> str:
    """``December 8, 1982`` from numbers; anything else is left unchanged."""
    if not month:
        return year
    name = _MONTHS[int(month) - 1] if month.isdigit() and 1 <= int(month) <= 12 else month
    return f"{name} {day.lstrip('0')}, {year}" if day else f"{name} {year}"


def _date(call: Call) -> str:
    args = list(call.args)
    if not args or not re.fullmatch(r"\d{1,4}", args[0]):
        return next(iter(call.every()), "")
    if len(args[0]) < 3 and len(args) > 1 and args[1].isalpha():  # {{date|17|juillet|1879}}
        return " ".join(call.every()[:3])
    numbers = []
    for arg in args[:3]:
        if not re.fullmatch(r"\d{0,4}", arg):
            break
        numbers.append(arg)
    return date_words(*numbers)


def _releases(call: Call) -> str:
    """``{{Film date|1982|12|8|New York|1982|12|10|}}``: a line for each date, with its place."""
    if call.name.startswith("v"):
        pairs = call.every()
        return "\n".join(f"{a}: {b}" for a, b in zip(pairs[::2], pairs[1::2], strict=False))
    lines = []
    args = list(call.args)
    while args:
        first, args = args[0], args[1:]
        if not re.fullmatch(r"\d{4}", first):
            if first:
                lines.append(first)
            continue
        month, day, place = "", "", ""
        if args and re.fullmatch(r"\d{0,2}|[A-Z][a-z]+", args[0]):
            month, args = args[0], args[1:]
            if args and re.fullmatch(r"\d{0,2}", args[0]):
                day, args = args[0], args[1:]
        if args and not re.fullmatch(r"\d{4}", args[0]):
            place, args = args[0], args[1:]
        words = date_words(first, month, day)
        lines.append(f"{words} ({place})" if place else words)
    return "\n".join(lines)


def _money(call: Call) -> str:
    amount = call.arg(1)
    unit = UNITS.get(call.arg(2).lower(), "") if call.name in ("inrconvert", "inr") else ""
    return f"{MONEY[call.name]}{amount}{' ' + unit if unit else ''}" if amount else ""


def _list(call: Call) -> str:
    parts = [*call.every(), *(call.named.get(key, "") for key in ("content", "list"))]
    title = call.named.get("title", "")
    lines = [line for part in parts if part for line in part.split("\n") if line.strip()]
    lines = [line if re.match(r"\s*[-*#]", line) else f"- {line}" for line in lines]
    return "\n".join(["", *([title] if title else []), *lines, ""])


def _quote(call: Call) -> str:
    named = call.named
    text = named.get("quote") or named.get("text") or call.arg(1)
    source = ", ".join(
        part
        for part in (
            named.get("author") or named.get("sign") or call.arg(2),
            named.get("title", ""),
            named.get("source") or call.arg(3),
        )
        if part
    )
    return f"\n{text}{' — ' + source if source else ''}\n" if text else ""


def _nihongo(call: Call) -> str:
    english, kanji, romaji = call.arg(1), call.arg(2), call.arg(3)
    if call.name == "nihongo3":
        english, kanji, romaji = call.arg(3), call.arg(2), call.arg(1)
        english, romaji = romaji or english, english if romaji else ""
    if call.name == "nihongo krt":
        kanji, romaji = call.arg(2), call.arg(3)
    rest = ", ".join(part for part in (kanji, romaji, call.arg(4)) if part)
    return f"{english} ({rest})" if english and rest else english or rest


def _marriage(call: Call) -> str:
    start, end = call.arg(2), call.arg(3) or call.named.get("end", "")
    years = "–".join(part for part in (start, end) if part)
    return f"{call.arg(1)} ({years})" if years else call.arg(1)


def _based_on(call: Call) -> str:
    title, *authors = call.every() or [""]
    return f"{title} by {', '.join(authors)}" if authors else title


def _convert(call: Call) -> str:
    args = call.args
    if len(args) > 3 and args[1] in ("to", "-", "–", "and", "by", "x", "or"):
        return f"{args[0]}{'–' if args[1] in '-–' else f' {args[1]} '}{args[2]} {args[3]}"
    return _two(call)


def _rating(call: Call) -> str:
    return f"{call.arg(1)}/{call.arg(2) or '5'}" if call.arg(1) else ""


def _tracks(call: Call) -> str:
    named = call.named
    lines = [named.get("headline", ""), named.get("extra_column", "")]
    for key, value in named.items():
        what = re.fullmatch(r"all_(\w+)|(\w+)_credits?", key)
        if what and value and value.lower() not in ("yes", "no"):
            lines.append(f"{(what[1] or what[2]).capitalize()}: {value}")
    for number in range(1, 200):
        title = named.get(f"title{number}")
        if title is None:
            break
        more = (named.get(f"{key}{number}", "") for key in _OF_A_TRACK)
        rest = ", ".join(part for part in more if part)
        lines.append(f"{number}. {title}{f' ({rest})' if rest else ''}")
    return "\n".join(["", *[line for line in lines if line], ""])


_OF_A_TRACK = listed("note music lyrics writer arrangement artist extra length")


def _ratings(call: Call) -> str:
    lines = []
    for number in range(1, 40):
        who, score = call.named.get(f"rev{number}"), call.named.get(f"rev{number}score")
        if who:
            lines.append(f"- {who}: {score or ''}")
    other = [f"- {key}: {value}" for key, value in call.named.items() if _CRITIC.fullmatch(key)]
    return "\n".join(["", *other, *lines, ""])


_CRITIC = re.compile(r"[A-Z][\w ]+|MC|RT")


def _film_name(call: Call) -> str:
    fields = (
        f"{key.replace('_', ' ').capitalize()}: {value}"
        for key, value in call.named.items()
        if value and key not in ("italic",)
    )
    return "\n".join([*call.every(), *fields])


def _certification(call: Call) -> str:
    named = call.named
    parts = [named.get("region") or named.get("type") or call.arg(1), named.get("award", "")]
    return ", ".join(part for part in parts if part)


def _height(call: Call) -> str:
    named = call.named
    words = " ".join(f"{named[key]} {key}" for key in ("m", "cm", "ft", "in") if named.get(key))
    return words or call.arg(1)


def _columns(call: Call) -> str:
    """Text set in columns, if it is inside the template."""
    return "\n".join(["", *(value for value in call.values if "\n" in value), ""])


def _currency(call: Call) -> str:
    amount, code = call.named.get("amount") or call.arg(1), call.named.get("type") or call.arg(2)
    return f"{MONEY.get(code.lower(), f'{code} ')}{amount}".strip()


def _value(call: Call) -> str:
    """``{{val|5.3|0.2|e=6|u=km}}``: 5.3 ± 0.2 × 10^6 km."""
    named = call.named
    margin, power = call.arg(2), named.get("e")
    number = f"{call.arg(1)} ± {margin}" if margin and margin[0].isdigit() else call.arg(1)
    number += f" × 10^{power}" if power else ""
    unit = named.get("u") or named.get("ul") or named.get("upl") or named.get("up") or ""
    return f"{named.get('p', '')}{number} {unit}{named.get('s', '')}".strip()


def _coordinates(call: Call) -> str:
    """``{{coord|51|30|N|0|7|W}}``: 51°30′N 0°7′W; decimal degrees stay unchanged."""
    text, marks = "", "°′″"
    for arg in call.every():
        if ":" in arg:
            break
        if arg in ("N", "S", "E", "W", "O"):
            text, marks = f"{text}{arg} ", "°′″"
        elif re.fullmatch(r"[+-−]?[\d.]+", arg) and marks:
            text, marks = f"{text}{arg}{marks[0]}", marks[1:]
    if text and not text.endswith(" "):  # two numbers alone
        text = ", ".join(each + "°" for each in re.findall(r"[^°′″]+", text))
    return text.strip()


def _captions(call: Call) -> str:
    """The captions of pictures and recordings."""
    found = (value for key, value in call.named.items() if _CAPTION.fullmatch(key))
    return "\n".join(["", *(value for value in found if value), ""])


_CAPTION = re.compile(r"(?:caption|header|footer|title|description|video|audio|topic)[ _]?\d*")


def _first(call: Call) -> str:
    return call.arg(1)


def _second(call: Call) -> str:
    return call.arg(2)


def _two(call: Call) -> str:
    return f"{call.arg(1)} {call.arg(2)}".strip()


def _as_of(call: Call) -> str:
    return f"As of {date_words(*list(call.args)[:3])}" if call.args else ""


_KINDS: Mapping[str, Say] = {
    "lists": _list,
    "dates": _date,
    "releases": _releases,
    "quotes": _quote,
    "first": lambda call: call.arg(1) or call.named.get("text", ""),
    "second": lambda call: call.arg(2) or call.arg(1),
    "only_first": _first,
    "two": _two,
    "joined_by_blanks": lambda call: " ".join(call.every()),
    "joined_by_colons": lambda call: ":".join(call.every()),
    "joined_by_dashes": lambda call: "–".join(call.every()),
    "joined_by_slashes": lambda call: "/".join(call.every()),
    "nihongo": _nihongo,
    "convert": _convert,
    "circa": lambda call: f"c. {call.arg(1)}".strip(),
    "based_on": _based_on,
    "tracks": _tracks,
    "columns": _columns,
    "captions": _captions,
    "computed": lambda _: COMPUTED,
}
"""The function that renders the templates of each list in ``names.toml``."""

_SAYERS: Mapping[str, Say] = {
    **{name: say for kind, say in _KINDS.items() for name in name_set(NAMES[kind])},
    **dict.fromkeys(MONEY, _money),
    **dict.fromkeys(SYMBOLS, _symbol),
    "sort dash": lambda _: "–",
    "marriage": _marriage,
    "rating": _rating,
    "rating-5": lambda call: f"{call.arg(1)}/5",
    "rating-10": lambda call: f"{call.arg(1)}/10",
    "album ratings": _ratings,
    "film name": _film_name,
    "certification table entry": _certification,
    "height": _height,
    "floruit": lambda call: f"fl. {call.arg(1)}".strip(),
    "as of": _as_of,
    "sic": lambda call: f"{''.join(call.every())} [sic]".strip(),
    "currency": _currency,
    "val": _value,
    "coord": _coordinates,
    "translation": lambda call: f"transl. {call.arg(1)}" if call.arg(1) else "",
    "uss": lambda call: f"USS {call.arg(1)}",
    "hms": lambda call: f"HMS {call.arg(1)}",
}


def template_name(raw: str) -> str:
    """A template's normalised name: lower case, single spaces, no prefix."""
    name = " ".join(raw.replace("_", " ").split()).lower()
    return name.removeprefix("template:").removeprefix("subst:").strip()
