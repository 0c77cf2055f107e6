const MAX_SHOWN_LENGTH = 80;
const MAX_SAMPLE = 8;

/** A name from a workbook as part of a problem: shortened, on one line. */
export const quoted = (text: string): string => {
  const line = text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim();
  return `"${line.length <= MAX_SHOWN_LENGTH ? line : `${line.slice(0, MAX_SHOWN_LENGTH)}…`}"`;
};

/** The first of some names: `a, b, c, …`. */
export const sample = (names: readonly string[]): string =>
  [...names.slice(0, MAX_SAMPLE), ...(names.length > MAX_SAMPLE ? ['…'] : [])].join(', ');
