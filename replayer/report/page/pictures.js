"use strict";
/* Vega by its interpreter, since the policy forbids compiled expressions. */
(() => {
  const tip = document.getElementById("tip");
  const hover = (_, event, __, value) => {
    if (!value) return void (tip.hidden = true);
    tip.replaceChildren(...Object.entries(value).map(([key, shown]) => {
      const line = document.createElement("div");
      line.textContent = `${key}: ${shown}`;
      return line;
    }));
    tip.hidden = false;
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 4))}px`;
    tip.style.top = `${event.clientY + 14}px`;
  };
  const charts = window.vegaEmbed ? JSON.parse(document.getElementById("charts").textContent) : {};
  for (const place of document.querySelectorAll(".plot")) {
    if (!charts[place.dataset.chart]) continue;
    const options = { ast: true, actions: false, renderer: "svg", defaultStyle: false, tooltip: hover };
    vegaEmbed(place, charts[place.dataset.chart], options).then(
      () => place.setAttribute("data-drawn", "yes"), failure => (place.textContent = String(failure)));
  }
})();
