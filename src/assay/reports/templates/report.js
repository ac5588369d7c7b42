(function () {
  "use strict";
  var root = document.documentElement;
  root.classList.add("js");
  function all(selector, from) {
    return Array.prototype.slice.call((from || document).querySelectorAll(selector));
  }
  function key(cell) {
    if (!cell) { return null; }
    if (cell.hasAttribute("data-v")) {
      return cell.getAttribute("data-v") === "" ? null : Number(cell.getAttribute("data-v"));
    }
    return cell.textContent.trim().toLowerCase();
  }
  all("table.sortable").forEach(function (table) {
    var body = table.tBodies[0];
    all("thead th[data-first]", table).forEach(function (head) {
      var column = Array.prototype.indexOf.call(head.parentNode.children, head);
      var button = document.createElement("button");
      button.type = "button";
      while (head.firstChild) { button.appendChild(head.firstChild); }
      head.appendChild(button);
      button.addEventListener("click", function () {
        var now = head.getAttribute("aria-sort");
        var next = now === "descending" ? "ascending" :
          now === "ascending" ? "descending" : head.getAttribute("data-first");
        all("th", table.tHead).forEach(function (other) { other.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", next);
        var sign = next === "ascending" ? 1 : -1;
        all("tr", body).map(function (row, place) {
          return { row: row, place: place, key: key(row.children[column]) };
        }).sort(function (a, b) {
          if (a.key === null || b.key === null) {
            return (a.key === null) - (b.key === null) || a.place - b.place;
          }
          return (a.key < b.key ? -sign : a.key > b.key ? sign : 0) || a.place - b.place;
        }).forEach(function (item) { body.appendChild(item.row); });
      });
    });
  });

  // A passage of a page of answers stands there once: it is put where it is cited when that opens.
  function fill(from) {
    all("[data-p]", from).forEach(function (hole) {
      var kept = document.getElementById(hole.getAttribute("data-p"));
      if (!kept) { return; }
      var more = hole.parentNode.classList.contains("more") && hole.parentNode;
      var start = more ? more.querySelector("summary span").textContent.length : 0;
      hole.textContent = kept.textContent.slice(start);
      hole.removeAttribute("data-p");
    });
  }
  document.addEventListener("toggle", function (event) {
    if (event.target.open) { fill(event.target); }
  }, true);

  // Runs that are looked for are marked wherever they are named.
  var find = document.getElementById("find-run");
  if (find) {
    var named = all("[data-name]");
    find.addEventListener("input", function () {
      var wanted = find.value.trim().toLowerCase();
      var hits = {};
      named.forEach(function (one) {
        var name = one.getAttribute("data-name");
        var hit = wanted !== "" && name.toLowerCase().indexOf(wanted) >= 0;
        one.classList.toggle("found", hit);
        if (hit) {
          hits[name] = true;
          if (one.namespaceURI !== root.namespaceURI) { one.parentNode.appendChild(one); }
        }
      });
      var count = Object.keys(hits).length;
      document.getElementById("find-count").textContent =
        wanted === "" ? "" : count + (count === 1 ? " run" : " runs");
    });
  }

  var rows = all(".q");
  var box = document.getElementById("f-text");
  if (!box) { return; }
  var category = document.getElementById("f-category");
  var outcome = document.getElementById("f-outcome");
  var run = document.getElementById("f-run");
  var count = document.getElementById("f-count");
  var texts = new Map();
  function text(row) {
    if (!texts.has(row)) { texts.set(row, row.textContent.toLowerCase()); }
    return texts.get(row);
  }
  function fits(row) {
    if (category.value && row.getAttribute("data-cat") !== category.value) { return false; }
    if (outcome.value) {
      var chip = run.value ? row.querySelector('.chip[data-run="' + Number(run.value) + '"]') : null;
      var tag = outcome.value;
      var aboutRun = ["right", "wrong", "declined", "out", "missing", "failed"].indexOf(tag) >= 0;
      if (run.value && aboutRun) {
        if (!chip || !chip.classList.contains(tag)) { return false; }
      } else if ((" " + row.getAttribute("data-tags") + " ").indexOf(" " + tag + " ") < 0) {
        return false;
      }
    }
    var wanted = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    return wanted.every(function (word) { return text(row).indexOf(word) >= 0; });
  }
  function filter() {
    var shown = 0;
    rows.forEach(function (row) {
      var fit = fits(row);
      row.classList.toggle("hidden", !fit);
      shown += fit ? 1 : 0;
    });
    count.textContent = shown + " of " + rows.length;
  }
  [box, category, outcome, run].forEach(function (field) {
    field.addEventListener("input", filter);
  });
  function toggle(open) {
    return function () {
      rows.forEach(function (row) {
        if (row.tagName === "DETAILS" && !row.classList.contains("hidden")) { row.open = open; }
      });
    };
  }
  if (document.getElementById("f-open")) {
    document.getElementById("f-open").addEventListener("click", toggle(true));
    document.getElementById("f-close").addEventListener("click", toggle(false));
  }
  function follow() {
    var id = "";
    try { id = decodeURIComponent(location.hash.slice(1)); } catch (error) { return; }
    var place = id && document.getElementById(id);
    if (place && place.classList.contains("q")) {
      place.classList.remove("hidden");
      place.open = true;
      place.scrollIntoView();
    }
  }
  window.addEventListener("hashchange", follow);
  filter();
  follow();
})();
