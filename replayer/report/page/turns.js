"use strict";
/* The table of turns. */
(() => {
  const el = (name, text, attributes = {}) => {
    const made = document.createElement(name);
    if (text !== undefined && text !== null) made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) if (value !== null) made.setAttribute(key, value);
    return made;
  };

  const data = JSON.parse(document.getElementById("data").textContent);
  const NUMBER = digits => value => value === null ? "–" : value.toLocaleString("en", { maximumFractionDigits: digits });
  const SHARE = value => value === null ? "–" : `${(value * 100).toFixed(0)} %`;
  const SIGNS = ["●", "◐", "✗"], STATES = ["ok", "warn", "bad"];
  const COLUMNS = [
    ["lane", row => data.lanes[row[0]]], ["session", row => data.sessions[row[1]]], ["turn", row => row[2]],
    ["outcome", row => data.words[row[3]]], ["prefix lost", row => data.words[row[9]]],
    ["TTFT ms", row => row[5], NUMBER(1)], ["tok/s", row => row[6], NUMBER(0)], ["reused", row => row[7], SHARE],
    ["tokens", row => row[8], NUMBER(0)],
  ];
  const linkOf = row => "#" + [data.lanes[row[0]], data.sessions[row[1]], row[2]].map(encodeURIComponent).join("/");
  const byLink = new Map(data.rows.map(row => [linkOf(row), row]));
  const placeOf = row => { const [, trace, repeat] = /^(.*?)(?:~(\d+))?$/.exec(data.sessions[row[1]]); return [trace, repeat ?? 1, row[2]].join("/"); };
  const quoted = word => /^[\w.@+=:\/-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
  const STEP = 40;
  let sorted = null, down = false, shown = STEP, open = new Set(), rows = [];

  const filter = el("input", null, { type: "search", placeholder: "session, fault, cause …", "aria-label": "Filter turns" });
  const lane = choice("Lane", ["every lane", ...data.lanes]);
  const state = choice("Outcome", ["every outcome", "with a fault", "usable"]);
  const count = el("span", "", { class: "soft", "aria-live": "polite" });
  const table = el("table"), head = el("tr"), body = el("tbody");
  const more = el("button", "", { type: "button" });

  function choice(label, words) {
    const made = el("select", null, { "aria-label": label });
    words.forEach((word, at) => made.append(el("option", word, { value: at })));
    return made;
  }

  COLUMNS.forEach(([title, , form], at) => {
    const cell = el("th", null, { scope: "col", "aria-sort": "none", class: form ? "figure" : null });
    const button = el("button", title, { type: "button" });
    button.onclick = () => { [sorted, down] = [at, sorted === at ? !down : at > 4]; shown = STEP; draw(); };
    cell.append(button);
    head.append(cell);
  });

  function chosen() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const text = row => [data.lanes[row[0]], data.sessions[row[1]], `turn ${row[2]}`, data.words[row[3]], data.words[row[9]]].join(" ").toLowerCase();
    return data.rows.filter(row =>
      (lane.value === "0" || row[0] === lane.value - 1) &&
      (state.value === "0" || (state.value === "1" ? row[4] > 0 : row[4] < 2)) &&
      (!words.length || (found => words.every(word => found.includes(word)))(text(row))));
  }

  function order(some) {
    const compare = (a, b) => a === b ? 0 : a === null ? 1 : b === null ? -1
      : typeof a === "number" ? (down ? b - a : a - b) : (down ? b.localeCompare(a) : a.localeCompare(b));
    if (sorted === null) return [...some].sort((a, b) => b[4] - a[4]);
    const of = COLUMNS[sorted][1];
    return [...some].sort((a, b) => compare(of(a), of(b)));
  }

  function draw() {
    rows = order(chosen());
    [...head.children].forEach((cell, at) =>
      cell.setAttribute("aria-sort", at !== sorted ? "none" : down ? "descending" : "ascending"));
    count.textContent = `${rows.length.toLocaleString("en")} of ${data.rows.length.toLocaleString("en")} turns` +
      (data.left_out ? `; ${data.left_out.toLocaleString("en")} more sound turns are left out` : "");
    body.replaceChildren(...rows.slice(0, shown).flatMap(row => open.has(linkOf(row)) ? [line(row), detail(row)] : [line(row)]));
    more.hidden = rows.length <= shown;
    more.textContent = `show ${Math.min(STEP, rows.length - shown)} more`;
  }

  function line(row) {
    const made = el("tr", null, { class: STATES[row[4]] + (linkOf(row) === location.hash ? " target" : "") });
    COLUMNS.forEach(([title, of, form], at) => {
      const cell = el(at === 2 ? "th" : "td", null, { "data-title": title, ...(at === 2 ? { scope: "row" } : {}) });
      if (at === 2) {
        const link = el("a", row[2], { href: linkOf(row), "aria-expanded": open.has(linkOf(row)),
          "aria-label": `turn ${row[2]} of ${data.sessions[row[1]]} on ${data.lanes[row[0]]}` });
        link.onclick = event => {
          if (!open.has(linkOf(row))) return;
          event.preventDefault();
          open.delete(linkOf(row));
          history.replaceState(null, "", "#turns");
          draw();
        };
        cell.append(link);
      } else if (at === 3) {
        cell.append(el("span", SIGNS[row[4]], { class: "sign", "aria-hidden": "true" }), " ", of(row));
      } else {
        if (at === 0) cell.className = `c c${row[0] % 8}`;
        cell.append(el("span", form ? form(of(row)) : of(row)));
      }
      if (form) cell.classList.add("figure");
      made.append(cell);
    });
    return made;
  }

  function detail(row) {
    const made = el("tr", null, { class: "detail" }), cell = el("td", null, { colspan: COLUMNS.length });
    const quote = data.quotes[`${row[0]}.${row[1]}.${row[2]}`];
    if (!quote) {
      cell.append(el("p", "This turn is not quoted here; `replayer watch RUN` shows every turn.", { class: "soft" }));
    } else {
      for (const [fatal, what, blame, message] of (quote.faults ?? []).map(at => data.faults[at])) {
        const said = el("p", null, { class: fatal ? "fault" : "soft" });
        said.append(el("b", `${fatal ? "✘" : "△"} ${what}`), blame ? ` · blame: ${blame}` : "", el("br"), message);
        cell.append(said);
      }
      for (const note of quote.notes ?? []) cell.append(el("p", note));
      if (data.run) cell.append(el("p", `replayer repro ${[data.run, placeOf(row), data.lanes[row[0]]].map(quoted).join(" ")}`, { class: "command" }));
      cell.append(el("p", quote.timing, { class: "soft" }));
      cell.append(quote.said === undefined ? el("p", "The text is not quoted here; `replayer watch RUN` shows it.", { class: "soft" })
        : beside(data.recorded[`${row[1]}.${row[2]}`] ?? "", quote.said));
    }
    made.append(cell);
    return made;
  }

  /* Recorded beside replayed, in blocks of lines: what both have stands on both sides, the rest as removed and added. */
  function beside(recorded, replayed) {
    const made = el("div", null, { class: "diff" });
    made.append(el("h4", "recorded"), el("h4", "replayed"));
    for (const [kind, left, right] of blocks(recorded.split("\n"), replayed.split("\n"))) {
      const sides = [[left, "removed", "− "], [right, "added", "+ "]];
      for (const [lines, name, sign] of sides) {
        const text = lines.map(one => (kind === "same" ? "  " : sign) + one).join("\n");
        made.append(el("pre", text, { class: lines.length ? (kind === "same" ? "same" : name) : "none" }));
      }
    }
    return made;
  }

  function blocks(a, b) {
    const size = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
    for (let i = a.length - 1; i >= 0; i--)
      for (let j = b.length - 1; j >= 0; j--)
        size[i][j] = a[i] === b[j] ? size[i + 1][j + 1] + 1 : Math.max(size[i + 1][j], size[i][j + 1]);
    const found = [];
    const add = (kind, left, right) => {
      let last = found[found.length - 1];
      if (!last || last[0] !== kind) found.push(last = [kind, [], []]);
      if (left !== null) last[1].push(left);
      if (right !== null) last[2].push(right);
    };
    let i = 0, j = 0;
    while (i < a.length || j < b.length) {
      if (i < a.length && j < b.length && a[i] === b[j]) add("same", a[i++], b[j++]);
      else if (j < b.length && (i >= a.length || size[i][j + 1] > size[i + 1][j])) add("changed", null, b[j++]);
      else add("changed", a[i++], null);
    }
    return found;
  }

  function follow() {
    const row = byLink.get(location.hash);
    const named = data.lanes.findIndex(name => `#${encodeURIComponent(name)}` === location.hash);
    if (named >= 0) {
      lane.value = named + 1;
      draw();
      document.getElementById("turns").scrollIntoView();
    }
    if (!row) return;
    open.add(linkOf(row));
    if (!chosen().includes(row)) { filter.value = ""; lane.value = state.value = "0"; }
    const at = order(chosen()).indexOf(row);
    shown = Math.max(shown, Math.ceil((at + 1) / STEP) * STEP);
    draw();
    body.querySelector("tr.target")?.scrollIntoView({ block: "center" });
  }

  const bar = el("div", null, { class: "bar" }), wide = el("div", null, { class: "wide turns", tabindex: "0", role: "region", "aria-label": "Turns" });
  const top = el("thead");
  top.append(head);
  table.append(top, body);
  wide.append(table);
  bar.append(filter, lane, state, count);
  document.getElementById("browser").replaceChildren(bar, wide, more);
  for (const one of [filter, lane, state]) one.oninput = () => { shown = STEP; draw(); };
  more.onclick = () => { shown += STEP; draw(); };
  draw();
  addEventListener("hashchange", follow);
  follow();
})();
