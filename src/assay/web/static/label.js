// The page in which people label. Everything shown is made of text nodes: nothing that comes from a
// run or a corpus is ever read as HTML.
"use strict";

const start = JSON.parse(document.getElementById("start").textContent);
const keys = start.keys;
const find = (id) => document.getElementById(id);
const LETTERS = [..."abcdefghijklmnopqrstuvwxyz"];
const ITEM_KEYS = [...LETTERS, ...LETTERS.map((one) => one.toUpperCase())].filter((one) => !Object.values(keys).includes(one));
const AHEAD = 3;
const SLOW = 2000; // milliseconds after which a label that is on its way is told of
const SILENT = 30000; // and after which the server counts as away
const AGAIN = 20000; // and after which an empty queue is looked into again
const LONGEST_SAID = 1000; // characters, of what is judged
const LONGEST_BESIDE = 300; // of any other text

const state = {
  ahead: start.screens, // units to come, the first is shown
  behind: [], // units that were shown before, by number
  screen: null,
  since: 0,
  values: {}, // by field
  evidence: [],
  busy: false,
  confirmed: false,
  fetching: null,
  after: 0, // what is forward of where we stepped back to
  drafts: new Map(), // by unit
  revisited: false, // whether somebody went back to it
  stuck: false, // the last unit at hand was submitted
  unreached: false, // the server did not answer when more were asked for
};

// -- small things -------------------------------------------------------------------------------

function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null) made.setAttribute(name, value);
  }
  made.append(...children.filter((one) => one !== null));
  return made;
}

// Keys of one character can be switched off: who dictates, or whose screen reader has them, gives
// verdicts by them without meaning to.
let single = localStorage.getItem("single keys") !== "off";
const works = (key) => single || key.length > 1 || key === " ";

// Input methods write with it; in Safari only the number says so.
const composes = (event) => event.isComposing || event.keyCode === 229;

function pressed(event) {
  // What a key says: where a keyboard has no Latin letters, or digits with Shift alone, what stands
  // there on others. Capitals lock makes no other keys.
  if (event.key.length > 1) return event.key;
  const key = event.key.normalize("NFKC");
  const [, letter, digit] = /^(?:Key([A-Z])|(?:Digit|Numpad)([0-9]))$/.exec(event.code) || [];
  const known = Object.values(keys).includes(key) || event.shiftKey || event.getModifierState("AltGraph");
  if (digit && !known && !/^[a-z]$/i.test(key)) return digit;
  const said = (letter && !/^[ -~]$|\p{sc=Latin}/u.test(key) ? letter : key).toLowerCase();
  return !LETTERS.includes(said) ? key : event.shiftKey ? said.toUpperCase() : said;
}

const kbd = (key) => (key && works(key) ? make("kbd", { "aria-hidden": "true" }, key === "Backspace" ? "⌫" : key) : null);

function say(text, wrong = false) {
  const status = find("status");
  status.textContent = text;
  status.classList.toggle("wrong", wrong);
}

async function ask(path, body, most = SILENT) {
  const sent = most && AbortSignal.timeout ? { signal: AbortSignal.timeout(most) } : {};
  const reply = await fetch(path, body === undefined ? { ...sent, cache: "no-store" } : {
    ...sent,
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Assay-Token": start.token },
    body: JSON.stringify(body),
  });
  const found = await reply.json();
  if (!reply.ok) throw Object.assign(new Error(found.error || reply.statusText), { status: reply.status });
  return found;
}

function editOf(text) {
  // The way to where a nugget or a question is edited, where this person may.
  const to = state.screen.edits[text];
  return to ? make("a", { href: to, class: "edit", "aria-label": `Edit ${text}` }, "Edit") : null;
}

// -- texts --------------------------------------------------------------------------------------

const RUN = /[\p{L}\p{N}\p{M}]+/gu; // compiled once: a pattern made of each unit's words takes 20 ms
const WITHOUT_SPACES = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;
const PARTICLE = /^\p{sc=Hiragana}{1,2}$/u;
const segments = Intl.Segmenter && new Intl.Segmenter(undefined, { granularity: "word" }); // Firefox has it since 125

function lit(text, words) {
  // Words of the query stand out where a word begins with one of them and has three letters more at
  // most; in scripts that have no spaces, wherever a part of the query stands.
  const known = new Set(words.filter((one) => one.length > 2));
  const parts = words.filter((one) => WITHOUT_SPACES.test(one)).flatMap((one) => (segments ? [...segments.segment(one)].map((part) => part.segment) : [one]));
  const anywhere = parts.filter((one) => !PARTICLE.test(one)).join("|");
  const found = [];
  let end = 0;
  const mark = (from, run) => {
    found.push(document.createTextNode(text.slice(end, from)), make("mark", {}, run));
    end = from + run.length;
  };
  for (const { 0: run, index } of text.matchAll(RUN)) {
    const word = run.toLowerCase();
    if ([0, 1, 2, 3].some((more) => known.has(word.slice(0, word.length - more)))) mark(index, run);
    else if (anywhere && WITHOUT_SPACES.test(run)) {
      for (const part of run.matchAll(new RegExp(anywhere, "g"))) mark(index + part.index, part[0]);
    }
  }
  found.push(document.createTextNode(text.slice(end)));
  return found;
}

