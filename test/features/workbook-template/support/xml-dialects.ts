import { strFromU8, strToU8, unzipSync, zipSync } from 'fflate';

const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const PARTS =
  /^xl\/(workbook|worksheets\/sheet\d+|tables\/table\d+|comments\d*|pivot\w+\/pivot\w+\d+|sharedStrings)\.xml$/;

/** Ways in which other programs write the same XML. */
export const XML_DIALECTS: Readonly<Record<string, (xml: string) => string>> = {
  'a prefix for each element': (xml) =>
    xml
      .replace(`xmlns="${MAIN}"`, `xmlns:x="${MAIN}"`)
      .replace(/<(\/?)([A-Za-z]\w*)(?=[\s>/])/g, (_, slash: string, name: string) => `<${slash}x:${name}`),
  'single quotation marks and spaces': (xml) => xml.replace(/ ([\w:]+)="([^"']*)"/g, " $1 = '$2'"),
  'comments between elements': (xml) =>
    xml.replace(/><(?=(?:row|c|f|v|sheetData|tableColumn|definedName)[\s>])/g, '><!-- x > < "y" --><'),
  'entities in references': (xml) =>
    xml.replace(/(ref|sqref)="([A-Z])/g, (_, name: string, letter: string) => `${name}="&#${letter.charCodeAt(0)};`),
};

/** A workbook whose main parts are written in another dialect. */
export function inDialect(workbook: Uint8Array, change: (xml: string) => string): Uint8Array {
  const parts = Object.entries(unzipSync(workbook));
  return zipSync(
    Object.fromEntries(
      parts.map(([name, bytes]) => [name, PARTS.test(name) ? strToU8(change(strFromU8(bytes))) : bytes]),
    ),
  );
}
