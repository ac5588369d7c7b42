"""Text in every script is found: real sentences in 28 languages, and what characters are alike."""
# ruff: noqa: E501 (what belongs together stands on one line)

import json
import unicodedata

import pytest

from assay.model.languages import NAMES, languages, likely_language
from assay.systems.corpus.passages import CutPassage
from assay.systems.corpus.store import Layout, write_passages
from assay.systems.retrieval.analysis import Analysis
from assay.systems.retrieval.bm25 import BM25Index, BM25Settings, BM25Writer

# Two sentences of a language, and queries that only the first or only the second answers.
SENTENCES = {
    "en": ("The film was shot in Lisbon in 1954.", "Bakers sell bread at the market.",
           ["shooting films"], ["bakery breads market"]),
    "de": ("Der Film wurde 1954 in den Straßen von Lissabon gedreht.",
           "Die Bäcker verkaufen auf dem Markt frisches Brot.", ["Filme Straße"], ["Märkte Brote"]),
    "fr": ("Le film a été tourné à Lisbonne pendant l'été 1954.",
           "Les boulangers vendent du pain frais au marché.", ["films d'été"], ["boulanger marchés"]),
    "es": ("La película fue rodada en Lisboa en el año 1954.",
           "Los panaderos venden pan en el mercado.", ["películas de 1954"], ["panadero mercados"]),
    "it": ("Il film fu girato a Lisbona nell'estate del 1954.",
           "I fornai vendono il pane al mercato.", ["estate Lisbona"], ["fornaio mercati"]),
    "pt": ("O filme foi rodado em Lisboa no verão de 1954.",
           "Os padeiros vendem pão no mercado.", ["filmes verão"], ["padeiro mercados"]),
    "nl": ("De film werd in 1954 in Lissabon opgenomen.",
           "Bakkers verkopen vers brood op de markt.", ["films Lissabon"], ["bakker markten"]),
    "sv": ("Filmen spelades in i Lissabon år 1954.", "Bagarna säljer färskt bröd på torget.",
           ["film Lissabon"], ["bröd torg"]),
    "fi": ("Elokuva kuvattiin Lissabonissa vuonna 1954.", "Leipurit myyvät tuoretta leipää torilla.",
           ["elokuvat"], ["leipä tori"]),
    "pl": ("Film nakręcono w Lizbonie w 1954 roku.", "Piekarze sprzedają chleb na rynku.",
           ["Lizbonie"], ["chleb"]),
    "tr": ("Film 1954 yılında İstanbul'da çekildi.", "Fırıncılar ILIK ekmek satıyor.",
           ["istanbul filmleri"], ["ılık ekmekler"]),
    "vi": ("Bộ phim được quay ở Hà Nội năm 1954.", "Người thợ bán bánh mì ở chợ.",
           ["phim Hà Nội"], ["bánh mì"]),
    "ru": ("Фильм был снят в Лиссабоне ещё в 1954 году.", "Пекари продают хлеб на рынке.",
           ["фильмы еще"], ["хлеба рынок"]),
    "uk": ("Фільм зняли у Львові 1954 року.", "Пекарі продають хліб на ринку.",
           ["Львові"], ["хліб"]),
    "el": ("Η ταινία γυρίστηκε στη Λισαβόνα το 1954.", "Οι φουρνάρηδες πουλούν ψωμί στην αγορά.",
           ["ταινιών"], ["ΑΓΟΡΈΣ"]),
    "ar": ("صُوِّر الفيلم في القاهرة عام ١٩٥٤.", "يبيع الخبازون الخبز في السوق.",
           ["فيلم 1954", "القاهـــرة"], ["خبز سوق"]),
    "fa": ("این فیلم در سال ۱۹۵۴ در تهران ساخته شد.", "نانواها در بازار نان می‌فروشند.",
           ["فیلم تهران", "1954"], ["بازار"]),
    "he": ("הַסֶּרֶט צולם בחיפה בשנת 1954.", "האופים מוכרים לחם בשוק.", ["הסרט חיפה צולם"], ["לחם"]),
    "hi": ("यह फ़िल्म १९५४ में दिल्ली में बनी थी।", "नानबाई बाज़ार में रोटी बेचते हैं।",
           ["दिल्ली", "1954"], ["रोटी"]),
    "bn": ("চলচ্চিত্রটি ১৯৫৪ সালে কলকাতায় নির্মিত হয়।", "রুটিওয়ালা বাজারে রুটি বিক্রি করে।",
           ["1954 কলকাতায়"], ["বাজারে"]),
    "ta": ("இந்தப் படம் 1954 இல் சென்னையில் எடுக்கப்பட்டது.", "ரொட்டி கடைகள் சந்தையில் உள்ளன.",
           ["சென்னையில்"], ["ரொட்டி"]),
    "th": ("ภาพยนตร์เรื่องนี้ถ่ายทำที่กรุงเทพในปี ๑๙๕๔", "คนขายขนมปังอยู่ที่ตลาด",
           ["ภาพยนตร์", "1954"], ["ขนมปัง"]),
    "lo": ("ຮູບເງົານີ້ຖ່າຍທຳຢູ່ວຽງຈັນ", "ຄົນຂາຍເຂົ້າຈີ່ຢູ່ຕະຫຼາດ", ["ຮູບເງົາ"], ["ເຂົ້າຈີ່"]),
    "km": ("ភាពយន្តនេះត្រូវបានថតនៅភ្នំពេញ", "អ្នកលក់នំប៉័ងនៅផ្សារ", ["ភាពយន្ត"], ["នំប៉័ង"]),
    "my": ("ဤရုပ်ရှင်ကို ရန်ကုန်တွင် ရိုက်ကူးခဲ့သည်", "မုန့်ဖုတ်သမားများ ဈေးတွင် ပေါင်မုန့်ရောင်းသည်",
           ["ရုပ်ရှင်"], ["ပေါင်မုန့်"]),
    "zh": ("这部电影于1954年在上海拍摄。", "麵包師在市場賣麵包。", ["电影", "上海", "1954"], ["麵包"]),
    "ja": ("1954年に公開された映画「ゴジラ」は東宝のDVDで見られる。", "パン屋は市場でパンを売る。",
           ["公開", "ｺﾞｼﾞﾗ", "ＤＶＤ", "1954", "１９５４年", "映画"], ["市場"]),
    "ko": ("영화는 1954년에 서울에서 촬영되었다.", "빵집은 시장에서 빵을 판다.", ["영화", "서울"], ["시장"]),
}  # fmt: skip


