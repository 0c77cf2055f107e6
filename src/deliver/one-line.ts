import { closeDirections } from '../base/bidi.ts';
import { singleLine } from '../base/single-line.ts';

const MAX_CHARACTERS = 500;

/** Somebody else's words, fit for a header, a ledger and a log: one line without control characters, of bounded length. */
export const oneLine = (text: string, most: number = MAX_CHARACTERS): string =>
  // Once more behind the cut, which may have parted what belongs together.
  closeDirections(singleLine(text).trim().slice(0, most));
