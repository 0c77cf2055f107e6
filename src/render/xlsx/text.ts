/**
 * Text as XML 1.0 and Excel can hold it: characters that XML has no way to write become U+FFFD, line ends become LF,
 * and what Excel would read as its own escape (`_x0041_`) is escaped.
 */
export function legalText(text: string): string {
  return (
    text
      .replace(/\r\n?/g, '\n')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\ufffe\uffff]|[\ud800-\udfff]/gu, '\ufffd')
      .replace(/_(?=x[0-9a-fA-F]{4}_)/g, '_x005F_')
  );
}

/** Nothing of what `legalText` or XML would change; most texts of a large table are like this. */
const PLAIN = /^[\t\n !#-%'-;=?-^`-~\u00a0-\ud7ff\ue000-\ufffd]*$/;

/** Text inside an element or an attribute of a part that we write ourselves. */
export const xmlText = (text: string): string =>
  PLAIN.test(text)
    ? text
    : legalText(text)
        .replaceAll('&', '&amp;')
        .replaceAll('<', '&lt;')
        .replaceAll('>', '&gt;')
        .replaceAll('"', '&quot;');