// Each line of a text may run in its own direction; where one is very long, browsers take minutes.
const byLines = (text) => text.includes("\n") && !/[^\n]{10000}/.test(text) && "lines";

function textOf(one, given) {
  const words = one.query ? [] : given; // the query itself is no find
  const block = make("div", { class: "text" }, make("h2", {}, one.label));
  if (Array.isArray(one.value)) {
    const list = make("ol");
    one.value.forEach((text, item) => {
      list.append(make("li", { class: byLines(text), dir: "auto", lang: languageOf(text), "data-field": one.name, "data-item": item, "aria-label": `${one.label} ${item + 1}: ${text}`, tabindex: "0" }, ...lit(text, words)));
    });
    block.append(list);
  } else {
    block.append(make("p", { class: byLines(one.value), dir: "auto", lang: languageOf(one.value), "data-field": one.name, role: "group", "aria-label": `${one.label}: ${one.value}`, tabindex: "0" }, ...lit(one.value, words)));
    const edit = editOf(one.value);
    if (edit) block.append(edit);
  }
  return block;
}

// -- controls -----------------------------------------------------------------------------------

function choiceKeys(controls, keysLeft) {
  // A scale of whole numbers has its own digits where nothing else needs any.
  const choices = controls.filter((one) => one.kind === "choice");
  const digits = new Map();
  let next = 1;
  for (const one of choices) {
    const own = choices.length === 1 && one.options.every((o) => Number.isInteger(o.value) && o.value >= 0 && o.value < 10);
    for (const option of one.options) {
      digits.set(option, !single ? "" : own ? String(option.value) : next < 10 ? String(next) : keysLeft.shift() || "");
      next += 1;
    }
  }
  return digits;
}

function choice(control, digits, set) {
  const group = make("div", { role: "radiogroup", "aria-label": control.label, class: "choice" });
  const before = state.values[control.field];
  for (const option of control.options) {
    const key = digits.get(option) || "";
    const button = make("button", {
      type: "button", role: "radio",
      "data-verdict": option.value, "data-field": control.field, "data-key": key || null,
      "aria-keyshortcuts": key || null,
    }, make("span", {}, option.label), key ? kbd(key) : null);
    button.addEventListener("click", () => {
      check(group, button);
      set(option.value);
      heard(button, `${control.label}: ${option.label}.`);
    });
    group.append(button);
  }
  check(group, group.children[control.options.findIndex((one) => same(before, one.value))]);
  return group;
}

// One of a scale's buttons is in the order of Tab; the arrows lead to the others.
function check(group, chosen) {
  for (const one of group.children) {
    one.setAttribute("aria-checked", String(one === chosen));
    one.tabIndex = one === (chosen || group.firstChild) ? 0 : -1;
  }
}

const same = (one, other) => one === other || String(one).toUpperCase() === String(other).toUpperCase();

function itemRow(control, at, keysLeft) {
  // The row's key stands on the value that it gives next.
  const key = keysLeft.shift() || "";
  const values = state.values[control.field];
  const row = make("li", { class: "item" });
  const options = make("span", { role: "radiogroup", "aria-label": `${control.label} ${at + 1}${key && `, key ${key}`}: ${control.items[at]}`, class: "options" });
  const letter = kbd(key);
  const show = () => {
    const now = control.options.findIndex((option) => same(option.value, values[at]));
    check(options, options.children[now]);
    [...options.children].forEach((button, n) => {
      const next = key && n === (now + 1) % control.options.length;
      button.toggleAttribute("data-key", Boolean(next));
      if (next) { button.dataset.key = key; button.setAttribute("aria-keyshortcuts", key); button.append(letter); }
      else button.removeAttribute("aria-keyshortcuts");
    });
    row.dataset.value = String(values[at]);
  };
  control.options.forEach((option) => {
    const button = make("button", {
      type: "button", role: "radio", "data-verdict": option.value, "data-field": control.field, "data-item": at,
    }, option.label);
    button.addEventListener("click", () => { values[at] = option.value; state.confirmed = true; show(); heard(button, `${option.label}: ${control.items[at]}`); });
    options.append(button);
  });
  row.append(make("span", { class: "words", dir: "auto", lang: languageOf(control.items[at]) }, ...lit(control.items[at], state.screen.words)), options);
  const edit = editOf(control.items[at]);
  if (edit) row.firstChild.append(" ", edit);
  show();
  return row;
}

