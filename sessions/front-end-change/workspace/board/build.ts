import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { locales } from "./src/messages.ts";
import { page } from "./src/page.ts";
import { stations } from "./src/sign.ts";

const LIMIT = 64 * 1024;
const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");

const css = ["styles/tokens.css", "styles/board.css"].map(read).join("\n");
const script = read("vendor/mini.min.js");
const all = stations();
const boards = locales
  .map((locale) => `<section lang="${locale}">\n${page(all.find((one) => one.code === "KYT")!, all, 540, locale)}\n</section>`)
  .join("\n");

const html = `<!doctype html>
<html>
<head><meta charset="utf-8"><title>Departures</title>
<style>
${css}</style>
<script>${script}</script>
</head>
<body>
${boards}
</body>
</html>
`;

const missing = [...css.matchAll(/var\((--[\w-]+)\)/g)].map((found) => found[1]).filter((name) => !css.includes(`${name}:`));
if (missing.length) {
  throw new Error(`tokens that nobody defines: ${[...new Set(missing)].join(", ")}`);
}
if (Buffer.byteLength(html) > LIMIT) {
  throw new Error(`dist/index.html has ${Buffer.byteLength(html)} bytes, ${LIMIT} are allowed`);
}
mkdirSync(new URL("dist", import.meta.url), { recursive: true });
writeFileSync(new URL("dist/index.html", import.meta.url), html);
console.log(`dist/index.html: ${Buffer.byteLength(html)} bytes, locales ${locales.join(" ")}`);
