import assert from "node:assert/strict";
import test from "node:test";
import { pad, width } from "../src/width.ts";

test("a text is filled up on the side that is asked for", () => {
  assert.equal(pad("IC", 4), "IC  ");
  assert.equal(pad("7", 2, "left"), " 7");
});

test("a text that is too long is cut", () => {
  assert.equal(pad("Charing Cross", 8), "Charing…");
  assert.equal(width(pad("Charing Cross", 8)), 8);
});
