"""Names of templates by what becomes of them: nothing, a list, a date, a sum of money, a text."""

from __future__ import annotations

import re

from assay.systems.corpus.words import name_set

DROPPED = re.compile(
    r"(?:cite|citation|harv|sfn|sfn|ref|notelist|efn|refn|rp$|reflist|refbegin|refend|navbox|"
    r"portal|commons|wiki(?:quote|source|data|news|books)|sister|authority control|"
    r"use \w+ dates|use \w+ english|engvar|short description|italic title|display ?title|"
    r"default ?sort|good article|featured article|pp-|pp$|about$|for$|other uses|redirect|"
    r"distinguish|see also|main$|main article|further|hatnote|dead link|webarchive|cbignore|"
    r"imdb|tcmdb|allmovie|allrovi|amg|rotten[ -]tomatoes|metacritic|mojo|afi film|official|"
    r"better source|citation needed|cn$|fact$|clarify|who$|when$|by whom|unreferenced|"
    r"refimprove|more citations|expand|empty section|plot$|cleanup|multiple issues|"
    r"more footnotes|one source|primary sources|update|stub|.*-stub$|clear|toc|notoc|col-|"
    r"colbegin|colend|div col|end div|col div|anchor|rcat|r from|r to|r with|"
    r"redirect category|r category|db-|prod|notability|subscription|registration|isbn|issn|"
    r"oclc|doi|infobox name module|flagicon|coord|nbsp-|listen|external media|multiple image|"
    r"youtube|z\d+|tv\.com|dmoz|bcdb|bmdb|no more links|unreliable|excessive|prone to spam|"
    r"good topic|taxobar|subject bar)"
)
LISTS = name_set(
    """
    plainlist; plain list; flatlist; hlist; hlist-comma; ubl; ublist; unbulleted list;
    bulleted list; ordered list; cast list; castlist; cast listing; collapsible list;
    startplainlist; flat list; endplainlist; horizontal list; unbulleted; comma separated
    entries; csv; cslist; indented plainlist; nbl; pagelist; ordered; vunblist; unordered
    list; blist; bulletedlist; infobox person/height
    """
)
SYMBOLS = {
    "!": "|",
    "!!": "||",
    "=": "=",
    "·": " · ",
    "•": " • ",
    "bull": " • ",
    "dot": " · ",
    "middot": " · ",
    "'": "'",
    "'s": "'s",
    "`": "'",
    '"': '"',
    "-'": "'",
    "snd": " – ",
    "spnd": " – ",
    "spaced ndash": " – ",
    "ndash": "–",
    "en dash": "–",
    "mdash": "—",
    "em dash": "—",
    "spaced mdash": " — ",
    "nbsp": " ",
    "space": " ",
    "spaces": " ",
    "thinsp": " ",
    "hairsp": " ",
    "zwsp": "",
    "wbr": "",
    "shy": "",
    "nb5": " ",
    "break": "\n",
    "br": "\n",
    "crlf": "\n",
    "paragraph": "\n",
    "pb": "\n",
    "won": "Won",
    "nom": "Nominated",
    "nominated": "Nominated",
    "yes": "Yes",
    "y": "Yes",
    "no": "No",
    "n": "No",
    "n/a": "N/A",
    "na": "N/A",
    "pending": "Pending",
    "tba": "TBA",
    "tbd": "TBD",
    "tick": "Yes",
    "check mark": "Yes",
    "cross": "No",
    "unknown": "Unknown",
    "runner-up": "Runner-up",
    "cmain": "Main",
    "crecurring": "Recurring",
    "cguest": "Guest",
    "cnone": "",
    "cabsent": "",
    "included": "Included",
    "sent off": "",
    "dunno": "?",
    "?": "?",
    "film usa": "US",
    "lparen": "(",
    "rparen": ")",
    "(": "{",
    ")": "}",
    "pipe": "|",
    "ordinal": "",
}
MONEY = {
    "us$": "US$", "usd": "US$", "inr": "₹", "inrconvert": "₹", "indian rupee": "₹", "jpy": "¥",
    "¥": "¥", "yen": "¥", "cny": "CN¥", "£": "£", "gbp": "£", "pound sterling": "£", "€": "€",
    "eur": "€", "euro": "€", "aud": "A$", "a$": "A$", "cad": "C$", "c$": "C$", "ca$": "C$",
    "hk$": "HK$", "nz$": "NZ$", "krw": "₩", "₩": "₩", "philippine peso": "₱", "php": "₱",
    "rub": "₽", "brl": "R$", "$": "$", "₹": "₹",
}  # fmt: skip
UNITS = {"k": "thousand", "m": "million", "b": "billion", "t": "trillion", "l": "lakh",
          "lk": "lakh", "c": "crore", "cr": "crore", "a": ""}  # fmt: skip
FIRST = name_set(
    """
    nowrap; small; smaller; large; larger; big; bigger; nobold; nobreak; no wrap; em; strong;
    bold; italic; italics; italic correction; noitalic; nobr; mono; code; center; centre;
    resize; font; visible anchor; vanchor; va; linktext; ill; interlanguage link;
    interlanguage link multi; link-interwiki; url; not a typo; typo; sic!; as written; age in
    years and days nts; flag; flagcountry; flagu; flagg; fb; ship; section link; slink; title;
    title link; noflag; film; wp; iw; illm; pronunciation; okina; lc; uc; ucfirst; lcfirst;
    formatnum; nts; ntsh; number table     sorting; dts; overline; underline; strikethrough;
    s; sup; sub; su; serif; sans-serif; smallcaps; sc; small caps; caps; allcaps; hidden text;
    text; blue; red; green; color     text; interlanguage; longlink; internet archive;
    wikt-lang; angbr; ipa; ipac-en; quotation mark; avoid wrap; no selflink; self link; sans;
    big; proper name; aka; poemquote; verse translation; block indent; c; 1st; 2nd; cite
    quote; pre; indent text; nihongo2; lang1
    """

)  # fmt: skip
SECOND = name_set(
    """
    lang; sort; color; colour; font color; transl; transliteration; rtl-lang;
    script; wikt; wikipedia; color box
    text; fontcolor; highlight
    """
)
QUOTES = name_set(
    """
    quote; quote box; quotebox; cquote; rquote; blockquote; block quote; quotation; bquote;
    pull quote; quote frame; centered pull quote; dialogue; epigraph; poem quote; talkquote;
    tquote; imdb quote
    """
)
DATES = name_set(
    """
    start date; end date; start date and age; end date and age; date; birth date; birth date
    and age; bda; death date; death date and age; dda; dob; release date; start-date;
    end-date; start date text; birth-date; death-date; birth-date and age; death-date and
    age; launch date; film release date; birth year and age; birth year; death year and age;
    initial release; published date; dts-date; date table sorting; dtsh; years
    """
)
RELEASES = name_set(
    """
    film date; filmdate; television date; video game release; vgrelease; release dates; released;
    vgrelease new; film release
    """
)
