"""What an internal link leads to: a page, a file, a category, a page in another language."""

from __future__ import annotations

import re

from assay.systems.corpus.words import name_set

FILE_SPACES = name_set(
    """
    file image media datei bild fichier archivo imagen ficheiro imagem immagine bestand
    afbeelding plik grafika файл изображение ファイル 画像 파일 그림 文件 图像 檔案 圖像
    fil tiedosto kuva soubor obrázek fájl kép dosya resim ملف صورة پرونده קובץ תמונה चित्र
    ছবি படிமம் ไฟล์ ภาพ
    tập tin hình berkas gambar fișier imagine файл зображення αρχείο εικόνα
    """
)
CATEGORY_SPACES = name_set(
    """
    category kategorie catégorie categoría categoria categorie kategoria категория カテゴリ 분류
    分类 分類 kategori luokka kategória kategorija تصنيف رده קטגוריה श्रेणी বিষয়শ্রেণী பகுப்பு
    หมวดหมู่ категорія κατηγορία
    """
) | {"thể loại"}
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[a-z]{2,12})?|simple|arz|zh-min-nan")


def namespace(title: str) -> str:
    """``file``, ``category``, ``language`` or ``""`` for the target of an internal link."""
    prefix, colon, rest = title.partition(":")
    if not colon:
        return ""
    word = prefix.strip().casefold().replace("_", " ")
    if word in FILE_SPACES:
        return "file"
    if word in CATEGORY_SPACES:
        return "category"
    if _LANGUAGE.fullmatch(prefix) and rest and not rest.startswith(" "):
        return "language"
    return ""
