const MAX_CHARACTERS = 500;

/** Somebody else's words, fit for a header, a ledger and a log: one line without control characters, of bounded length. */
export const oneLine = (text: string): string =>
  text
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
    .slice(0, MAX_CHARACTERS);