function fieldOf(column, value, set, of = "") {
  const label = make("label", {}, make("span", {}, column.label, make("span", { class: "hidden" }, ` ${of}`)));
  let input;
  if (column.kind === "choice") {
    input = make("select", {}, make("option", { value: "" }, "…"),
      ...column.options.map((o, n) => make("option", { value: String(n), selected: same(o.value, value) && value !== undefined }, o.label)));
    input.addEventListener("change", () => set(input.value === "" ? undefined : column.options[Number(input.value)].value));
  } else if (column.kind === "number") {
    input = make("input", { type: "number", step: "1", value: value ?? "" });
    input.addEventListener("input", () => set(input.value === "" ? undefined : Number(input.value)));
  } else {
    input = make("textarea", { rows: "1", dir: "auto" });
    input.value = value ?? "";
    input.addEventListener("input", () => set(input.value));
  }
  label.append(input);
  return label;
}

function rows(control) {
  const values = state.values[control.field];
  return make("ol", { class: "rows" }, ...control.items.map((text, at) => make("li", {},
    make("span", { class: "words", dir: "auto", lang: languageOf(text) }, text, " ", editOf(text)),
    ...control.columns.map((column) => fieldOf(column, values[at][column.field], (value) => {
      values[at][column.field] = value;
    }, text)))));
}

// A list that is written: entries are edited, moved, split at the caret, merged with the next,
// dropped; each entry may have more fields than its text.
function editable(control) {
  const values = state.values[control.field];
  const list = make("ol", { class: "list" });
  const records = control.kind === "records";
  const main = records ? control.columns.find((one) => one.kind === "text") : null;
  const read = (at) => (records ? values[at][main.field] : values[at]) ?? "";
  const write = (at, text) => { if (records) values[at][main.field] = text; else values[at] = text; };
  const fresh = (text, like) => (records ? { ...like, [main.field]: text } : text);
  const draw = (focus = null) => {
    list.replaceChildren(...values.map((_, at) => {
      const box = make("textarea", { rows: "2", dir: "auto", lang: languageOf(read(at)), "aria-label": `Entry ${at + 1} of ${values.length}` });
      box.value = read(at);
      box.addEventListener("input", () => write(at, box.value));
      const act = (name, title, key, work) => {
        const button = make("button", { type: "button", "data-act": name, "aria-keyshortcuts": key, title }, name, make("span", { class: "hidden" }, ` entry ${at + 1}`), " ", kbd(key));
        button.addEventListener("click", () => { state.confirmed = true; work(); });
        return button;
      };
      box.addEventListener("keydown", (event) => {
        if (!event.altKey) return;
        // Alt makes other letters of these on a Mac.
        const acts = { ArrowUp: "up", ArrowDown: "down", s: "split", m: "merge", d: "drop", KeyS: "split", KeyM: "merge", KeyD: "drop" };
        const name = acts[event.key] || acts[event.code];
        if (!name) return;
        event.preventDefault();
        list.children[at].querySelector(`[data-act="${name}"]`).click();
      });
      return make("li", {}, box,
        ...(records ? control.columns.filter((one) => one !== main).map((column) => fieldOf(column, values[at][column.field], (value) => { values[at][column.field] = value; }, `entry ${at + 1}`)) : []),
        make("span", { class: "acts" },
          act("up", "Move up", "Alt+↑", () => { if (at) { values.splice(at - 1, 0, values.splice(at, 1)[0]); draw(at - 1); } }),
          act("down", "Move down", "Alt+↓", () => { if (at + 1 < values.length) { values.splice(at + 1, 0, values.splice(at, 1)[0]); draw(at + 1); } }),
          act("split", "Split at the caret", "Alt+S", () => {
            const cut = box.selectionStart || 0;
            const second = box.value.slice(cut).trim();
            write(at, box.value.slice(0, cut).trim());
            values.splice(at + 1, 0, fresh(second, values[at]));
            draw(at + 1);
          }),
          act("merge", "Merge with the next", "Alt+M", () => {
            if (at + 1 >= values.length) return;
            write(at, `${read(at)} ${read(at + 1)}`.trim());
            values.splice(at + 1, 1);
            draw(at);
          }),
          act("drop", "Drop", "Alt+D", () => { values.splice(at, 1); draw(Math.min(at, values.length - 1)); })));
    }));
    if (list.children[focus]) list.children[focus].querySelector("textarea").focus();
    else if (focus !== null) { toBench(); spoken("The list is empty."); }
  };
  draw();
  const add = make("button", { type: "button", class: "add" }, "Add an entry ", kbd("+"));
  add.dataset.key = "+";
  add.addEventListener("click", () => {
    if (control.most && values.length >= control.most) { say(`At most ${control.most} entries.`, true); return; }
    values.push(fresh("", {}));
    draw(values.length - 1);
  });
  return make("div", {}, list, add);
}

