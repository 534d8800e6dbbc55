const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });
const WIDE = /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Hangul}|\p{Emoji_Presentation}/u;

/** The characters of a text as people count them: a letter with its marks is one. */
function characters(text: string): string[] {
  return Array.from(graphemes.segment(text), (one) => one.segment);
}

/** How many columns of the sign a text takes. */
export function width(text: string): number {
  return characters(text).reduce((sum, one) => sum + (WIDE.test(one) ? 2 : 1), 0);
}

/** The text in exactly `columns` columns: filled up with blanks, or cut with an ellipsis. */
export function pad(text: string, columns: number, side: "left" | "right" = "right"): string {
  if (width(text) > columns) {
    return cut(text, columns - 1) + "…";
  }
  const blanks = " ".repeat(columns - width(text));
  return side === "right" ? text + blanks : blanks + text;
}

function cut(text: string, columns: number): string {
  let kept = "";
  for (const one of characters(text)) {
    if (width(kept + one) > columns) {
      break;
    }
    kept += one;
  }
  return kept;
}
