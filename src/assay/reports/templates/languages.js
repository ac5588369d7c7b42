"use strict";
// What a text says of its language: for fonts, and for who listens. Before it stands WORDS, little
// words of languages that share a script (assay.model.languages).

const surroundings = { text: "" }; // all texts that stand together
const LONGEST_SHOWN = 2000; // letters that tell enough
const LONGEST_AROUND = 20000;

const LITTLE = new Map(); // languages by word
for (const [code, words] of Object.entries(WORDS)) for (const one of words.split(" ")) LITTLE.set(one, [...(LITTLE.get(one) || []), code]);

const LANGUAGES = [["ja", /[\p{sc=Hiragana}\p{sc=Katakana}]/gu, 8], ["zh", /\p{sc=Han}/gu, 2], ["ko", /\p{sc=Hangul}/gu, 2], ["ar", /\p{sc=Arabic}/gu, 2],
  ["he", /\p{sc=Hebrew}/gu, 2], ["th", /\p{sc=Thai}/gu, 2], ["hi", /\p{sc=Devanagari}/gu, 2], ["el", /\p{sc=Greek}/gu, 2], ["ru", /\p{sc=Cyrillic}/gu, 2]];

const TRADITIONAL = /[這個們來時為會說國對過還沒麼學經讓從東車馬門問間長書見於與據橋樑歷當點無開關發實現電體]/gu;
const SIMPLIFIED = /[这个们来时为会说国对过还没么学经让从东车马门问间长书见于与据桥梁历当点无开关发实现电体]/gu;
const LONGEST_WITHOUT_KANA = 20; // letters; a longer text without any is not Japanese

const count = (text, some) => (text.match(some) || []).length;

function byWords(text) {
  // The language that has more of the text's little words than any other, and two at least.
  const counts = {};
  for (const word of text.slice(0, LONGEST_SHOWN).toLowerCase().match(/'n|\p{L}+/gu) || []) {
    for (const code of LITTLE.get(word) || []) counts[code] = (counts[code] || 0) + 1;
  }
  const [first, second] = Object.entries(counts).sort((one, other) => other[1] - one[1]);
  return first && first[1] > 1 && (!second || second[1] < first[1]) ? first[0] : "";
}

function languageOf(text, around = surroundings.text) {
  // By its script and its words, for fonts and for who listens; empty (not the page's English) where
  // these tell nothing. What has Chinese characters alone is of the language of the texts around it.
  if (!/[^\u0000-\u036f]/.test(text)) return byWords(text);
  const letters = count(text, /\p{L}/gu);
  const found = LANGUAGES.find(([, script, share]) => count(text, script) * share > letters);
  if (!found || found[0] === "ru") return byWords(text) || (found ? "ru" : "");
  if (found[0] !== "zh") return found[0];
  const beside = around && letters <= LONGEST_WITHOUT_KANA ? languageOf(around, "") : "";
  if (beside === "ja" || beside === "ko") return beside;
  const more = count(text, TRADITIONAL) - count(text, SIMPLIFIED) || count(around, TRADITIONAL) - count(around, SIMPLIFIED);
  return more ? (more > 0 ? "zh-Hant" : "zh-Hans") : "zh";
}

const languagesFound = new WeakMap(); // of an element: its text and that text's language

function sayLanguages(...places) {
  const silent = places.flatMap((one) => [...one.querySelectorAll('[lang=""]')]).filter((one) => one.checkVisibility() && one.textContent);
  const texts = silent.map((one) => one.textContent.slice(0, LONGEST_SHOWN));
  surroundings.text = texts.join("\n").slice(0, LONGEST_AROUND);
  silent.forEach((one, at) => {
    let [text, language] = languagesFound.get(one) || [];
    if (text !== texts[at]) language = languageOf(texts[at]);
    languagesFound.set(one, [texts[at], language]);
    if (language) one.lang = language;
  });
}

// Pages whose texts stand in them, what is put into them later, and what opens; the labelling page
// says its own.
if (!document.getElementById("start")) {
  sayLanguages(document);
  const anew = new MutationObserver(() => sayLanguages(document));
  anew.observe(document.querySelector("main"), { childList: true, subtree: true, attributeFilter: ["lang"] });
  const opened = []; // all at once: to ask what is visible after each takes seconds
  document.addEventListener("toggle", (event) => {
    if (opened.push(event.target) === 1) setTimeout(() => sayLanguages(...opened.splice(0)), 100);
  }, true);
}
