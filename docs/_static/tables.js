// The heading of each cell, which a phone shows beside it (site.css)
document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll(".bd-content .pst-scrollable-table-container > table")) {
    if (table.closest(".cell_output")) continue;
    const headings = [...table.querySelectorAll("thead th")].map((cell) => cell.textContent.trim());
    if (headings.length < 2) continue;
    table.classList.add("stacked");
    for (const row of table.tBodies[0].rows) {
      [...row.cells].forEach((cell, i) => {
        cell.dataset.heading = headings[i];
        cell.classList.toggle("empty", !cell.textContent.trim());
      });
    }
  }
});
