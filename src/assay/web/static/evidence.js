// Evidence: parts of the texts that somebody selects, with a mouse or a finger, or sentence by
// sentence with keys.
"use strict";

const marking = { on: false, sentences: [], from: 0, to: 0, heard: null }; // the selection's ends, either first

function place(node, offset, root) {
  const before = document.createRange();
  before.selectNodeContents(root);
  before.setEnd(node, offset);
  return [...before.toString()].length;
}

function marked() {
  // Whether what is selected is evidence that was not there before.
  const chosen = document.getSelection();
  if (!state.screen || !chosen.rangeCount || chosen.isCollapsed) return false;
  const range = chosen.getRangeAt(0);
  const node = range.startContainer;
  const from = (node.nodeType === Node.ELEMENT_NODE ? node : node.parentElement).closest(".texts [data-field]");
  if (!from || !from.contains(range.endContainer)) return false;
  const found = { field: from.dataset.field, start: place(range.startContainer, range.startOffset, from), end: place(range.endContainer, range.endOffset, from) };
  if (from.dataset.item !== undefined) found.item = Number(from.dataset.item);
  if (state.evidence.some((one) => one.field === found.field && one.item === found.item && one.start === found.start && one.end === found.end)) return false;
  addEvidence({ ...found, text: chosen.toString() });
  return true;
}

function addEvidence(found) {
  state.evidence.push(found);
  const entry = make("li", {}, make("q", { dir: "auto", lang: languageOf(found.text) }, found.text.slice(0, 120)), " ");
  const drop = make("button", { type: "button", "aria-label": "Remove this evidence" }, "×");
  drop.addEventListener("click", () => { state.evidence = state.evidence.filter((one) => one !== found); entry.remove(); toBench(); });
  entry.append(drop);
  find("evidence").append(entry);
}

// -- sentence by sentence -----------------------------------------------------------------------

function sentencesIn(field) {
  const text = field.textContent;
  const found = Intl.Segmenter ? [...new Intl.Segmenter(undefined, { granularity: "sentence" }).segment(text)]
    : [...text.matchAll(/.+?(?:[.!?]\s+|[。！？]|$)/gsu)].map(({ 0: segment, index }) => ({ segment, index }));
  return found.filter((one) => one.segment.trim()).map((one) => {
    const start = one.index + one.segment.length - one.segment.trimStart().length;
    return { field, start, end: one.index + one.segment.trimEnd().length };
  });
}

function nodeAt(root, offset) {
  // The text node that a place in a text is in, and where in it.
  const nodes = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  let node = nodes.nextNode();
  while (node.length < offset) { offset -= node.length; node = nodes.nextNode(); }
  return [node, offset];
}

const spoken = (text, lang = null) => { find("spoken").replaceChildren(make("span", { lang }, text)); }; // the same text anew, too

function startMarking() {
  const sentences = [...document.querySelectorAll(".texts [data-field]")].filter((one) => one.checkVisibility()).flatMap(sentencesIn);
  if (!sentences.length) { say("There is no text to mark."); return; }
  const against = sentences.findIndex((one) => one.field.closest("#against"));
  toBench();
  Object.assign(marking, { on: true, sentences, heard: null });
  say("Marking evidence: ↑ ↓ another sentence, Shift+↑ ↓ more or less text, Enter to record it, Esc to leave.");
  choose(Math.max(0, against));
}

function stopMarking() {
  if (!marking.on) return;
  marking.on = false;
  document.getSelection().removeAllRanges();
  say("");
  spoken("");
}

function choose(to, from = to) {
  const { sentences } = marking;
  if (!sentences[to] || sentences[to].field !== sentences[from].field) return; // evidence is of one text
  Object.assign(marking, { from, to });
  const [first, last] = [sentences[Math.min(from, to)], sentences[Math.max(from, to)]];
  const field = first.field;
  const chosen = document.getSelection();
  chosen.setBaseAndExtent(...nodeAt(field, first.start), ...nodeAt(field, last.end));
  const moved = document.createRange();
  moved.setStart(...nodeAt(field, sentences[to].start));
  moved.setEnd(...nodeAt(field, sentences[to].end));
  const [box, frame] = [moved.getBoundingClientRect(), field.getBoundingClientRect()];
  if (box.top < frame.top || box.bottom > frame.bottom) field.scrollTop += box.top - frame.top;
  const { top, bottom } = moved.getBoundingClientRect();
  if (top < 0 || bottom > window.innerHeight) window.scrollBy(0, top - window.innerHeight / 3);
  const label = marking.heard === field ? "" : `${field.closest(".text").querySelector("h2").textContent}: `;
  marking.heard = field;
  const many = Math.abs(from - to) + 1;
  spoken(`${label}${many > 1 ? `${many} sentences: ` : ""}${chosen.toString()}`, field.lang || null);
}

document.addEventListener("keydown", (event) => {
  if (!marking.on || composes(event) || event.ctrlKey || event.metaKey || event.altKey || event.key === "Shift") return;
  const backwards = getComputedStyle(marking.sentences[marking.to].field).direction === "rtl" ? -1 : 1;
  const step = { ArrowDown: 1, ArrowUp: -1, ArrowRight: backwards, ArrowLeft: -backwards }[event.key];
  if (step) choose(marking.to + step, event.shiftKey ? marking.from : undefined);
  else if (event.key === "Enter") spoken(marked() ? "Recorded as evidence." : "That is already evidence.");
  else {
    // Any other key leaves, and does what it always does.
    stopMarking();
    if (event.key !== "Escape" && pressed(event) !== keys.evidence) return;
  }
  event.preventDefault();
  event.stopImmediatePropagation();
}, true);

document.addEventListener("pointerdown", stopMarking);
document.addEventListener("mouseup", marked);
document.addEventListener("touchend", marked);
document.addEventListener("keyup", (event) => { if (event.key === "Shift" && !marking.on) marked(); });
