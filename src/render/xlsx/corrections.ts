import { PassThrough } from 'node:stream';
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

const zipOf = (writer: object): Zip => {
  const zip: unknown = Reflect.get(writer, 'zip');
  if (!isZip(zip)) throw missing('zip');
  return zip;
};

/** Bytes of a sheet that may wait for the zip, so that both always have something to do. */
const WAITING_BYTES = 256 * 1024;

/**
 * exceljs puts the first two parts into the zip while it is being constructed, too early to correct them: they are held
 * back here, and written by `writeFirstParts`. Its own streams never say that they are full, so that a workbook would
 * pile up in memory before the zip; those made here do.
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
  // What the sheets and their relations are written to; the types do not know it.
  _openStream(name: string): PassThrough {
    const stream = new PassThrough({ highWaterMark: WAITING_BYTES });
    const write = stream.write.bind(stream);
    Object.assign(stream, { write: (chunk: unknown) => write(isBuffer(chunk) ? chunk.toBuffer() : chunk) });
    zipOf(this).append(stream, { name });
    return stream;
  }
}

/** exceljs' own buffer of text, which it uses again after it is written. */
const isBuffer = (chunk: unknown): chunk is { toBuffer: () => Buffer } =>
  typeof chunk === 'object' && chunk !== null && 'toBuffer' in chunk && typeof chunk.toBuffer === 'function';

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
  const zip = zipOf(writer);
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

/** The place of a style in the workbook's style sheet, where it is put when it is new. */
export function styleIds(writer: object): (style: object) => number {
  const styles: unknown = Reflect.get(writer, 'styles');
  if (
    typeof styles !== 'object' ||
    styles === null ||
    !('addStyleModel' in styles) ||
    typeof styles.addStyleModel !== 'function'
  ) {
    throw missing('styles');
  }
  const add = styles.addStyleModel.bind(styles);
  return (style) => Number(add(style));
}

/** The workbook's table of texts: exceljs writes it at the end. */
export function sharedTexts(writer: object): unknown[] {
  const strings: unknown = Reflect.get(writer, 'sharedStrings');
  if (typeof strings !== 'object' || strings === null || !('values' in strings) || !Array.isArray(strings.values)) {
    throw missing('sharedStrings');
  }
  return strings.values;
}

/**
 * Gives a sheet another place among the sheets of its workbook; the order in which they were written stays. Only when
 * all of them are written: the writer counts them to number the next one.
 * @param place counted from 0
 */
export function placeSheet(writer: object, sheet: object, place: number): void {
  const sheets: unknown = Reflect.get(writer, '_worksheets');
  if (!Array.isArray(sheets) || !sheets.includes(sheet)) throw missing('_worksheets');
  sheets.splice(sheets.indexOf(sheet), 1);
  // The first is number 1.
  sheets.splice(place + 1, 0, sheet);
}

/** Begins a sheet's rows, and gives the stream that they are written to as XML, past exceljs' own rows and cells. */
export function beginRows(sheet: object): PassThrough {
  for (const method of ['_writeColumns', '_writeOpenSheetData']) {
    const write: unknown = Reflect.get(sheet, method);
    if (typeof write !== 'function') throw missing(method);
    Reflect.apply(write, sheet, []);
  }
  Reflect.set(sheet, 'startedData', true);
  const stream: unknown = Reflect.get(sheet, 'stream');
  if (!(stream instanceof PassThrough)) throw missing('stream');
  return stream;
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
