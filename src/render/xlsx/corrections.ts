import exceljs from 'exceljs';
import { DocketError } from '../../base/error.ts';
import { DIFFERENTIAL_STYLES } from './conditional.ts';
import type { Part } from './drawing.ts';

/*
 * What exceljs 4.4.0's streaming writer gets wrong or has no way to say, put right from outside. It goes through parts
 * that exceljs does not promise to keep, which is safe because the version is pinned: each is looked for before use.
 */

export interface Zip {
  append(source: unknown, data: { name: string; date?: Date }): unknown;
}

const missing = (part: string): DocketError =>
  new DocketError('internal.defect', `exceljs has no ${part}: Docket was written against exceljs 4.4.0.`, {
    expected: 'exceljs 4.4.0',
    next: 'Install the version that package-lock.json names.',
    retryable: false,
  });

const isZip = (value: unknown): value is Zip =>
  typeof value === 'object' && value !== null && 'append' in value && typeof value.append === 'function';

/**
 * exceljs puts the first two parts into the zip while it is being constructed, too early to correct them: they are held
 * back here, and written by `writeFirstParts`.
 */
export class LateWriter extends exceljs.stream.xlsx.WorkbookWriter {
  override addThemes(): Promise<void> {
    return Promise.resolve();
  }
  override addOfficeRels(): Promise<void> {
    return Promise.resolve();
  }
  async writeFirstParts(): Promise<void> {
    await super.addThemes();
    await super.addOfficeRels();
  }
}

/** The order in which the format wants a font's parts; exceljs writes them in another one. */
const FONT_PARTS = [
  'b',
  'i',
  'strike',
  'outline',
  'shadow',
  'u',
  'vertAlign',
  'sz',
  'color',
  'name',
  'family',
  'charset',
  'scheme',
];

const inFontOrder = (styles: string): string =>
  styles.replace(/<font>(.*?)<\/font>/g, (_, parts: string) => {
    const rank = (part: string) => FONT_PARTS.indexOf(/^<(\w+)/.exec(part)?.[1] ?? '');
    const sorted = (parts.match(/<[^>]*>/g) ?? []).sort((one, other) => rank(one) - rank(other));
    return `<font>${sorted.join('')}</font>`;
  });

/** The writer's own conditional formats are not used: their bars have no id, and their place is wrong. */
const withMarks = (styles: string): string => styles.replace(/<dxfs count="0"\s*\/>/, DIFFERENTIAL_STYLES);

/**
 * Every part goes through here on its way into the zip: it gets one date, so that the same dataset and clock give the
 * same bytes, the style sheet is put into the order that a strict reader wants, and the list of contents gets the parts
 * that we add.
 */
export function correctParts(writer: object, date: Date, added: readonly Part[]): Zip {
  const zip: unknown = Reflect.get(writer, 'zip');
  if (!isZip(zip)) throw missing('zip');
  const append = zip.append.bind(zip);
  const correct = (source: unknown, name: string): unknown => {
    if (typeof source !== 'string') return source;
    if (name === 'xl/styles.xml') return withMarks(inFontOrder(source));
    return name === '[Content_Types].xml' ? source.replace('</Types>', `${overrides(added)}</Types>`) : source;
  };
  zip.append = (source, data) => append(correct(source, data.name), { ...data, date });
  return zip;
}

const overrides = (parts: readonly Part[]): string =>
  parts
    .filter(({ contentType }) => contentType !== undefined)
    .map(({ name, contentType }) => `<Override PartName="/${name}" ContentType="${contentType}"/>`)
    .join('');

const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

/** Relates a sheet to a part of its own; the writer's own relations take care of the part that says so. */
export function relate(sheet: object, type: 'drawing' | 'table', target: string): string {
  const relations: unknown = Reflect.get(sheet, '_sheetRelsWriter');
  if (
    typeof relations !== 'object' ||
    relations === null ||
    !('addRelationship' in relations) ||
    typeof relations.addRelationship !== 'function'
  ) {
    throw missing('_sheetRelsWriter');
  }
  return String(relations.addRelationship({ Type: `${OFFICE}/${type}`, Target: target }));
}

/**
 * Writes `xml()` before what the writer's own `method` writes. The streaming writer knows no links inside a workbook
 * and would put links where the format does not allow them (before conditional formats), so links go through here.
 */
export function insertBefore(sheet: object, method: string, xml: () => string): void {
  const original: unknown = Reflect.get(sheet, method);
  const stream: unknown = Reflect.get(sheet, 'stream');
  if (typeof original !== 'function') throw missing(method);
  if (typeof stream !== 'object' || stream === null || !('write' in stream) || typeof stream.write !== 'function') {
    throw missing('stream');
  }
  const write = stream.write.bind(stream);
  Reflect.set(sheet, method, () => {
    const text = xml();
    if (text !== '') write(text);
    Reflect.apply(original, sheet, []);
  });
}
