/** Characters of scripts that run from right to left, and the invisible ones that turn the direction around. */
const TURNS =
  /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const CONTROLS = /[\u202a-\u202e\u2066-\u2069]/g;
/** Direction controls and marks, and characters without width that no script needs to be written. */
const INVISIBLE = /[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g;
const POP_EMBEDDING = '\u202c';
const POP_ISOLATE = '\u2069';
const isIsolate = (control: string): boolean => control >= '\u2066';

/**
 * A text that goes into a sentence of ours: one that runs from right to left is set apart (FSI … PDI), so that it does
 * not carry the words, numbers and brackets around it along. Any other stays as it is.
 */
export const isolate = (text: string): string =>
  TURNS.test(text) ? `\u2068${text.replace(CONTROLS, '')}\u2069` : text;

/**
 * A text without the direction controls that nothing closes, and those that close nothing: either would turn around what
 * follows the text. Pairs stay.
 */
export function closeDirections(text: string): string {
  if (text.search(CONTROLS) === -1) return text;
  const open: { readonly at: number; readonly control: string }[] = [];
  const paired = new Set<number>();
  for (const { 0: control, index } of text.matchAll(CONTROLS)) {
    if (control !== POP_EMBEDDING && control !== POP_ISOLATE) {
      open.push({ at: index, control });
      continue;
    }
    const closes = control === POP_ISOLATE;
    const last = open.findLastIndex((each) => isIsolate(each.control));
    // The end of an isolate ends what is open inside it; the end of an embedding reaches no further than its isolate.
    const opened = closes ? last : open.length - 1 > last ? open.length - 1 : -1;
    const [pair] = opened === -1 ? [] : open.splice(opened);
    if (pair === undefined) continue;
    paired.add(pair.at).add(index);
  }
  return text.replace(CONTROLS, (control: string, index: number) => (paired.has(index) ? control : ''));
}

/** A text whose characters are read in the order in which they stand: without direction controls, marks and zero width. */
export const withoutInvisible = (text: string): string => text.replace(INVISIBLE, '');
