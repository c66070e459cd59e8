"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("js");

  // --- colours: system, or the one chosen last -------------------------------------------------
  const KEY = "salstats-theme";
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let theme = "system";
  // storage may be off or full: the choice then lasts as long as the page
  try {
    const stored = localStorage.getItem(KEY);
    if (stored === "light" || stored === "dark") theme = stored;
  } catch { /* no storage */ }

  const showTheme = () => {
    if (theme === "system") delete root.dataset.theme;
    else root.dataset.theme = theme;
    const button = document.getElementById("theme");
    if (button) button.textContent = `Colours: ${theme}`;
  };
  // from "system" the first step is the one that changes something
  const nextTheme = () => {
    const order = dark.matches ? ["system", "light", "dark"] : ["system", "dark", "light"];
    theme = order[(order.indexOf(theme) + 1) % order.length];
    try { localStorage.setItem(KEY, theme); } catch { /* no storage */ }
    showTheme();
  };
  showTheme();

  // --- what was done, for everyone -------------------------------------------------------------
  let clearing;
  const say = (text) => {
    const status = document.getElementById("status");
    status.textContent = text;
    clearTimeout(clearing);
    clearing = setTimeout(() => { status.textContent = ""; }, 4000);
  };

  // --- copying ---------------------------------------------------------------------------------
  const cellText = (cell) => cell.innerText.replace(/\s+/g, " ").trim();

  const tabSeparated = (table) => {
    const rows = [...table.rows].map(() => []);
    [...table.rows].forEach((row, r) => {
      let c = 0;
      for (const cell of row.cells) {
        while (rows[r][c] !== undefined) c += 1;
        for (let i = 0; i < cell.rowSpan && r + i < rows.length; i += 1) {
          for (let j = 0; j < cell.colSpan; j += 1) rows[r + i][c + j] = i || j ? "" : cellText(cell);
        }
      }
    });
    return rows.map((row) => row.join("\t")).join("\n");
  };

  const copy = (plain, html) => {
    const put = (event) => {
      event.preventDefault();
      event.clipboardData.setData("text/plain", plain);
      if (html) event.clipboardData.setData("text/html", html);
    };
    // execCommand also works where the Clipboard API is closed: pages opened from a disk or over plain http
    document.addEventListener("copy", put);
    try { return document.execCommand("copy"); } finally { document.removeEventListener("copy", put); }
  };

  const copyFrom = (button) => {
    const source = document.getElementById(button.dataset.copy);
    const isTable = "table" in button.dataset;
    const table = isTable && source.querySelector("table");
    // sentences that are set apart are still one paragraph
    const text = source.matches("p") ? source.textContent.replace(/\s+/g, " ") : source.innerText;
    const copied = isTable ? copy(tabSeparated(table), table.outerHTML) : copy(text.trim());
    if (copied) {
      say(`${button.dataset.what} copied.`);
    } else {
      getSelection().selectAllChildren(table || source);
      say(`${button.dataset.what} selected: press Ctrl+C or ⌘C to copy.`);
    }
  };

  // --- figures, enlarged -----------------------------------------------------------------------
  const enlarge = (figure) => {
    const dialog = document.createElement("dialog");
    const bar = document.createElement("div");
    const title = document.createElement("h2");
    const close = document.createElement("button");
    const picture = document.createElement("div");
    dialog.className = "viewer";
    bar.className = "bar";
    title.id = "viewer-title";
    title.textContent = figure.querySelector("h3").textContent;
    close.type = "button";
    close.textContent = "Close";
    picture.className = "picture";
    picture.tabIndex = 0;
    picture.setAttribute("role", "region");
    picture.setAttribute("aria-label", "Enlarged figure");
    dialog.setAttribute("aria-labelledby", title.id);
    for (const shown of figure.querySelectorAll("img")) {
      const image = shown.cloneNode();
      image.removeAttribute("width");
      image.removeAttribute("height");
      picture.append(image);
    }
    bar.append(title, close);
    dialog.append(bar, picture);
    document.body.append(dialog);
    close.addEventListener("click", () => dialog.close());
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
    dialog.addEventListener("close", () => dialog.remove());
    dialog.showModal();
  };

  // --- parts: opened by their anchors, all at once, and for print -------------------------------
  const folded = (among) => [...document.querySelectorAll(`details${among}:not([open])`)];

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
      const closed = folded(".part");
      const found = closed.length ? closed : document.querySelectorAll("details.part");
      found.forEach((details) => { details.open = closed.length > 0; });
    };
    const name = () => { button.textContent = folded(".part").length ? "Open all" : "Fold all"; };
    button.addEventListener("click", toggle);
    // a toggle event does not bubble
    document.addEventListener("toggle", name, true);
    let unfolded = [];
    addEventListener("beforeprint", () => {
      unfolded = folded(".part:not(.apart)");
      unfolded.forEach((details) => { details.open = true; });
    });
    addEventListener("afterprint", () => unfolded.forEach((details) => { details.open = false; }));
  };

  // --- only what scrolls takes the focus -------------------------------------------------------
  const watchRegions = () => {
    const check = (region) => {
      if (region.scrollWidth > region.clientWidth) region.tabIndex = 0;
      else region.removeAttribute("tabindex");
    };
    const watcher = new ResizeObserver((entries) => entries.forEach((entry) => check(entry.target)));
    document.querySelectorAll(".scroll").forEach((region) => watcher.observe(region));
  };

  document.addEventListener("DOMContentLoaded", () => {
    showTheme();
    document.getElementById("theme").addEventListener("click", nextTheme);
    document.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button?.dataset.copy) copyFrom(button);
      const figure = button?.dataset.enlarge
        ? document.getElementById(button.dataset.enlarge)
        : event.target.closest("main .picture img")?.closest("figure");
      if (figure) enlarge(figure);
    });
    openAll();
    watchRegions();
    addEventListener("hashchange", reveal);
    // the same anchor again
    document.addEventListener("click", (event) => {
      if (event.target.closest("a")?.hash === location.hash) reveal();
    });
    if (location.hash) reveal();
  });
})();