@pytest.mark.parametrize("language", SENTENCES)
def test_sentences_are_found(language, tmp_path):
    *texts, of_first, of_second = SENTENCES[language]
    writer = BM25Writer(tmp_path / "i", Analysis(language), title=False, megabytes=16)
    for number, text in enumerate(texts):
        writer.add(CutPassage(f"d#{number}", "d", "", number, text, 0, 0, 0))
    writer.finish()
    index = BM25Index(tmp_path / "i", Analysis(language), title=False)
    for number, queries in enumerate((of_first, of_second)):
        for query in queries:
            for settings in (BM25Settings(), BM25Settings(exact=False)):
                found = index.search(query, 2, settings)
                assert found, query
                assert found[0].number == number, query


def test_languages_are_told():
    for language, (first, second, *_) in SENTENCES.items():
        told = likely_language(f"{first} {second}")
        assert told in (language, ""), (language, told)
    assert likely_language("Wer hat die Filme von Hitchcock gedreht?") == "de"
    assert likely_language("Who directed the films of 1954?") == "en"
    assert likely_language("") == likely_language("Kubrick 1954") == ""
    assert languages(["Who is the king of that?", "映画は日本の", "Kubrick"]) == {
        "en": 0.5,
        "ja": 0.5,
    }
    assert SENTENCES.keys() <= NAMES.keys()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ＡＢＣ１２３", "abc123"),  # full width
        ("ﾊﾟﾘ", "パリ"),  # half-width katakana
        ("e\u0301te\u0301", "été"),
        ("١٩٥٤ ۱۹۵۴ १९५४", "1954 1954 1954"),
        ("كتــاب كِتَابٌ", "كتاب كتاب"),
        ("שָׁלוֹם", "שלום"),
        ("ΟΔΌΣ", "οδος"),
        ("İstanbul", "istanbul"),
        ("फ़िल्म", "फिल्म"),  # with the dot of loans, and as it is mostly typed
        ("ﬁlm", "film"),
    ],
)
def test_characters_that_are_alike(one, other):
    analyzer = Analysis("none").analyzer()
    assert analyzer.analyze(one) == analyzer.analyze(other)


