// Waits for the report, says how far it is, and opens it.
"use strict";
const told = document.getElementById("told");
async function look() {
  try {
    const reply = await fetch(`/api/report?n=${told.dataset.number}`);
    const found = await reply.json();
    if (reply.ok && found.there) { location.replace("/report/report.html"); return; }
    told.textContent = reply.ok ? found.told : found.error;
    if (!reply.ok) { return; }
  } catch { told.textContent = "The server cannot be reached."; }
  setTimeout(look, 200);
}
look();
