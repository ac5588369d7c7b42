// Links for people, made and taken back.
"use strict";
const form = document.getElementById("invite");
const said = document.getElementById("link");
async function send(path, body) {
  try {
    const reply = await fetch(path, {
      method: "POST", body: JSON.stringify(body),
      headers: { "Content-Type": "application/json", "X-Assay-Token": form.dataset.token },
    });
    const found = await reply.json();
    said.textContent = reply.ok ? found.told : found.error;
  } catch { said.textContent = "The server cannot be reached."; }
}
form.addEventListener("submit", (event) => {
  event.preventDefault();
  send("/api/invite", { name: form.elements.name.value, role: form.elements.role.value });
});
for (const button of document.querySelectorAll("[data-leave]")) {
  button.addEventListener("click", () => send("/api/leave", { person: Number(button.dataset.leave) }));
}
