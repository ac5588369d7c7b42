"""What stands around a claim that a sentence repeats word for word, and whether it asserts it.

Of pairs that people labelled, eight in a thousand have a sentence with the claim's words in one
piece and others around them; whoever writes a passage to be taken for support writes such ones. So
these sentences are read like others only where what stands before and after is known to assert:
nothing, a conjunction, a circumstance of time or place, somebody who says or finds that it is so.
What is not known to assert, in whatever words it denies, supposes or praises, makes the claim
supported only where the network is certain of it (``model.CERTAIN``). English only.
"""

from __future__ import annotations

import re

LONGEST_OPENING = 24
"""Words of a circumstance before the claim."""
WHOLE_CLAUSE = 6
"""Words from which what ends with a comma may be a clause of its own, beside the claim."""
LONGEST_PART = 3
"""Words before a claim that are taken for a part of its subject, or for a heading."""
LONGEST_ADDITION = 8
"""Words after a colon, dash or bracket that may speak of the claim."""

_SAYS = (
    r"says?|said|adds?|added|writes?|wrote|written|reports|reported|announce[sd]?|states|stated|"
    r"notes|noted|shows?|showed|shown|finds?|found|reveal(?:s|ed)?|confirm(?:s|ed)?|told|tells?|"
    r"establish(?:es|ed)|demonstrate[sd]?|discover(?:s|ed)?|learn(?:s|ed|t)?|knows?|knew|known|"
    r"observe[sd]?|explain(?:s|ed)?|indicate[sd]?|recall(?:s|ed)?|remember(?:s|ed)?|heard|"
    r"mention(?:s|ed)?|acknowledge[sd]?|admit(?:s|ted)?|agree[sd]?|concluded|recorded|"
    r"accept(?:s|ed)|"
    r"documented|reali[sz]e[sd]?|recogni[sz]e[sd]?|point(?:s|ed)? out|turn(?:s|ed) out|held|holds|"
    r"understand|understands|understood|granted|"
    r"emphasi[sz]e[sd]?|stress(?:es|ed)|declare[sd]?|assert(?:s|ed)|attest(?:s|ed)?|"
    r"testif(?:y|ies|ied)|means|meant|"
    r"proved?|ensure[sd]?|determine[sd]|ruled|remark(?:s|ed)?|saw|sees?|warn(?:s|ed)|estimated|"
    r"calculated|(?:^|(?:to|please|also|we|be) )note[sd]?"
)
_SAYING = (
    r"saying|adding|writing|reporting|announcing|stating|noting|showing|finding|revealing|"
    r"confirming|telling|explaining|indicating|mentioning|acknowledging|admitting|concluding|"
    r"declaring|proving|meaning|knowing|warning|demonstrating|emphasi[sz]ing|stressing"
)
_SO = (
    r"fact|no doubt|without (?:a )?doubt|beyond (?:a )?doubt|no secret|no surprise|result|"
    r"true|clear|"
    r"evident|obvious|certain|well[- ]known|undisputed|undeniable|news|given|so|such|so \w+|now|"
    r"evidence|remarkable|notable|noteworthy|significant|interesting|surprising|important|"
    r"is|was|are|were|then|surprise|truth|follows?|worth (?:mentioning|noting|adding|knowing)|"
    r"dispute|"
    r"follows? from [^,;]{1,40}"
)
_BETWEEN = r"(?:,? (?!that\b)[\w'’.-]+){0,12},?"
_THAT = re.compile(
    rf"\b(?:(?:{_SAYS}){_BETWEEN}|(?<!of )(?<!for )(?<!from )(?<!without )(?<!into )"
    rf"(?:{_SAYING}){_BETWEEN}|(?:{_SO})(?:,? (?:however|too|also|moreover),?)?) that$"
)
_NO_THAT = re.compile(
    r"\b(?:says?|said|adds|added|writes|wrote|reports?|reported|announced|notes|noted|shows?|"
    r"showed|"
    r"find|finds|found|reveals?|revealed|confirms|confirmed|learned|learnt|knows?|knew)$"
)
_JOINED = re.compile(
    r"(?:^|\W)(?:and|but|yet|because|since|as|when|while|whilst|although|though|whereas|once|where|"
    r"after|before|until|so|&|both)(?: the| an?)?$"
)
_OPENS = re.compile(
    r"^\W*(?:in|on|at|during|after|before|since|until|from|by|with|within|under|over|between|among|"
    r"across|around|throughout|along|near|inside|outside|behind|beyond|above|below|despite|without|"
    r"for|of|to|as|because|when|while|whilst|although|though|whereas|once|where|following|due|upon|"
    r"thanks|owing|given|like|unlike|contrary|such|apart|aside|and|but|yet|so|or|about|regarding|"
    r"however|moreover|furthermore|besides|meanwhile|then|later|also|today|yesterday|now|nowadays|"
    r"soon|eventually|finally|thus|hence|therefore|consequently|afterwards|thereafter|nonetheless|"
    r"nevertheless|indeed|still|instead|first|second|third|last|next|again|overall|together|"
    r"what is more|what's more|here|there|th(?:is|at) (?:year|month|week|day|time)|every|each|"
    r"one (?:day|year|night|morning)|\d[\w.,/-]*|\w+ly|\w+ing|\w+ed|born|known|built|made|"
    r"january|february|march|april|may|june|july|august|september|october|november|december)\b"
)
"""How a circumstance begins."""
_OBJECT = re.compile(
    r"\b(?:on|of|by|in|at|from|with|to|as|the|a|an|plays?|played|stars?|starring)$"
)
_ATTRIBUTES = re.compile(
    rf"\b(?:{_SAYS}|{_SAYING}|follow(?:s|ing)|goes on|continues|(?:beyond|no|"
    rf"without) (?:any )?(?:dispute|"
    rf"doubt|question)|certain|clear|sure|agree) ?[:,–—-]$"
)
_UNREAL = re.compile(
    r"\b(?:dream\w*|nightmares?|imagin\w*|fantas\w*|fictions?|fictional|fictitious|"
    r"alternative (?:history|reality|universe|timeline|world)|alternate|counterfactual\w*|"
    r"hypothe\w*|scenarios?|simulations?|thought experiment|exercise|prophe\w*|predict\w*|"
    r"forecasts?|horoscopes?|legends?|lore|folklore|myths?|mythology|fables?|tales?|rumou?rs?|"
    r"gossip|"
    r"hearsay|conspir\w*|propaganda|satir\w*|parod\w*|jokes?|jokingly|pranks?|screenplay|script|"
    r"theor(?:y|ies|etically)|ideally|utopia\w*|(?:world|universe|country|"
    r"society) (?:in which|where)|"
    r"made (?:it|this|that|them) up|pretence|premise|assumptions?|sake|odds|chances?|supposed\w*|"
    r"alleged\w*|allegations?|"
    r"reportedly|purported\w*|wish\w*|hopes?|hoped|hopefully|fears?|feared|claims?|claimed|"
    r"notions?|"
    r"accus\w+|lie|lies|belief that|idea that|in (?:my|his|her|their|some) (?:opinion|view|eyes)|"
    r"if|as though|unless|whether|lest|otherwise)\b"
)
_NO_LESS = re.compile(r"\b(?:no|not (?:just )?an?) (?:myth|legend|rumou?r|joke|lie|tale|fiction)\b")
_SPEAKS_OF_ITSELF = re.compile(
    r"\b(?:(?:this|these|the (?:present|above|following|foregoing|given))"
    r"(?: \w+)? (?:passages?|texts?|documents?|pages?|paragraphs?|excerpts?|snippets?|extracts?|"
    r"articles?|lines|sentences?|sections?|content|context|sources?|entry|items?|statements?)|"
    r"the (?:passage|text|excerpt|snippet|paragraph|lines)|foregoing|aforesaid|"
    r"graders?|raters?|assessors?|annotators?|reviewers?|hypothes[ie]s|rest assured)\b|#\w"
)
_TOLD_TO_ASSESSORS = re.compile(
    r"\b(?:entail\w*|verif\w+|verdict|support(?:ed|ing|s)?|substantiat\w*|grades?|relevan\w+|"
    r"labels?|labelled|labeled|instructions?|ground truth|checked|statements?|true or|fake|true:|"
    r"false|wrong)\b"
)
_SPOKEN_TO = re.compile(
    r"\b(?:you|your|us|let|dear|readers?|everybody|everyone|scores?|system|checks?|questions?|"
    r"answers?|quiz|polls?|yes|no:|picture|right|correct)\b"
)
_NOT_PLAINLY = re.compile(
    r"\b(?:only|anyone|anybody|whoever|tr(?:y|ies|ied)|want\w*|fail\w*|refus\w*|declin\w*|stopp\w*|"
    r"instead|rather|seem\w*|likely|falsely|wrongly|mistakenly|used to|no longer|apologi\w+|"
    r"correct(?:s|ed)|withdrew|provided)\b"
)
"""Beside a verb of saying: it is not said plainly."""
_PREDICATE = re.compile(
    r"^\W*(?:is|was|are|were|has|have|had|does|do|did|will|would|can|could|may|might|should|must|"
    r"seems?|seemed|remains?|remained|appears?|runs|ran|goes|went|came|comes|makes|made|"
    r"contradict\w*|proved?|lacks?|belongs?)\b"
)
_SO_PREDICATE = re.compile(
    r"^\W*(?:is|was|are|has been|remains?|became)\s(?:\w+\s){0,2}?(?:known|true|clear|evident|"
    r"certain|undisputed|undeniable|established|documented|recorded|confirmed|overlooked|forgotten|"
    r"remarkable|notable|surprising|significant|important|beyond|common knowledge|no secret|"
    r"no surprise|shown|attested|agreed|accepted|a fact|due|because)\b"
)
_GOES_ON = re.compile(
    r"^\W*(?:$|[,;(\[–—]|(?:in|on|at|during|after|before|since|until|from|by|with|within|"
    r"under|over|"
    r"between|among|across|around|throughout|along|near|into|onto|through|against|towards?|upon|"
    r"for|of|to|as|because|when|while|whilst|although|though|whereas|once|where|who|which|that|"
    r"whose|and|but|or|than|per|via|despite|due|following|according|including|\w+ing|\w+ed|\w+ly|"
    r"also|too|again|\d+)\b)"
)
_AFTER_ALL = re.compile(
    r"\b(?:fals\w*|untrue|wrong\w*|incorrect\w*|disprov\w*|debunk\w*|refut\w*|reject\w*|retract\w*|"
    r"den(?:y|ies|ied)|disput\w*|doubt\w*|unproven|unverified|unconfirmed|hoax\w*|canards?|myths?|"
    r"legends?|rumou?rs?|lies?|fake\w*|bogus|nonsense|invention|invented|fabricat\w*|fiction\w*|"
    r"tales?|jokes?|pranks?|so (?:runs|goes|says|say|they)|or so|supposedly|allegedly|yes|no|not|"
    r"verified|supported|entailed|true|correct|relevant|claim(?:s|ed)?)\b"
)
_ADDITION = re.compile(r"^[\"'”’)\s]*(?:[:–—(\[]|-\s|\.\.\.|…)")
_BULLET = re.compile(r"[\W\d_]*+(?:[a-z]\)[\W\d_]*+)?$")
_CLAUSE = re.compile(r"[.;!?]\s")
_AFFIRMS = re.compile(
    r"(?:yes|indeed|not only that|of course|true enough|sure enough|certainly)\W*"
)
_REPORTED = re.compile(
    rf"\b(?:{_SAYS}|{_SAYING}|held|insist(?:s|ed)?|claims?|claimed|"
    r"maintain(?:s|ed)?|taught|boasts?|boasted|posted|printed)\b"
)
_SAID_AFTER = re.compile(
    rf"^[\"'”’)\s]*,[\"'”’)\s]*(?:\w+ ){{1,3}}(?:{_SAYS}|boasts?|claims?|claimed)\b"
)
_TURNS = re.compile(
    r"(?:^[\W_]*|[,;–—-]\s*)\b(?:but|yet|though|although|however|except|until|only to|"
    r"an? (?:claim|charge|assertion|accusation|error|mistake|lie)|today|now|later|which|"
    r"he|she|it|they)\b"
)
_SETS_RIGHT = re.compile(
    r"\b(?:not|n't|never|no|nobody|nothing|"
    r"contradict\w*|disagree\w*|differ\w*|different|else|otherwise|withdr[ae]w\w*|retract\w*|"
    r"correct(?:s|ed|ion|ions)?|cleared|deni\w+|disput\w*|disprov\w*|refut\w*|misread|mistak\w*|"
    r"wrong\w*|false\w*|lied|lying|reject\w*|overrul\w*|apologi\w*|take (?:it|that|this) back|"
    r"took (?:it|that|this) back|reverse|opposite|doubt\w*)\b"
)
_SENTENCE_END = re.compile(r"[.!?]")
_QUOTES = " \t\"'“”‘’«»*_"