function initial(control, given) {
  const items = control.items || [];
  if (control.kind === "items") {
    const lowest = control.options[0].value;
    return items.map((_, at) => {
      const entry = Array.isArray(given) ? given[at] : undefined;
      const value = control.shape === "numbered" && Array.isArray(given)
        ? (given.find((one) => Object.values(one).includes(at + 1)) || {})[control.inner] : entry;
      return value === undefined ? lowest : typeof value === "boolean" ? (value ? "YES" : "NO") : value;
    });
  }
  if (control.kind === "rows") {
    return items.map((_, at) => ({ ...(Array.isArray(given) ? given[at] : {}) }));
  }
  if (control.kind === "order") return Array.isArray(given) ? given : items.map((_, at) => at + 1);
  if (control.kind === "texts") return [...(Array.isArray(given) ? given : control.from || [])];
  if (control.kind === "records") return (Array.isArray(given) ? given : control.from || []).map((one) => ({ ...one }));
  if (typeof given === "boolean") return given ? "YES" : "NO";
  return given;
}

function controlOf(control, digits, keysLeft) {
  const set = (value) => { state.values[control.field] = value; };
  const named = control.kind === "choice"; // its scale has the name
  const box = make("fieldset", { role: named && "none" }, make("legend", {}, control.label));
  if (control.kind === "choice") box.append(choice(control, digits, set));
  else if (control.kind === "items") {
    box.append(make("ol", { class: "items" }, ...control.items.map((_, at) => itemRow(control, at, keysLeft))));
  } else if (control.kind === "rows") box.append(rows(control));
  else if (control.kind === "texts" || control.kind === "records") box.append(editable(control));
  else if (control.kind === "order") {
    box.append(make("ol", {}, ...control.items.map((text, at) => make("li", {}, text.slice(0, 80), fieldOf(
      { kind: "number", label: "Place" }, state.values[control.field].indexOf(at + 1) + 1, (place) => {
        const order = state.values[control.field];
        order.splice(order.indexOf(at + 1), 1);
        order.splice(place - 1, 0, at + 1);
      }, text)))));
  } else box.append(fieldOf(control, state.values[control.field], set));
  return box;
}

// -- showing a unit -----------------------------------------------------------------------------

function keepDraft() {
  // What is begun and not submitted waits for whoever comes back to the unit.
  const screen = state.screen;
  if (!screen || !find("reason")) return;
  state.drafts.set(screen.unit, { values: state.values, reason: find("reason").value, evidence: state.evidence, confirmed: state.confirmed });
}

function show(screen) {
  stopMarking();
  state.screen = screen;
  state.evidence = [];
  state.gold = false;
  state.revisited = false;
  const bench = find("bench");
  bench.hidden = !screen;
  find("empty").hidden = Boolean(screen);
  find("commands").hidden = !screen;
  if (!screen) { delete bench.dataset.unit; find("empty").focus(); tellWhatWaits(); return; }
  const own = priorOf(screen);
  state.confirmed = Boolean(own);
  bench.dataset.unit = screen.unit;
  surroundings.text = screen.texts.map((one) => whole(one.value)).join("\n");
  const topic = find("topic");
  topic.textContent = screen.texts.some((one) => one.value === screen.topic) ? "" : screen.topic;
  topic.lang = languageOf(screen.topic);
  const listed = new Set(screen.controls.filter((one) => one.items).map((one) => JSON.stringify(one.items)));
  const visible = screen.texts.filter((one) => !listed.has(JSON.stringify(one.value)));
  const judged = visible.filter((one) => one.judged);
  find("judged").replaceChildren(...judged.map((one) => textOf(one, screen.words)));
  find("judged").hidden = !judged.length;
  find("judged").classList.toggle("beside", judged.length > 1 && judged.every((one) => !Array.isArray(one.value)));
  find("against").replaceChildren(...visible.filter((one) => !one.judged).map((one) => textOf(one, screen.words)));
  const given = (own || (screen.mode === "post-edit" && screen.shown) || {}).verdict || {};
  const draft = state.drafts.get(screen.unit);
  state.drafts.delete(screen.unit);
  state.values = draft ? draft.values : {};
  if (draft) state.confirmed = draft.confirmed;
  else for (const one of screen.controls) state.values[one.field] = initial(one, given[one.field]);
  const keysLeft = single ? [...ITEM_KEYS] : [];
  const digits = choiceKeys(screen.controls, keysLeft);
  const reason = make("textarea", { id: "reason", rows: "1", dir: "auto" });
  reason.value = draft ? draft.reason : own ? own.reason : "";
  find("verdict").replaceChildren(
    ...controlsOf(screen).map((one) => controlOf(one, digits, keysLeft)),
    make("label", { class: "reason" }, start.own.reason || "Reason (optional)", reason),
    make("ul", { id: "evidence", class: "evidence", "aria-label": "Evidence" }),
    make("p", {}, make("button", { type: "submit", class: "go", "data-command": "submit" }, start.own.submit || (own ? "Change label" : "Submit"), " ", kbd(keys.submit))),
  );
  shown(screen);
  for (const one of draft ? draft.evidence : own ? own.evidence : []) addEvidence(one);
  announce(screen, digits);
  say(own ? "You have already labelled this unit; what you submit now replaces that label." : "");
  find("left").textContent = screen.flag ? "· flagged" : "";
  if (bench.getBoundingClientRect().top < 0) bench.scrollIntoView();
  state.since = performance.now();
}

