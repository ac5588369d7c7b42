// Editing a question bank where it is seen.
"use strict";
const find = (id) => document.getElementById(id);
const told = find("told");
async function send(body, place) {
  told.textContent = "…";
  try {
    const reply = await fetch("/api/bank", {
      method: "POST", body: JSON.stringify(body),
      headers: { "Content-Type": "application/json", "X-Assay-Token": find("bank").dataset.token },
    });
    const found = await reply.json();
    if (!reply.ok) { told.textContent = found.error; return; }
    sessionStorage.setItem("told", `${found.told}. ${found.moved}`);
    sessionStorage.setItem("place", place); // where one was goes on, when the page is there anew
    location.reload();
  } catch { told.textContent = "The server cannot be reached."; }
}
function ask(title, text) {
  const dialog = find("ask");
  find("ask-title").textContent = title;
  find("ask-text").value = text;
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((done) => dialog.addEventListener("close", () => {
    done(dialog.returnValue === "ok" ? find("ask-text").value.trim() : null);
  }, { once: true }));
}
for (const button of document.querySelectorAll("[data-action]")) {
  button.addEventListener("click", async () => {
    const row = button.closest("tr");
    const body = { action: button.dataset.action, id: row.dataset.id, query: row.dataset.query };
    const question = row.querySelector("th").firstChild.textContent;
    if (body.action === "reword") {
      body.text = await ask(`New wording for “${question}”`, question);
      if (!body.text) return;
    } else if (body.action === "weigh") {
      const given = await ask(`Weight of “${question}”`, row.children[2].textContent);
      if (given === null || given.trim() === "") return;
      body.weight = Number(given);
    }
    send(body, [...document.querySelectorAll("[data-action]")].indexOf(button));
  });
}
if (find("add")) {
  find("add").addEventListener("submit", (event) => {
    event.preventDefault();
    send({ action: "add", query: event.target.elements.query.value, text: event.target.elements.text.value }, -1);
  });
}
const place = sessionStorage.getItem("place");
if (place !== null) {
  (document.querySelectorAll("[data-action]")[Number(place)] || find("add").elements.query).focus();
  // What stands there when a page comes is not read out.
  const text = sessionStorage.getItem("told");
  setTimeout(() => { told.textContent = text; }, 500);
  sessionStorage.clear();
}
