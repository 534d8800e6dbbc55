import { departures } from "./departures.ts";
import { say } from "./messages.ts";
import { clock } from "./time.ts";
import type { Departure, Locale, Station } from "./types.ts";

const ESCAPES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

export function escape(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => ESCAPES[sign]);
}

export function row(departure: Departure, all: Station[], locale: Locale): string {
  const to = all.find((station) => station.code === departure.to)!;
  const state = departure.cancelled ? "cancelled" : departure.delay ? "late" : "on-time";
  const note = departure.cancelled
    ? say(locale, "cancelled")
    : departure.delay
      ? say(locale, "delay", { n: departure.delay })
      : "";
  return (
    `<tr class="${state}"><td>${clock(departure.minute)}</td><td class="line">${departure.line}</td>` +
    `<td>${escape(to.names[locale] ?? to.names.en)}</td><td>${departure.platform}</td><td>${escape(note)}</td></tr>`
  );
}

export function page(station: Station, all: Station[], now: number, locale: Locale): string {
  const name = escape(station.names[locale] ?? station.names.en);
  const head = ["time", "line", "to", "platform", "note"].map((key) => `<th>${escape(say(locale, key))}</th>`).join("");
  const body = departures(station, all, now).map((one) => row(one, all, locale)).join("\n");
  return (
    `<h1><span class="icon train"></span>${say(locale, "departures", { name })}</h1>\n` +
    `<table class="board"><thead><tr>${head}</tr></thead>\n<tbody>\n${body}\n</tbody></table>`
  );
}
