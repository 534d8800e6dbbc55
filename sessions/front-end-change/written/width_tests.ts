
test("wide characters take two columns, combining marks none", () => {
  assert.equal(width("京都"), 4);
  assert.equal(width("アテネ・ラリッサ"), 16);
  assert.equal(width("ｶﾅｻﾞﾜ"), 5);
  assert.equal(width("Αθήνα"), 5);
  assert.equal(width("Sa\u0301nta Ceci\u0301lia"), 13);
  assert.equal(width("🚆"), 2);
  assert.equal(width("👩‍✈️ 乗務員"), 9);
});

test("a wide text is cut between characters and still fills its columns", () => {
  assert.equal(pad("ロンドン・キングス・クロス", 19), "ロンドン・キングス…");
  assert.equal(pad("ロンドン・キングス・クロス", 18), "ロンドン・キング… ");
  assert.equal(pad("Sa\u0301nta Ceci\u0301lia", 8), "Sa\u0301nta C…");
});
