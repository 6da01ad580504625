"use strict";
// Sorts and filters the rows of the page, compares them with another column, and unfolds cautions for paper.
(() => {
  const table = document.querySelector("table.series");
  const body = table.tBodies[0];
  const order = [...body.rows];
  const headings = order.filter((row) => row.classList.contains("group"));
  const rows = order.filter((row) => !row.classList.contains("group"));
  const words = document.getElementById("words");
  const measure = document.getElementById("measure");
  const base = document.getElementById("base");

  /** The heads of the columns that can be sorted, with the places of their cells in a row. */
  function sortable() {
    const [upper, lower] = table.tHead.rows;
    const heads = [];
    let place = 0;
    const below = [...lower.cells];
    for (const head of upper.cells) {
      if (head.rowSpan === 2) {
        heads.push([head, place++]);
      } else {
        for (let i = 0; i < head.colSpan; i++) heads.push([below.shift(), place++]);
      }
    }
    return heads.filter(([head]) => head.dataset.sort);
  }

  function sort(head, place) {
    const was = head.getAttribute("aria-sort");
    const text = head.dataset.sort === "text";
    // Of numbers the greatest is looked for first; a third press restores the order of the page.
    const ways = text ? ["ascending", "descending"] : ["descending", "ascending"];
    const way = was === null ? ways[0] : was === ways[0] ? ways[1] : null;
    table.tHead.querySelectorAll("[aria-sort]").forEach((other) => other.removeAttribute("aria-sort"));
    if (way === null) {
      body.append(...order);
    } else {
      head.setAttribute("aria-sort", way);
      const sign = way === "ascending" ? 1 : -1;
      const value = (row) => {
        const cell = row.cells[place];
        if (text) return cell.textContent;
        return cell.dataset.value ? Number(cell.dataset.value) : null;
      };
      const compare = (a, b) => {
        const [x, y] = [value(a), value(b)];
        // What has no figure is last either way.
        if (x === null || y === null) return (x === null) - (y === null);
        return sign * (text ? x.localeCompare(y) : x - y);
      };
      body.append(...[...rows].sort(compare));
    }
    filter();
  }

  function filter() {
    const wanted = words.value.toLowerCase().split(/\s+/);
    const sorted = table.tHead.querySelector("[aria-sort]") !== null;
    let heading = null;
    let shown = 0;
    const counts = new Map();
    for (const row of order) {
      if (headings.includes(row)) {
        heading = row;
        counts.set(row, 0);
        continue;
      }
      const text = `${heading ? heading.textContent : ""} ${row.textContent}`.toLowerCase();
      row.hidden = !wanted.every((word) => text.includes(word));
      if (!row.hidden) {
        shown++;
        if (heading) counts.set(heading, counts.get(heading) + 1);
      }
    }
    for (const row of headings) row.hidden = sorted || counts.get(row) === 0;
    document.getElementById("shown").textContent =
      shown === rows.length ? "" : `${shown} of ${rows.length} rows`;
  }

  /** Shows one measure, or all. */
  function choose() {
    const one = measure.value;
    table.querySelectorAll("[data-measure]").forEach((cell) => {
      cell.hidden = one !== "" && cell.dataset.measure !== one;
      // The first of a database that is left has the line between them.
      cell.classList.toggle("first", one === "" ? cell.dataset.measure === "0" : cell.dataset.measure === one);
    });
    const all = measure.options.length - 1;
    table.querySelectorAll("th[data-column]").forEach((head) => {
      head.colSpan = one === "" ? all : 1;
    });
  }

  /** Ratios to the column that is compared with, and how much worse than the best of the row each cell is. */
  function compare() {
    for (const row of rows) {
      const cells = [...row.querySelectorAll("td[data-value][data-more]")];
      for (const cell of cells) {
        const same = cells.filter((other) => other.dataset.measure === cell.dataset.measure);
        const value = Number(cell.dataset.value);
        const with_ = same.find((other) => other.dataset.column === base.value);
        const ratio = value / Number(with_ ? with_.dataset.value : NaN);
        const label = cell.querySelector(".ratio");
        label.textContent = cell !== with_ && Number.isFinite(ratio) ? `×${ratio.toFixed(2)}` : "";
        const values = same.map((other) => Number(other.dataset.value));
        const more = cell.dataset.more === "1";
        const best = more ? Math.max(...values) : Math.min(...values);
        const worse = more ? best / value : value / best;
        cell.classList.toggle("best", same.length > 1 && value === best);
        if (same.length > 1 && Number.isFinite(worse) && worse > 1) {
          // Twice as bad is a fifth of the shade, and ten times is most of it.
          cell.style.setProperty("--shade", `${Math.min(65, Math.log2(worse) * 20)}%`);
          cell.dataset.shade = "";
        } else {
          delete cell.dataset.shade;
        }
      }
    }
  }

  for (const [head, place] of sortable()) {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => sort(head, place));
  }
  words.addEventListener("input", filter);
  measure.addEventListener("change", choose);
  if (base) {
    base.addEventListener("change", compare);
    compare();
  }
  document.querySelector(".controls").hidden = false;

  // Nobody can unfold anything on paper.
  let opened = [];
  window.addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const details of opened) details.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const details of opened) details.open = false;
    opened = [];
  });
})();
