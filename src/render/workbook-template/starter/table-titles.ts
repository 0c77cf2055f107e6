import { strFromU8, strToU8, unzipSync, zipSync } from 'fflate';
import { escapeXmlAttribute } from '../package/tokenize-xml.ts';

/** When every part of a starter template was written: the same report makes the same bytes. */
const WRITTEN = new Date(2020, 0, 1);

const TABLE_PART = /^xl\/tables\/[^/]+\.xml$/;
const URI = '{504A1905-F514-4f6f-8877-14C23A59335A}';
const NAMESPACE = 'http://schemas.microsoft.com/office/spreadsheetml/2009/9/main';

/**
 * Adds titles of alternative text to the tables of a workbook, which exceljs does not write.
 * @param titles by the name of the table
 */
export function withTableTitles(workbook: Uint8Array, titles: ReadonlyMap<string, string>): Uint8Array {
  const parts = Object.entries(unzipSync(workbook)).map(([name, bytes]) => {
    if (!TABLE_PART.test(name)) return [name, bytes] as const;
    const text = strFromU8(bytes);
    const title = titles.get(/ displayName="([^"]*)"/.exec(text)?.[1] ?? '');
    if (title === undefined) return [name, bytes] as const;
    const extension = `<extLst><ext uri="${URI}" xmlns:x14="${NAMESPACE}"><x14:table altText="${escapeXmlAttribute(title)}"/></ext></extLst>`;
    return [name, strToU8(text.replace('</table>', `${extension}</table>`))] as const;
  });
  return zipSync(Object.fromEntries(parts), { mtime: WRITTEN });
}
