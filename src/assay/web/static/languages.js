"use strict";
// What a text says of its language: for fonts, and for who listens.

const surroundings = { text: "" }; // all texts that stand together

const LANGUAGES = [["ja", /[\p{sc=Hiragana}\p{sc=Katakana}]/gu, 8], ["zh", /\p{sc=Han}/gu, 2], ["ko", /\p{sc=Hangul}/gu, 2], ["ar", /\p{sc=Arabic}/gu, 2],
  ["he", /\p{sc=Hebrew}/gu, 2], ["th", /\p{sc=Thai}/gu, 2], ["hi", /\p{sc=Devanagari}/gu, 2], ["el", /\p{sc=Greek}/gu, 2], ["ru", /\p{sc=Cyrillic}/gu, 2]];

const TRADITIONAL = /[這個們來時為會說國對過還沒麼學經讓從東車馬門問間長書見於與據橋樑歷當點無開關發實現電體]/gu;
const SIMPLIFIED = /[这个们来时为会说国对过还没么学经让从东车马门问间长书见于与据桥梁历当点无开关发实现电体]/gu;
const LONGEST_WITHOUT_KANA = 20; // letters; a longer text without any is not Japanese

const count = (text, some) => (text.match(some) || []).length;

function languageOf(text, around = surroundings.text) {
  // By its script, for fonts and for who listens; empty (not the page's English) where that tells
  // nothing. What has Chinese characters alone is of the language of the texts around it.
  if (!/[^\u0000-\u036f]/.test(text)) return "";
  const letters = count(text, /\p{L}/gu);
  const found = LANGUAGES.find(([, script, share]) => count(text, script) * share > letters);
  if (!found || found[0] !== "zh") return found ? found[0] : "";
  const beside = around && letters <= LONGEST_WITHOUT_KANA ? languageOf(around, "") : "";
  if (beside === "ja" || beside === "ko") return beside;
  const more = count(text, TRADITIONAL) - count(text, SIMPLIFIED) || count(around, TRADITIONAL) - count(around, SIMPLIFIED);
  return more ? (more > 0 ? "zh-Hant" : "zh-Hans") : "zh";
}

const LONGEST_SHOWN = 2000; // letters that tell enough

function sayLanguages() {
  const silent = [...document.querySelectorAll('main [lang=""]')];
  if (!silent.length) return;
  const texts = silent.map((one) => one.textContent.slice(0, LONGEST_SHOWN));
  surroundings.text = texts.join("\n");
  silent.forEach((one, at) => { if (texts[at]) one.lang = languageOf(texts[at]); });
}

// Pages whose texts stand in them, and what is put into them later; the labelling page says its own.
if (!document.getElementById("start")) {
  sayLanguages();
  new MutationObserver(sayLanguages).observe(document.querySelector("main"), { childList: true, subtree: true });
}