const controlsOf = (screen) => screen.controls.filter((one) => !one.items || one.items.length);
// What submitting takes the place of: for who settles what they labelled, too, not what they said blind.
const priorOf = (screen) => (screen.mode === "adjudication" && !screen.settled ? null : screen.own);
const whole = (value) => (Array.isArray(value) ? value.join("; ") : value);
const judgedIn = (screen) => (screen.texts.some((one) => one.judged) ? screen.texts.filter((one) => one.judged) : screen.texts.slice(0, 1));

function announce(screen, digits) {
  // Who listens hears what is judged, what it is judged against as far as that is short, what was
  // said of it, and the keys; these work wherever the focus is. A name that changes where the focus
  // is already is not read out, so that is spoken.
  const bench = find("bench");
  const judged = judgedIn(screen);
  const cut = (text, most) => (text.length > most ? `${text.slice(0, most)} … Press Tab to hear all of it.` : text);
  const parts = [...judged, ...screen.texts.filter((one) => !judged.includes(one))].map((one) => {
    const text = whole(one.value);
    return `${one.label}: ${judged.includes(one) ? cut(text, LONGEST_SAID) : text.length > LONGEST_BESIDE ? "press Tab to go there." : text}`;
  });
  for (const { title, verdict, reason } of said(screen)) parts.push(`${title}: ${brief(verdict)}${reason ? `, ${reason}` : ""}.`);
  if (priorOf(screen)) parts.push(`You said: ${brief(screen.own.verdict)}.`);
  for (const { kind, label, options, items } of controlsOf(screen)) {
    if (kind === "choice") parts.push(`${label}: ${options.map((one) => (digits.get(one) === one.label ? one.label : `${digits.get(one)} ${one.label}`.trim())).join(", ")}.`);
    else if (kind === "items") parts.push(`${label}: ${options.map((one) => one.label).join(", ")}, for each of ${items.length}${single ? ", by its letter" : ""}.`);
    else if (kind === "texts" || kind === "records") parts.push(`${label}: a list, press Tab to go there${single ? ", + to add an entry" : ""}.`);
    else parts.push(`${label}: press Tab to go there.`);
  }
  const text = parts.join(" ");
  bench.setAttribute("aria-label", text);
  bench.lang = languageOf(judged.map((one) => whole(one.value)).join(" ")) || "en"; // one voice reads all of it
  if (document.activeElement === bench) spoken(text, bench.lang);
  else toBench();
}

// Screen readers pass the page its keys for as long as the focus is in what is an application.
const toBench = () => find("bench").focus({ preventScroll: true });

// What a key does where the focus is not.
const heard = (button, text) => { if (document.activeElement !== button) spoken(text); };

function said(screen) {
  const parts = screen.others.map((one, at) => ({ title: `Verdict ${at + 1}`, ...one }));
  return screen.shown ? [...parts, { title: "The machine says", ...screen.shown }] : parts;
}

function beginning(screen, one) {
  // To settle lists, they need not be written once more.
  if (screen.mode !== "adjudication" || screen.controls.every((control) => control.kind === "choice")) return null;
  const button = make("button", { type: "button" }, "Start from this", make("span", { class: "hidden" }, `: ${one.title}`));
  button.addEventListener("click", () => {
    state.values = Object.fromEntries(screen.controls.map((control) => [control.field, initial(control, one.verdict[control.field])]));
    state.confirmed = true;
    keepDraft();
    show(screen);
  });
  return button;
}

function shown(screen) {
  const parts = said(screen);
  find("said").hidden = !parts.length;
  find("said").replaceChildren(...parts.map((one) => make("div", { class: "other", tabindex: "0" },
    make("h2", {}, one.title), make("p", {}, brief(one.verdict)), one.reason ? make("p", { dir: "auto", lang: languageOf(one.reason), class: "why" }, one.reason) : null, beginning(screen, one))));
}

function brief(verdict) {
  const words = [];
  const take = (value) => {
    if (Array.isArray(value)) value.forEach(take);
    else if (value && typeof value === "object") Object.entries(value).forEach(([name, one]) => { if (name !== "reason") take(one); });
    else words.push({ true: "yes", false: "no", YES: "yes", NO: "no" }[value] || String(value));
  };
  take(verdict);
  return words.join(" · ");
}