def asserts(before: str, after: str) -> bool:
    """Whether a sentence that has ``before`` in front of a claim and ``after`` behind it says that
    the claim is so."""
    lead, tail = _lead_of(before), after.casefold()
    return not _set_right(lead, tail) and _leads(lead, tail) and _ends(tail)


def _lead_of(before: str) -> str:
    """What leads up to the claim in its clause."""
    return _CLAUSE.split(before.strip())[-1].strip(_QUOTES)


def _set_right(lead: str, tail: str) -> bool:
    """Whether somebody is said to have made the claim, and is contradicted in its sentence."""
    return reported(lead, tail) and _contrasts(tail)


def reported(before: str, after: str) -> bool:
    """Whether somebody is said to have said the claim that stands between them."""
    first = re.split(r"[.!?;]", after.casefold(), maxsplit=1)[0]
    return (
        _REPORTED.search(before.casefold()) is not None
        or (len(first.split()) < LONGEST_ADDITION and _REPORTED.search(first) is not None)
        or bool(_SAID_AFTER.match(after.casefold()))
    )


def _contrasts(after: str) -> bool:
    """Whether what goes on from a claim that somebody is said to have made sets it right, within
    its sentence."""
    rest = _SENTENCE_END.split(after, maxsplit=1)[0]
    turn = _TURNS.search(rest)
    return (
        turn is not None
        and ";" not in rest[: turn.start()]
        and _SETS_RIGHT.search(rest, turn.end()) is not None
    )


