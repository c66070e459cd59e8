"use strict";
(() => {
  document.documentElement.classList.add("js");

  // --- what was done, for everyone -------------------------------------------------------------
  let clearing;
  const say = (text) => {
    const status = document.getElementById("status");
    status.textContent = text;
    clearTimeout(clearing);
    clearing = setTimeout(() => { status.textContent = ""; }, 4000);
  };

  // --- copying ---------------------------------------------------------------------------------
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
    const table = "table" in button.dataset && source.querySelector("table");
    // sentences that are set apart are still one paragraph
    const text = source.matches("p") ? source.textContent.replace(/\s+/g, " ") : source.innerText;
    // cells of a table stand between tabs, and the first may be empty
    if (table ? copy(table.innerText, table.outerHTML) : copy(text.trim())) {
      say(`${button.dataset.what} copied.`);
    } else {
      getSelection().selectAllChildren(table || source);
      say(`${button.dataset.what} selected: press Ctrl+C or ⌘C to copy.`);
    }
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
    openAll();
    watchRegions();
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