// -- verdicts -----------------------------------------------------------------------------------

function collected() {
  const verdict = {};
  for (const control of state.screen.controls) {
    const value = state.values[control.field];
    if (control.kind === "choice" || control.kind === "number" || control.kind === "text") {
      if (value === undefined || value === "") return [null, `Give a value for: ${control.label.toLowerCase()}.`];
      verdict[control.field] = value;
    } else if (control.kind === "items") {
      verdict[control.field] = control.shape === "list" ? value
        : Object.fromEntries(value.map((one, at) => [String(at + 1), { [control.inner]: one }]));
    } else if (control.kind === "rows") {
      const open = value.findIndex((one) => control.columns.some((c) => c.kind === "choice" && one[c.field] === undefined));
      if (open >= 0) return [null, `${control.label}: entry ${open + 1} has no value.`];
      verdict[control.field] = Object.fromEntries(value.map((one, at) => [String(at + 1), one]));
    } else verdict[control.field] = value;
  }
  const lists = state.screen.controls.filter((one) => ["items", "texts", "records"].includes(one.kind));
  const chosen = state.screen.controls.some((one) => one.kind === "choice");
  if (lists.length && !chosen && !state.confirmed) {
    state.confirmed = true;
    return [null, `Nothing has changed. Press ${keys.submit} again to submit it as it is.`];
  }
  return [verdict, ""];
}

async function submit() {
  const screen = state.screen;
  if (!screen || waits()) return;
  if (state.gold) { advance(); return; }
  const [verdict, open] = collected();
  if (!verdict) { say(open, true); return; }
  state.busy = true;
  const body = {
    verdict, before: screen.own ? screen.own.uid : null, mode: screen.mode, turned: screen.turned,
    reason: find("reason").value, evidence: state.evidence,
    seen: [...screen.others.map((one) => one.uid), ...(screen.shown ? [screen.shown.uid] : [])],
    seconds: (performance.now() - state.since) / 1000,
  };
  const slow = setTimeout(() => say("Your verdict has been sent; the server has not answered yet."), SLOW);
  try {
    const kept = await ask(`/api/label/${screen.unit}`, body);
    if (kept.gold) { feedback(kept.gold); return; }
    state.drafts.delete(screen.unit);
    remember(screen);
    refreshRecent(screen, verdict);
    advance();
    if (kept.told) say(kept.told);
    if (start.moves) ask("/api/moved", undefined, 0).then((found) => { if (found.told) say(`Saved. ${found.told}`); }, () => {});
  } catch (error) {
    if (error.status === 409) { say(error.message, true); advance(error.message); }
    else if (error.status) say(error.message, true);
    else say(`The server cannot be reached, and your verdict may not be saved. It is still here: submit it again; it is saved only once.`, true);
  } finally {
    clearTimeout(slow);
    state.busy = false;
  }
}

function feedback(gold) {
  state.gold = true;
  say(`${gold.right ? "Right." : `The gold label differs: ${brief(gold.verdict)}.`} ${gold.reason} Press ${keys.submit} to continue.`, !gold.right);
}

const remember = (screen) => {
  if (!state.behind.includes(screen.unit)) state.behind.push(screen.unit);
  state.after = 0;
};

function advance(told = "") {
  const gone = state.screen && state.screen.unit;
  state.ahead = state.ahead.filter((one) => one.unit !== gone);
  const next = state.ahead[0];
  state.stuck = !next;
  if (next) { show(next); fill(); } else fill().then(goOn);
  if (told) say(told, true);
}

// While a label is on its way, or no unit is at hand, keys do nothing: nobody labels what was not seen.
const waits = () => state.busy || state.stuck;

function goOn() {
  // Whether anything is left is known only once the server has said so.
  if (!state.stuck || (state.unreached && !state.ahead.length)) return;
  state.stuck = false;
  show(state.ahead[0] || null);
}

async function tellWhatWaits() {
  // What others have before them comes free, and is shown once it does.
  const found = await ask(`/api/waits/${encodeURIComponent(start.task)}?queue=${start.queue}`).catch(() => ({}));
  if (state.screen) return;
  const told = found.told ? `${found.told} They will appear on this page.` : "";
  if (told !== find("waits").textContent) {
    find("nothing").textContent = told ? "Nothing is open for you now" : "Nothing is left in this queue";
    find("waits").textContent = told;
    spoken(`${find("nothing").textContent}. ${told}`);
  }
  if (found.told) setTimeout(lookAgain, AGAIN);
}

function lookAgain() {
  if (!state.screen) fill().then(() => { if (state.ahead.length) show(state.ahead[0]); else tellWhatWaits(); });
}

