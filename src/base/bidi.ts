/** Characters of scripts that run from right to left, and the invisible ones that turn the direction around. */
const TURNS =
  /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const CONTROLS = /[\u202a-\u202e\u2066-\u2069]/g;

/**
 * A text that goes into a sentence of ours: one that runs from right to left is set apart (FSI … PDI), so that it does
 * not carry the words, numbers and brackets around it along. Any other stays as it is.
 */
export const isolate = (text: string): string =>
  TURNS.test(text) ? `\u2068${text.replace(CONTROLS, '')}\u2069` : text;
