/** A part of the package that exceljs does not write. */
export interface PackagePart {
  /** Path in the zip, without a leading slash. */
  readonly name: string;
  readonly xml: string | Uint8Array;
  /** Absent for relationships, whose extension has a default content type. */
  readonly contentType?: string;
}

export const XML_DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';

/**
 * Makes text legal in XML 1.0 and Excel: characters that XML cannot contain become U+FFFD, line breaks become LF, and
 * texts that look like an Excel escape (`_x0041_`) are escaped.
 */
export function toLegalText(text: string): string {
  return (
    text
      .replace(/\r\n?/g, '\n')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: matches control characters
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\ufffe\uffff]|[\ud800-\udfff]/gu, '\ufffd')
      .replace(/_(?=x[0-9a-fA-F]{4}_)/g, '_x005F_')
  );
}

/** Texts that need no escape: a fast path for most texts of a large table. */
export const NOTHING_TO_ESCAPE = /^[\t\n !#-%'-;=?-^`-~\u00a0-\ud7ff\ue000-\ufffd]*$/;

/** Escapes text for an element or an attribute. */
export const escapeXml = (text: string): string =>
  NOTHING_TO_ESCAPE.test(text)
    ? text
    : toLegalText(text)
        .replaceAll('&', '&amp;')
        .replaceAll('<', '&lt;')
        .replaceAll('>', '&gt;')
        .replaceAll('"', '&quot;');

/** The letters of a column counted from 0: `A`, `B`, … `AA`. */
export const columnLetters = (index: number): string =>
  index < 26 ? String.fromCharCode(65 + index) : columnLetters(Math.floor(index / 26) - 1) + columnLetters(index % 26);
