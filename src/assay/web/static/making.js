// Waits for the report, says how far it is, and opens it.
"use strict";
const doing = document.getElementById("doing");
const soFar = document.getElementById("so-far");
const number = doing.dataset.number;
function say(text, beside = "") {
  if (doing.textContent !== text) { doing.textContent = text; } // it is read aloud
  soFar.textContent = beside;
}
async function look() {
  try {
    const reply = await fetch(`/api/report?n=${number}`);
    const isJson = (reply.headers.get("Content-Type") ?? "").startsWith("application/json");
    const found = isJson ? await reply.json() : { error: `The server answered with status ${reply.status}.` };
    if (!reply.ok) { say(found.error); return; }
    if (found.there) { location.replace(`/report/report.html?n=${number}`); return; }
    say(found.doing, found.so_far);
  } catch { say("The server cannot be reached."); }
  setTimeout(look, 200);
}
look();
