import assert from "node:assert/strict";
import test from "node:test";
import { COLUMNS, sign, stations } from "../src/sign.ts";
import { width } from "../src/width.ts";
import { locales } from "../src/messages.ts";

const all = stations();

for (const locale of locales) {
  test(`every line of every sign has ${COLUMNS} columns in ${locale}`, () => {
    for (const station of all) {
      for (const line of sign(station, all, 540, locale).split("\n")) {
        assert.equal(width(line), COLUMNS, JSON.stringify(line));
      }
    }
  });
}
