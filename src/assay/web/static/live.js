// What somebody opened or closed on the page of progress stays so when the figures are renewed.
"use strict";
const kept = new Map(); // by name, whether it is open
document.addEventListener("toggle", (event) => kept.set(event.target.dataset.kept, event.target.open), true);
new MutationObserver(() => {
  for (const one of document.querySelectorAll("[data-kept]")) {
    const open = kept.get(one.dataset.kept);
    if (open !== undefined && one.open !== open) one.open = open;
  }
}).observe(document.querySelector("main"), { childList: true, subtree: true });
