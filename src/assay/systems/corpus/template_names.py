"""Names of templates by what becomes of them: nothing, a list, a date, a sum of money, a text."""

from __future__ import annotations

import re

from assay.systems.corpus.words import name_set

DROPPED = re.compile(
    r"(?:harv(?:nb|p|id|col\w*)?|sfn\w*|ref(?:n|list\w*| ?list|begin|end|start| label| improve)?|"
    r"refimprove.*|reflist.*|notelist.*|note label|efn.*|rp|r|navbox.*|.* navbox|.* sidebar|"
    r"portal(?:[ -]?(?:bar|inline))?|commons.*|wiki(?:quote|source|data|news|books|voyage|species|"
    r"versity|tionary).*|sister.*|authority control|use \w+ dates|use \w+ english|engvar.?|"
    r"short description|italic title.*|display ?title|default ?sort|good article|featured article|"
    r"pp(?:-.*)?|about|for|other uses.*|other people|other places|redirect.*|distinguish|see also|"
    r"main|main articles?|further.*|hatnote|dead ?link|deadurl|webarchive|cbignore|imdb .*|tcmdb.*|"
    r"allmovie.*|allrovi.*|amg .*|rotten[ -]?tomatoes.*|metacritic.*|mojo.*|afi film|"
    r"official(?: (?:website|site|url|page|web))?|better source.*|better|"
    r".*citations? needed|cn|fact|"
    r"clarify|who|when|by whom|which|whom|where|unreferenced.*|more citations.*|"
    r"expand(?: \w+)?|empty section|plot|cleanup.*|multiple issues|more footnotes.*|one source|"
    r"single source|primary sources?.*|update(?: .*)?|stub|.*-stub|clear|clr|notoc|"
    r"toc(?: .*|limit|left|right)?|col-.*|colend|end div col|col div end|div col end|anchors?|"
    r"rcat.*|r (?:from|to|with) .*|redirect category.*|r category.*|db-.*|prod(?: .*)?|"
    r"notability.*|subscription.*|registration.*|"
    r"isbn|issn|oclc|doi|infobox name module|flagicon.*|youtube.*|z\d+|tv\.com.*|dmoz.*|bcdb.*|"
    r"bmdb.*|no more links|unreliable.*|excessive.*|prone to spam|good topic|taxobar|subject bar|"
    r"hs|hid|ntsh|dtsh|sort dash|in lang|.. icon|page needed.*|full citation.*|failed verification|"
    r"coi|pov.*|orphan|disputed.*|dubious|original research.*|synthesis.*|confus.*|tone|"
    r"copy ?edit|lead too .*|infobox requested.*|"
    r"ann|hkmdb.*|facebook|moby ?game.*|imcdb.*|screenonline.*|curlie|discogs.*|musicbrainz.*|"
    r"twitter|instagram|google books|internet archive.*|wookieepedia|memory alpha|snf|"
    r"références?|portail|palette|traduction\/référence|sources?|ébauche.*|article détaillé|"
    r"autres projets|bases|homonymes?|voir homonymes|à sourcer|refnec|réf.*|"
    r"normdaten|portal.*leiste|navigationsleiste.*|hauptartikel|siehe auch|dieser artikel|"
    r"listas?ref|referencias|control de autoridades|principal|otros usos|vt|"
    r"примечания|внешние ссылки|перенаправление|основная статья|main2|портал.*|"
    r"脚注ヘルプ|reflist2|デフォルトソート|normdaten|典拠管理)$"
)
"""Citations in a text, links around it, and what asks for its upkeep."""

CITES = re.compile(
    r"cit(?:e|ation|ar|azione|a)\b|literatur$|internetquelle|ouvrage|lien (?:web|brisé)|article$|"
    r"книга|статья|cytuj|obra citada|bok$|webbref|bokref"
)
"""Entries of bibliographies: they stand on many lines as infoboxes do, and are none."""

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
    formatnum; nts; number table sorting; overline; underline; strikethrough;
    s; sup; sub; su; serif; sans-serif; smallcaps; sc; small caps; caps; allcaps; hidden text;
    text; blue; red; green; interlanguage; longlink; internet archive;
    wikt-lang; angbr; ipa; ipac-en; quotation mark; avoid wrap; no selflink; self link; sans;
    big; proper name; aka; poemquote; verse translation; block indent; c; 1st; 2nd; cite
    quote; pre; indent text; nihongo2; lang1
    """

)  # fmt: skip
SECOND = name_set(
    """
    lang; sort; color; colour; font color; transl; transliteration; rtl-lang;
    script; wikt; wikipedia; color text; fontcolor; highlight
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
    end-date; dts; dtsh; dt; start date text; birth-date; death-date; birth-date and age;
    death-date and age; launch date; film release date; birth year and age; birth year;
    death year and age;
    initial release; published date; dts-date; date table sorting; years; date-;
    date de naissance; date de décès; fecha; geburtsdatum
    """
)
RELEASES = name_set(
    """
    film date; filmdate; television date; video game release; vgrelease; release dates; released;
    vgrelease new; film release
    """
)
