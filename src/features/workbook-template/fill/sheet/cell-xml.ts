import { cutAtWord } from '../../../../base/text/cut-text.ts';
import { NOTHING_TO_ESCAPE } from '../../../../render/formats/xlsx/package/xml-text.ts';
import type { CellValue } from '../../binding/bindings.ts';
import { escapeForbidden } from '../../package/tokenize-xml.ts';

/** Excel's limit, in UTF-16 code units. */
export const MAX_CELL_TEXT = 32_767;
/** Days between Excel's two epochs. */
const DAYS_TO_1904 = 1_462;

/** How the cells of a sheet are written. */
export interface CellFormat {
  /** The prefix of the sheet's own elements, with its colon; usually empty. */
  readonly prefix: string;
  readonly date1904: boolean;
}

/**
 * A cell with a value. Without a value, it only keeps its style.
 * @param address e.g. `B4`
 * @param style the attribute with a leading space, ` s="3"`. Empty: the workbook's first style
 */
export function cellXml(address: string, style: string, value: CellValue, { prefix, date1904 }: CellFormat): string {
  const open = `<${prefix}c r="${address}"${style}`;
  switch (typeof value) {
    case 'number':
      return Number.isFinite(value) ? `${open}><${prefix}v>${value}</${prefix}v></${prefix}c>` : `${open}/>`;
    case 'string':
      return `${open} t="inlineStr"><${prefix}is><${prefix}t xml:space="preserve">${textXml(value)}</${prefix}t></${prefix}is></${prefix}c>`;
    case 'boolean':
      return `${open} t="b"><${prefix}v>${value ? 1 : 0}</${prefix}v></${prefix}c>`;
    default:
      if (value === null) return `${open}/>`;
      return `${open}><${prefix}v>${value.serial - (date1904 ? DAYS_TO_1904 : 0)}</${prefix}v></${prefix}c>`;
  }
}

/** A text as the content of a cell. Cuts it if it is too long, and escapes forbidden characters in Excel's way. */
export function textXml(text: string): string {
  const cut = cutAtWord(text, MAX_CELL_TEXT);
  if (NOTHING_TO_ESCAPE.test(cut)) return cut;
  return (
    cut
      .replace(/_(?=x[0-9a-fA-F]{4}_)/g, '_x005F_')
      .replace(/\r\n?/g, '\n')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: matches control characters
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, escapeForbidden)
      .replace(/[\ud800-\udfff]/gu, '\ufffd')
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
  );
}
