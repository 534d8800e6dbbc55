import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

const css = readFileSync(new URL("../styles/tokens.css", import.meta.url), "utf8");
const [light, dark = ""] = css.split("@media (prefers-color-scheme: dark)");

function tokens(text: string): Record<string, string> {
  return Object.fromEntries([...text.matchAll(/(--[\w-]+):\s*([^;]+);/g)].map((found) => [found[1], found[2]]));
}

/** Relative luminance of a #rrggbb colour (WCAG 2.1). */
function luminance(colour: string): number {
  const [red, green, blue] = [1, 3, 5]
    .map((at) => parseInt(colour.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [bright, dim] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (bright + 0.05) / (dim + 0.05);
}

test("the dark theme changes tokens that the light one has", () => {
  const known = Object.keys(tokens(light));
  assert.ok(Object.keys(tokens(dark)).length >= 5);
  assert.deepEqual(Object.keys(tokens(dark)).filter((name) => !known.includes(name)), []);
});

for (const [theme, values] of Object.entries({ light: tokens(light), dark: { ...tokens(light), ...tokens(dark) } })) {
  test(`text can be read in the ${theme} theme`, () => {
    for (const name of ["--ink", "--accent", "--late"]) {
      const found = contrast(values[name], values["--paper"]);
      assert.ok(found >= 4.5, `${name} ${values[name]} on ${values["--paper"]}: ${found.toFixed(2)}`);
    }
  });
}