function fill() {
  // The next units are fetched while this one is read.
  if (state.fetching) return state.fetching;
  if (state.ahead.length > AHEAD) return Promise.resolve();
  const have = state.ahead.map((one) => one.unit).join(",");
  state.fetching = ask(`/api/next/${encodeURIComponent(start.task)}?queue=${start.queue}&have=${have}`)
    .then((found) => {
      const known = new Set(state.ahead.map((one) => one.unit));
      state.ahead.push(...found.filter((one) => !known.has(one.unit)));
    })
    .catch((error) => {
      if (error.status) { say(error.message, true); return; }
      say("The server cannot be reached. This page will try again in a moment.", true);
      state.unreached = true;
      setTimeout(() => fill().then(goOn), 3000);
    })
    .finally(() => { state.fetching = null; });
  state.unreached = false;
  return state.fetching;
}

// -- what was done ------------------------------------------------------------------------------

function drawRecent(entries) {
  find("recent").replaceChildren(...entries.map((one) => {
    const button = make("button", { type: "button", "data-recent": one.unit }, make("bdi", { lang: languageOf(one.text) }, one.text), " — ", make("b", {}, one.said));
    button.addEventListener("click", () => again(one.unit));
    return make("li", {}, button);
  }));
}

let recent = start.recent;
function refreshRecent(screen, verdict) {
  const text = whole(judgedIn(screen)[0].value);
  recent = [{ unit: screen.unit, said: brief(verdict).slice(0, 80), text: text.slice(0, 90) },
    ...recent.filter((one) => one.unit !== screen.unit)].slice(0, 10);
  drawRecent(recent);
}

async function again(unit) {
  if (waits()) return;
  keepDraft();
  const mode = state.screen && state.screen.mode === "adjudication" ? "?mode=adjudication" : "";
  try { show(await ask(`/api/unit/${unit}${mode}`)); state.revisited = true; } catch (error) { say(error.message || "The server cannot be reached.", true); }
}

// -- skip, flag, note ---------------------------------------------------------------------------

function askFor(title, label, text = "") {
  const dialog = find("ask");
  find("ask-title").textContent = title;
  find("ask-label").textContent = label;
  find("ask-text").value = text;
  dialog.returnValue = "no";
  spoken("");
  dialog.showModal();
  find("ask-text").focus();
  return new Promise((done) => dialog.addEventListener("close", () => {
    done(dialog.returnValue === "ok" ? find("ask-text").value.trim() : null);
  }, { once: true }));
}

function read(name) {
  // What opens over the page is read out once screen readers know of it.
  const dialog = find(name);
  const aloud = dialog.querySelector("[aria-live]");
  spoken("");
  dialog.showModal();
  aloud.textContent = "";
  const text = dialog.querySelector(".read");
  text.lang = aloud.lang = languageOf(text.innerText) || "en";
  setTimeout(() => { aloud.textContent = text.innerText; }, 500);
}

find("rules").addEventListener("click", () => read("guide"));

find("ask-text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !composes(event)) { event.preventDefault(); find("ask").close("ok"); }
});

async function aside(kind, text) {
  const screen = state.screen;
  try {
    await ask(`/api/aside/${screen.unit}`, { kind, text });
    screen[kind] = text;
    return true;
  } catch (error) { say(error.status ? error.message : "Not saved: the server cannot be reached.", true); return false; }
}

const commands = {
  submit: ["Submit and continue", submit],
  undo: ["Change your last label", () => {
    // Again and again: the one before that.
    const at = recent.findIndex((one) => state.screen && one.unit === state.screen.unit);
    const one = recent[(at > 0 && !state.revisited ? -1 : at) + 1];
    if (one) again(one.unit); else say(recent.length ? "There are no more recent labels to go back to." : "You have not labelled anything yet.");
  }],
  skip: ["Skip and say why", async () => {
    const why = await askFor("Skip this unit", "Why do you skip it?");
    if (why === null) return;
    const unit = state.screen.unit;
    const later = state.screen.mode === "adjudication";
    if (await aside(later ? "later" : "skip", why)) {
      state.behind.push(unit);
      state.drafts.delete(unit);
      advance();
      say(later ? "Put off. It comes back after the others." : "Skipped. It is in the queue of units you skipped.");
    }
  }],
  flag: ["Flag for others", async () => {
    const text = state.screen.flag ? "" : "flagged";
    if (await aside("flag", text)) { find("left").textContent = text ? "· flagged" : ""; say(text ? "Flagged." : "No longer flagged."); }
  }],
  note: ["Add a note", async () => {
    const text = await askFor("A note on this unit", "For anyone who looks at it later", state.screen.note);
    if (text !== null && await aside("note", text)) say(text ? "Note saved." : "Note removed.");
  }],
  evidence: ["Mark evidence, sentence by sentence", startMarking],
  guideline: ["Guideline", () => read("guide")],
  back: ["Previous unit", () => {
    if (state.after < state.behind.length) { state.after += 1; again(state.behind[state.behind.length - state.after]); } else say("There is no previous unit.");
  }],
  forward: ["Next unit", () => {
    if (state.after > 1) { state.after -= 1; again(state.behind[state.behind.length - state.after]); }
    else { state.after = 0; keepDraft(); show(state.ahead[0] || null); }
  }],
  help: ["All keys", () => read("help")],
};

