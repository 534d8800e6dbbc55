import { readFileSync } from "node:fs";
import { departures } from "./departures.ts";
import { say } from "./messages.ts";
import { clock } from "./time.ts";
import type { Departure, Locale, Station } from "./types.ts";
import { pad } from "./width.ts";

export const COLUMNS = 32;

export function stations(): Station[] {
  return JSON.parse(readFileSync(new URL("../data/stations.json", import.meta.url), "utf8"));
}

/** One line of the sign: time, line, where to, platform. */
export function line(departure: Departure, all: Station[], locale: Locale): string {
  const to = all.find((station) => station.code === departure.to)!;
  const name = to.names[locale] ?? to.names.en;
  const note = departure.cancelled ? say(locale, "cancelled") : name;
  return [clock(departure.minute), pad(departure.line, 3), pad(note, 19), pad(String(departure.platform), 2, "left")].join(" ");
}

export function sign(station: Station, all: Station[], now: number, locale: Locale): string {
  const title = pad(say(locale, "departures", { name: station.names[locale] ?? station.names.en }), COLUMNS);
  return [title, ...departures(station, all, now).map((one) => line(one, all, locale))].join("\n");
}

if (process.argv[1]?.endsWith("sign.ts")) {
  const all = stations();
  const [code = "KYT", locale = "en"] = process.argv.slice(2);
  const station = all.find((one) => one.code === code);
  console.log(station ? sign(station, all, 9 * 60, locale as Locale) : `no station ${code}`);
}
