// How much room text takes. Measured without a canvas, so that a figure is laid out alike in a browser and without one.

/** Bold text needs this much more room. */
export const BOLD = 1.1;

/** The width of a text in pixels, rather too much than too little. */
export function textWidth(text: string, size: number): number {
  let width = 0;
  for (const character of text) {
    // Chinese, Japanese, Korean and symbols beyond are as wide as high; of Latin letters a few are narrow or wide.
    if (character >= "\u2e80") width += 1;
    else if (/[iljtfI.,:;'|! ()[\]]/.test(character)) width += 0.36;
    else if (/[mwMW@%…]/.test(character)) width += 0.98;
    else if (/[A-Z]/.test(character)) width += 0.72;
    else width += 0.6;
  }
  return width * size;
}

/** The text without line breaks and other control characters, cut to a width. */
export function cut(text: string, size: number, width: number): string {
  const line = oneLine(text);
  if (textWidth(line, size) <= width) return line;
  const characters = [...line];
  while (characters.length > 0 && textWidth(`${characters.join("")}…`, size) > width) characters.pop();
  return `${characters.join("").trimEnd()}…`;
}

/** A name cut to a width in its middle, because what tells it from others may stand at either end. */
export function squeezed(name: string, size: number, width: number): string {
  const characters = [...oneLine(name)];
  if (textWidth(characters.join(""), size) <= width) return characters.join("");
  for (let kept = characters.length - 1; kept > 0; kept--) {
    const end = Math.floor(kept / 2);
    const shorter = `${characters.slice(0, kept - end).join("").trimEnd()}…${characters.slice(characters.length - end).join("").trimStart()}`;
    if (textWidth(shorter, size) <= width) return shorter;
  }
  return "…";
}

/** The text in lines that fit a width, at most so many. */
export function wrap(text: string, size: number, width: number, most: number): string[] {
  const lines: string[] = [];
  let line = "";
  const words = oneLine(text).split(" ");
  for (const [index, word] of words.entries()) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line === "" || textWidth(longer, size) <= width) {
      line = longer;
    } else if (lines.length + 1 === most) {
      return [...lines, cut([line, ...words.slice(index)].join(" "), size, width)];
    } else {
      lines.push(line);
      line = word;
    }
  }
  return [...lines, cut(line, size, width)];
}

function oneLine(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f\u2028\u2029]+/g, " ");
}