def test_terms():
    analyzer = Analysis("none").analyzer()
    assert analyzer.analyze("1954年に公開、DVD版") == [
        "1954", "年", "年に", "に", "に公", "公", "公開", "開", "dvd", "版",
    ]  # fmt: skip
    assert analyzer.query("年に公開、版") == ["年に", "に公", "公開", "版"]
    assert analyzer.analyze("國") != analyzer.analyze("国")  # traditional and simplified
    assert analyzer.analyze("हिन्दी") == ["हिन्दी"]  # marks end no word
    whole = Analysis("none", pairs=False).analyzer()
    assert whole.analyze("公開されたDVD版") == ["公開されたdvd版"]
    assert Analysis("tr").analyzer().analyze("ILIK")[0][0] == "ı"
    assert str(Analysis()) == "English, stems"
    assert str(Analysis("ja")) == "Japanese, whole words"
    assert str(Analysis("none", pairs=False)) == "any language, whole words, no pairs"


def test_another_language_than_the_index_warns(assay, tmp_path):
    texts = [f"{SENTENCES['de'][0]} {SENTENCES['de'][1]}", SENTENCES["de"][1]]
    write_passages(
        (CutPassage(f"D{n}#0", f"D{n}", "", 0, t, 9, 0, 0) for n, t in enumerate(texts)),
        tmp_path / "corpus",
        Layout.JSONL,
    )
    built = assay("index", "build", tmp_path / "corpus", tmp_path / "index")
    assert built.returncode == 0
    assert "The passages look German, but the index is English, stems" in built.stderr
    good = assay("index", "build", tmp_path / "corpus", tmp_path / "de", "--language", "de")
    assert good.stderr.count("look") == 0
    assert "(German, stems)" in good.stdout
    (tmp_path / "q.tsv").write_text(
        "1\tWho sells bread at the market?\n2\t公開された映画\n3\tLissabon\n"
    )
    command = ["retrieve", tmp_path / "de", tmp_path / "q.tsv", "-o", tmp_path / "R.txt"]
    done = assay(*command)
    assert done.returncode == 0
    assert "1 of 3 topics look English, but the index is German, stems" in done.stderr
    assert "1 of 3 topics look Japanese" in done.stderr
    assert len(json.loads(assay(*command, "--json").stdout)["warnings"]) == 2


def test_an_index_of_older_terms_says_so(assay, tmp_path):
    write_passages([CutPassage("D#0", "D", "", 0, "text", 1, 0, 0)], tmp_path / "c", Layout.JSONL)
    assay("index", "build", tmp_path / "c", tmp_path / "i")
    about = json.loads((tmp_path / "i" / "index.json").read_text())
    del about["form"], about["analysis"]["pairs"]
    (tmp_path / "i" / "index.json").write_text(json.dumps(about))
    (tmp_path / "q.tsv").write_text("1\ttext\n")
    done = assay("retrieve", tmp_path / "i", tmp_path / "q.tsv", "-o", tmp_path / "R.txt")
    assert done.returncode == 2
    assert "built by another version of Assay" in done.stderr


@pytest.mark.parametrize(
    ("language", "word"),
    [
        ("ml", "തിരുവനന്തപുരത്തുനിന്നുള്ളവരായിരുന്നു"),
        ("ta", "செயல்படுத்தப்பட்டிருந்ததாகவும்"),
        ("ru", "рентгеноэлектрокардиографического"),
        ("fi", "epäjärjestelmällistyttämättömyydellänsäkäänköhän"),
    ],
)
def test_long_words_are_terms_in_every_script(language, word):
    assert len(Analysis(language).analyzer().analyze(word)) == 1


def test_a_run_without_spaces_is_one_term_where_pairs_are_not_wanted():
    text = "ภาพยนตร์ไทยเรื่องนี้ออกฉายครั้งแรกในปี"
    assert Analysis("th", pairs=False).analyzer().analyze(text) == [text]


def test_turkish_casing_of_letters_and_dots_apart():
    terms = Analysis("tr").analyzer()
    apart = unicodedata.normalize("NFD", "İSTANBUL")
    assert terms.analyze(apart) == terms.analyze("İSTANBUL") == terms.analyze("istanbul")
