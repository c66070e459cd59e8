"use strict";
(() => {
  document.documentElement.classList.add("js");

  // --- copying ---------------------------------------------------------------------------------
  const copy = (plain, html) => {
    const put = (event) => {
      event.preventDefault();
      event.clipboardData.setData("text/plain", plain.replace(/\u00a0/g, " "));
      if (html) event.clipboardData.setData("text/html", html);
    };
    // execCommand also works where the Clipboard API is closed: pages opened from a disk or over plain http
    document.addEventListener("copy", put);
    try { return document.execCommand("copy"); } finally { document.removeEventListener("copy", put); }
  };

  const copyFrom = (button) => {
    const source = document.getElementById(button.dataset.copy);
    const table = "table" in button.dataset && source.querySelector("table");
    // sentences that are set apart are still one paragraph
    const text = source.matches("p") ? source.textContent.replace(/\s+/g, " ") : source.innerText;
    // cells of a table stand between tabs, and the first may be empty
    const copied = table ? copy(table.innerText, table.outerHTML) : copy(text.trim());
    if (!copied) getSelection().selectAllChildren(table || source);
    button.dataset.name ??= button.textContent;
    button.textContent = copied ? "Copied" : "Press Ctrl+C or ⌘C";
    setTimeout(() => { button.textContent = button.dataset.name; }, 3000);
  };

  // --- tables: sorted by a column, and searched ----------------------------------------------
  const number = (text) => {
    const found = text.replace(/\u2212/g, "-").replace(/(\d),(?=\d{3})/g, "$1").match(/-?\d*\.?\d+/);
    return found ? Number(found[0]) : NaN;
  };

  // rows without a number stand last in either order
  const compare = (one, other) => {
    const [a, b] = [number(one), number(other)];
    if (Number.isNaN(a) && Number.isNaN(b)) return one.localeCompare(other);
    if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) ? 1 : -1;
    return a - b;
  };

  const sortBy = (table, heading, column) => {
    const descending = heading.getAttribute("aria-sort") === "ascending";
    for (const other of table.querySelectorAll("[aria-sort]")) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
    for (const body of table.tBodies) {
      // averages stay below the rows that they are of
      const rows = [...body.rows].filter((row) => !row.matches(".group, .apart"));
      const text = (row) => row.cells[column].textContent.trim();
      const ordered = rows.sort((a, b) => {
        const order = compare(text(a), text(b));
        const isNumber = !Number.isNaN(number(text(a))) && !Number.isNaN(number(text(b)));
        return descending && isNumber ? -order : order;
      });
      body.append(...ordered, ...body.querySelectorAll(".apart"));
    }
  };

  const makeSortable = (table) => {
    const last = table.tHead.rows[table.tHead.rows.length - 1];
    // a cell that spans rows or columns belongs to several, and indented rows belong to the one above them
    const isSimple = !table.querySelector("tbody [rowspan], tbody .indent, tbody tr:not(.group) [colspan]");
    if (!isSimple || table.tHead.querySelector("[rowspan]")) return;
    [...last.cells].forEach((heading, column) => {
      if (!heading.textContent.trim() || heading.colSpan > 1) return;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sorts";
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => sortBy(table, heading, column));
    });
  };

  const makeSearchable = (table) => {
    const label = document.createElement("label");
    label.className = "find";
    label.textContent = "Find in this table";
    const field = document.createElement("input");
    field.type = "search";
    label.append(field);
    field.addEventListener("input", () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of table.querySelectorAll("tbody tr:not(.group)")) {
        // a group's name is found with each of its rows
        const group = row.parentElement.querySelector(".group")?.textContent ?? "";
        const text = `${group} ${row.textContent}`.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
      }
    });
    table.closest(".scroll").before(label);
  };

  // --- print: a wide table is printed smaller, at least in 6 points -------------------------------
  const SHEET = 680;
  const PRINTED = 8 * 96 / 72;
  const LEAST = 6 / 8;

  // intervals of a table that is still too wide stand below their estimates, and lines end between limits,
  // never inside a number
  const breakIntervals = (table) => {
    const texts = document.createTreeWalker(table, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const node = texts.currentNode;
      node.data = node.data.replaceAll("\u00a0", " ").replace(" (", "\n(");
    }
  };

  const fitToSheet = () => {
    for (const table of document.querySelectorAll(".item .scroll > table")) {
      const shown = parseFloat(getComputedStyle(table).fontSize);
      table.classList.add("measured");
      const width = table.getBoundingClientRect().width * PRINTED / shown;
      table.classList.remove("measured");
      const zoom = Math.min(SHEET / width, 1);
      table.classList.toggle("fitted", zoom >= LEAST);
      if (zoom < LEAST) breakIntervals(table);
      table.style.setProperty("--zoom", Math.max(zoom, LEAST));
    }
  };

  const makeTables = () => {
    for (const table of document.querySelectorAll(".item .scroll > table")) {
      makeSortable(table);
      if (table.querySelectorAll("tbody tr").length > 10 && !table.querySelector("tbody [rowspan]")) {
        makeSearchable(table);
      }
    }
  };

  // --- parts: opened by their anchors, all at once -------------------------------------------
  const folded = () => [...document.querySelectorAll(".part:not([open])")];

  // also a heading, which stands in what folds its part
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let at = target.closest("details"); at; at = at.parentElement.closest("details")) at.open = true;
    target.scrollIntoView();
    target.focus({ preventScroll: true });
  };

  const openAll = () => {
    const button = document.getElementById("open-all");
    const toggle = () => {
      const closed = folded();
      const found = closed.length ? closed : document.querySelectorAll("details.part");
      found.forEach((details) => { details.open = closed.length > 0; });
    };
    const name = () => { button.textContent = folded().length ? "Open all" : "Fold all"; };
    button.addEventListener("click", toggle);
    // a toggle event does not bubble
    document.addEventListener("toggle", name, true);
  };

  document.addEventListener("DOMContentLoaded", () => {
    openAll();
    makeTables();
    addEventListener("beforeprint", fitToSheet);
    addEventListener("hashchange", reveal);
    document.addEventListener("click", (event) => {
      const button = event.target.closest("[data-copy]");
      if (button) copyFrom(button);
      // the same anchor again
      if (event.target.closest("a")?.hash === location.hash) reveal();
    });
    if (location.hash) reveal();
  });
})();
