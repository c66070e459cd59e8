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
