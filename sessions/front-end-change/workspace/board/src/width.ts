/** How many columns of the sign a text takes. */
export function width(text: string): number {
  return text.length;
}

/** The text in exactly `columns` columns: filled up with blanks, or cut with an ellipsis. */
export function pad(text: string, columns: number, side: "left" | "right" = "right"): string {
  if (width(text) > columns) {
    return text.slice(0, columns - 1) + "…";
  }
  const blanks = " ".repeat(columns - width(text));
  return side === "right" ? text + blanks : blanks + text;
}