for (const [name, told] of Object.entries(commands)) told[0] = start.own[name] || told[0];

const SINGLE_KEYS = [["0 … 9 a …", "The verdict whose button shows the key"], ["a … z A … Z", "Next value for a list item"], ["+", "Add an entry to a list"]];
const OTHER_KEYS = [["Tab", "Next text (which screen readers read out) or control"], ["← → ↑ ↓", "Another verdict on the scale that has the focus"],
  ["Esc", "Leave a field"], ["Ctrl+Enter", "Submit from inside a field"], ["Alt+↑ ↓ S M D", "Move, split, merge, drop an entry"],
  ["↑ ↓", "When marking evidence: another sentence; with Shift, more or less of the text"], ["Enter", "When marking evidence: record the selection; Esc leaves"]];

function drawCommands() {
  const rows = Object.entries(commands).map(([name, [title]]) => [keys[name], title]).filter(([key]) => works(key));
  rows.push(...(single ? SINGLE_KEYS : []), ...OTHER_KEYS);
  find("keys").replaceChildren(...rows.map(([key, title]) => make("tr", {}, make("td", {}, make("kbd", {}, key)), make("td", {}, title))));
  const command = (name, title, work) => {
    const button = make("button", { type: "button", "data-command": name }, title, " ", kbd(keys[name] || ""));
    button.addEventListener("click", () => { if (!waits()) work(); });
    return button;
  };
  const others = Object.entries(commands).filter(([name]) => name !== "submit");
  find("commands").replaceChildren(...others.map(([name, [title, work]]) => command(name, title, work)),
    command("single", `Turn single-character keys ${single ? "off" : "on"}`, switchKeys));
}

function switchKeys() {
  single = !single;
  localStorage.setItem("single keys", single ? "on" : "off");
  if (!state.gold) {
    const { since, revisited } = state;
    keepDraft();
    show(state.screen);
    Object.assign(state, { since, revisited });
  }
  drawCommands();
  find("commands").lastChild.focus();
  say(single ? "Single-character keys give verdicts and commands." : "Single-character keys do nothing now; Enter and Backspace still work.");
}

for (const kind of ["input", "change"]) {
  find("verdict").addEventListener(kind, (event) => { if (event.target.id !== "reason") state.confirmed = true; });
}
find("verdict").addEventListener("submit", (event) => { event.preventDefault(); submit(); });

document.addEventListener("keydown", (event) => {
  if (document.querySelector("dialog[open]") || composes(event)) return;
  const target = event.target;
  const writing = target.matches("textarea, select, input");
  if (writing) {
    if (event.key === "Escape") toBench();
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); submit(); }
    return;
  }
  if (!works(event.key)) return;
  const written = event.getModifierState && event.getModifierState("AltGraph"); // [ and ] on many keyboards
  if (!written && (event.ctrlKey || event.metaKey || event.altKey)) return;
  const key = pressed(event);
  const radio = target.closest("[role=radiogroup] [role=radio]");
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[key];
  if (radio && step) {
    const group = [...radio.parentElement.children];
    const next = group[(group.indexOf(radio) + step + group.length) % group.length];
    event.preventDefault(); next.focus(); next.click();
    return;
  }
  if (waits()) { event.preventDefault(); return; }
  const command = Object.keys(keys).find((name) => keys[name] === key);
  if (command && commands[command]) {
    if (event.key === "Enter" && target.matches("a, button:not([type=submit], [role=radio])")) return;
    if (event.key === " " && target.matches("button:not([type=submit], [aria-checked=true])")) return;
    event.preventDefault();
    if (!event.repeat && (state.screen || ["undo", "back", "forward"].includes(command))) commands[command][1]();
    return;
  }
  const button = state.screen && [...find("verdict").querySelectorAll("[data-key]")].find((one) => one.dataset.key === key);
  if (button && !event.repeat) { event.preventDefault(); button.click(); }
});

window.addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });

drawCommands();
drawRecent(recent);
state.behind = recent.map((one) => one.unit).reverse();
show(state.ahead[0] || null);
fill();
// What has the focus while a page is loading is read out by some screen readers, by others not.
window.addEventListener("load", () => setTimeout(() => {
  if (state.screen && !find("spoken").textContent) spoken(find("bench").getAttribute("aria-label"), find("bench").lang);
}, 500));