def _leads(written: str, tail: str) -> bool:
    """``written``: the sentence up to the claim, ``tail``: what is behind it, in lower case."""
    lead = _NO_LESS.sub("fact", written.casefold())
    if _BULLET.match(lead) or _AFFIRMS.fullmatch(lead):
        return True
    if _SPEAKS_OF_ITSELF.search(lead):
        return False
    words = re.findall(r"[\w'’-]+", lead)
    said = _NO_THAT.search(lead.rstrip(" ,")) is not None
    colon = lead.endswith((":", "–", "—", " -"))
    unreal = _UNREAL.search(lead) is not None
    if words[-1] == "that" or said or colon:
        spoken_to = _TOLD_TO_ASSESSORS.search(lead) or _SPOKEN_TO.search(lead)
        if unreal or spoken_to or _NOT_PLAINLY.search(lead):
            return False
        if colon:
            return len(words) <= LONGEST_PART or _ATTRIBUTES.search(lead) is not None
        return said or _says_that(lead, tail)
    if _JOINED.search(lead):
        return _UNREAL.search(" ".join(words[-5:])) is None
    if unreal or words[-1] in ("which", "whom", "who", "whose"):
        return False
    if len(words) <= LONGEST_PART and not lead.endswith(","):
        return True  # of its subject: "two", "a group of"
    if lead.endswith(","):
        return len(words) >= WHOLE_CLAUSE or _OPENS.match(lead) is not None
    # An entry of a table before it, or what it is an object of, but no verb that it hangs on.
    last = re.findall(r"[\w'’-]+", written)[-2:]
    fields = last[-1][0].isupper() or any(map(str.isdigit, "".join(last)))
    opens = _OPENS.match(lead) is not None and len(words) <= LONGEST_OPENING
    return fields or opens or _OBJECT.search(lead) is not None


def _says_that(lead: str, tail: str) -> bool:
    """Whether who says or finds that it is so does so plainly."""
    if _PREDICATE.match(tail):
        return _SO_PREDICATE.match(tail) is not None
    return _THAT.search(lead) is not None and _GOES_ON.match(tail) is not None


def _ends(tail: str) -> bool:
    """Whether what a colon, dash or bracket adds does not speak of the claim."""
    if not _ADDITION.match(tail):
        return True
    words = re.findall(r"[\w'’-]+", re.split(r"[.;!?)\]]", tail.lstrip("([ "))[0])
    return len(words) > LONGEST_ADDITION or _AFTER_ALL.search(" ".join(words)) is None
