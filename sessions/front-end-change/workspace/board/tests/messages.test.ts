import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { locales, say } from "../src/messages.ts";

const messages = JSON.parse(readFileSync(new URL("../data/messages.json", import.meta.url), "utf8"));

test("every locale has every message", () => {
  for (const locale of locales) {
    assert.deepEqual(Object.keys(messages[locale]), Object.keys(messages.en), locale);
  }
});

test("the form follows the number", () => {
  assert.equal(say("en", "delay", { n: 1 }), "about 1 minute late");
  assert.equal(say("de", "delay", { n: 12 }), "etwa 12 Minuten später");
});
