import { readFileSync } from "node:fs";
import type { Locale } from "./types.ts";

const file = new URL("../data/messages.json", import.meta.url);
const messages: Record<string, Record<string, string>> = JSON.parse(readFileSync(file, "utf8"));

export const locales = Object.keys(messages) as Locale[];

/** The message of a key, with `{name}` filled in. A message may have forms: `{n, one: minute, other: minutes}`. */
export function say(locale: Locale, key: string, values: Record<string, string | number> = {}): string {
  const text = messages[locale]?.[key];
  if (text === undefined) {
    throw new Error(`no message ${key} in ${locale}`);
  }
  return text.replace(/\{(\w+)((?:, \w+: [^,}]+)*)\}/g, (_, name, forms) => {
    const value = values[name];
    return forms ? form(locale, forms, Number(value)) : String(value);
  });
}

function form(locale: Locale, forms: string, count: number): string {
  const rule = new Intl.PluralRules(locale).select(count);
  const found = Object.fromEntries(forms.slice(2).split(", ").map((one) => one.split(": ")));
  return found[rule] ?? found.other;
}
