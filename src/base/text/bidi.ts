/** Characters of right-to-left scripts, and direction controls. */
const RTL_CHARACTERS =
  /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const BIDI_CONTROLS = /[\u202a-\u202e\u2066-\u2069]/g;
/**
 * Direction controls and marks, and shapeless characters that no script needs. Joiners stay, so that emoji stay whole.
 */
export const INVISIBLE = /[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
const POP_EMBEDDING = '\u202c';
const POP_ISOLATE = '\u2069';
const isIsolate = (control: string): boolean => control >= '\u2066';

/** Isolates right-to-left text (FSI … PDI), so that it does not reorder the words, numbers and brackets around it. */
export const isolateBidi = (text: string): string =>
  RTL_CHARACTERS.test(text) ? `\u2068${text.replace(BIDI_CONTROLS, '')}\u2069` : text;

/** Removes unpaired direction controls, which would change the direction of the following text. */
export function balanceBidiControls(text: string): string {
  if (text.search(BIDI_CONTROLS) === -1) return text;
  const open: { readonly at: number; readonly control: string }[] = [];
  const paired = new Set<number>();
  for (const { 0: control, index } of text.matchAll(BIDI_CONTROLS)) {
    if (control !== POP_EMBEDDING && control !== POP_ISOLATE) {
      open.push({ at: index, control });
      continue;
    }
    const closes = control === POP_ISOLATE;
    const last = open.findLastIndex((each) => isIsolate(each.control));
    // The end of an isolate also closes embeddings inside it. The end of an embedding never closes an isolate.
    const opened = closes ? last : open.length - 1 > last ? open.length - 1 : -1;
    const [pair] = opened === -1 ? [] : open.splice(opened);
    if (pair === undefined) continue;
    paired.add(pair.at).add(index);
  }
  return text.replace(BIDI_CONTROLS, (control: string, index: number) => (paired.has(index) ? control : ''));
}

/**
 * Removes direction controls, marks and invisible characters. Applied to everything that people type and others read,
 * so that readers see the characters in the order in which they are stored.
 */
export const stripInvisible = (text: string): string => text.replace(INVISIBLE, '');

/** Untrusted text for a single line: without line breaks, control characters and unpaired direction controls. */
export const toSingleLine = (text: string): string => balanceBidiControls(text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' '));

const MAX_CHARACTERS = 500;

/** Untrusted text for a header, the ledger or a log: a single line of bounded length. */
export const oneLine = (text: string, maxCharacters: number = MAX_CHARACTERS): string =>
  // Balanced again after truncation, which may separate a pair.
  balanceBidiControls(toSingleLine(text).trim().slice(0, maxCharacters));
