import { PassThrough, type Writable } from 'node:stream';
import type exceljs from 'exceljs';
import WorkbookWriter from 'exceljs/lib/stream/xlsx/workbook-writer.js';
import { DocketError } from '../../../../base/error.ts';
import { FONT } from '../style/styles.ts';
import { DIFFERENTIAL_STYLES } from './conditional-formatting.ts';
import type { PackagePart } from './xml-text.ts';

/*
 * The only module that depends on internals of exceljs, whose streaming writer has no public way to do these things.
 * package.json pins the version. Each internal is checked before use, and by
 * test/render/formats/xlsx/exceljs-internals.test.ts.
 */
export const EXCELJS_VERSION = '4.4.0';

const missingInternal = (name: string): DocketError =>
  new DocketError('internal.defect', `exceljs has no ${name}.`, {
    expected: `exceljs ${EXCELJS_VERSION}`,
    next: 'Install the version that package-lock.json names.',
    retryable: false,
  });

type Method = (...args: unknown[]) => unknown;

/** Returns a method that the types of exceljs do not declare, bound to its object. */
function internalMethod(owner: unknown, name: string): Method {
  const method: unknown = typeof owner === 'object' && owner !== null ? Reflect.get(owner, name) : undefined;
  if (typeof method !== 'function') throw missingInternal(name);
  return (...args) => Reflect.apply(method, owner, args);
}

const internalObject = (owner: object, name: string): object => {
  const value: unknown = Reflect.get(owner, name);
  if (typeof value !== 'object' || value === null) throw missingInternal(name);
  return value;
};

/** `writer.zip`: exceljs has no public way to add a part to the package. */
const zipOf = (writer: object): object => internalObject(writer, 'zip');

/** The most bytes of a sheet that may wait for the zip. */
const HIGH_WATER_MARK_BYTES = 256 * 1024;
/**
 * A sheet is compressed in another thread, a chunk at a time, while the next chunk is written. With zlib's default of
 * 16 KB, each side would wait for the other.
 */
const COMPRESSOR = { chunkSize: 128 * 1024, highWaterMark: 1024 * 1024 };

/** exceljs reuses its text buffers after writing them, so their content must be copied. */
const isStringBuffer = (chunk: unknown): chunk is { toBuffer: () => Buffer } =>
  typeof chunk === 'object' && chunk !== null && 'toBuffer' in chunk && typeof chunk.toBuffer === 'function';

class DeferredWriter extends WorkbookWriter {
  // The constructor writes these two parts before `zip.append` can be patched, so `writeDeferredParts` writes them
  // later.
  override addThemes(): Promise<void> {
    return Promise.resolve();
  }
  override addOfficeRels(): Promise<void> {
    return Promise.resolve();
  }
  async writeDeferredParts(): Promise<void> {
    await super.addThemes();
    await super.addOfficeRels();
  }
  // The streams of exceljs never report back-pressure: a large workbook would pile up in memory in front of the zip.
  _openStream(name: string): PassThrough {
    const stream = new PassThrough({ highWaterMark: HIGH_WATER_MARK_BYTES });
    const write = stream.write.bind(stream);
    Object.assign(stream, { write: (chunk: unknown) => write(isStringBuffer(chunk) ? chunk.toBuffer() : chunk) });
    internalMethod(zipOf(this), 'append')(stream, { name });
    return stream;
  }
}

/** The order of a font's elements that the format's schema requires. exceljs writes them in another order. */
const FONT_ELEMENT_ORDER = [
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

const sortFontElements = (styles: string): string =>
  styles.replace(/<font>(.*?)<\/font>/g, (_, elements: string) => {
    const rank = (element: string) => FONT_ELEMENT_ORDER.indexOf(/^<(\w+)/.exec(element)?.[1] ?? '');
    const sorted = (elements.match(/<[^>]*>/g) ?? []).sort((one, other) => rank(one) - rank(other));
    return `<font>${sorted.join('')}</font>`;
  });

/**
 * The data bars of exceljs lack the ids of Excel 2010 and are at a wrong position. Docket writes its own, so exceljs's
 * list of formats is empty.
 */
const withDifferentialStyles = (styles: string): string => styles.replace(/<dxfs count="0"\s*\/>/, DIFFERENTIAL_STYLES);

/**
 * Gives the default style the font of all other styles, because column widths are measured in its digits. exceljs
 * writes Calibri, which few systems other than Windows have.
 */
const withDefaultFont = (styles: string): string =>
  styles.replace(
    /<font>(?:(?!<\/font>).)*<scheme val="minor"\/><\/font>/,
    `<font><sz val="${FONT.size}"/><color theme="1"/><name val="${FONT.name}"/><family val="2"/></font>`,
  );

const contentTypeOverrides = (parts: readonly PackagePart[]): string =>
  parts
    .filter(({ contentType }) => contentType !== undefined)
    .map(({ name, contentType }) => `<Override PartName="/${name}" ContentType="${contentType}"/>`)
    .join('');

/** The worksheet that exceljs streams. The functions of this module access its internals. */
export type Worksheet = ReturnType<exceljs.stream.xlsx.WorkbookWriter['addWorksheet']>;

export type WorkbookPackage = ReturnType<typeof openPackage>;

export interface PackageOptions {
  readonly title: string;
  readonly subject: string;
  /** BCP 47. */
  readonly language: string;
  /** The modification time of every part, so that the same content gives the same bytes. */
  readonly date: Date;
  /** 1 to 9. */
  readonly compressionLevel: number;
}

/** Opens a workbook that is written to `stream` sheet by sheet. exceljs cannot abort: destroy `stream` instead. */
export function openPackage(stream: Writable, options: PackageOptions) {
  const { title, subject, language, date, compressionLevel } = options;
  const writer = new DeferredWriter({
    stream,
    useStyles: true,
    zip: { zlib: { level: compressionLevel, ...COMPRESSOR } },
  });
  const zip = zipOf(writer);
  const append = internalMethod(zip, 'append');
  let parts: readonly PackagePart[] = [];
  let names = '';
  const patch = (source: unknown, name: string): unknown => {
    if (typeof source !== 'string') return source;
    if (name === 'xl/styles.xml') return withDefaultFont(withDifferentialStyles(sortFontElements(source)));
    // exceljs would write one name per print area, which is invalid if a sheet has several.
    if (name === '/xl/workbook.xml') return source.replace('</sheets>', () => `</sheets>${names}`);
    return name === '[Content_Types].xml'
      ? source.replace('</Types>', `${contentTypeOverrides(parts)}</Types>`)
      : source;
  };
  const patchedAppend = (source: unknown, data: { readonly name: string }) =>
    append(patch(source, data.name), { ...data, date });
  Reflect.set(zip, 'append', patchedAppend);
  // The types lack title, subject and language.
  const author = 'Docket';
  const properties = {
    title,
    subject,
    language,
    creator: author,
    lastModifiedBy: author,
    created: date,
    modified: date,
  };
  Object.assign(writer, properties);
  const addStyleModel = internalMethod(Reflect.get(writer, 'styles'), 'addStyleModel');
  const sharedStrings: unknown = Reflect.get(internalObject(writer, 'sharedStrings'), 'values');
  if (!Array.isArray(sharedStrings)) throw missingInternal('sharedStrings.values');
  return {
    addWorksheet: (
      name: string,
      sheetOptions: Parameters<exceljs.stream.xlsx.WorkbookWriter['addWorksheet']>[1],
    ): Worksheet => writer.addWorksheet(name, sheetOptions),
    /** The index of a style in the workbook's style sheet. The same object always has the same index. */
    styleIndex: (style: object): number => Number(addStyleModel(style)),
    /** The shared strings in the order of their ids. They are written unchanged when the package is closed. */
    sharedStrings,
    /**
     * Writes the remaining parts.
     * @param added further parts of the package
     * @param moved sheets and their positions, counted from 0. They can move only now, because exceljs numbers a new
     * sheet by its position.
     * @param definedNames the XML of the workbook's names; '' for none
     */
    close: async (
      added: readonly PackagePart[],
      moved: readonly { readonly sheet: Worksheet; readonly position: number }[],
      definedNames: (sheets: readonly string[]) => string,
    ): Promise<void> => {
      parts = added;
      await writer.writeDeferredParts();
      const sheets: unknown = Reflect.get(writer, '_worksheets');
      if (!Array.isArray(sheets)) throw missingInternal('_worksheets');
      for (const { sheet, position } of moved) {
        sheets.splice(sheets.indexOf(sheet), 1);
        // Index 0 is unused.
        sheets.splice(position + 1, 0, sheet);
      }
      names = definedNames(sheets.slice(1).map((sheet) => String(Reflect.get(Object(sheet), 'name'))));
      for (const { name, xml } of added) patchedAppend(xml, { name });
      await writer.commit();
    },
  };
}

const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

/** Relates a sheet to a part and returns the relationship's id. exceljs has no public way to do this. */
export function addSheetRelationship(sheet: Worksheet, type: 'drawing' | 'table', target: string): string {
  const add = internalMethod(Reflect.get(sheet, '_sheetRelsWriter'), 'addRelationship');
  return String(add({ Type: `${OFFICE}/${type}`, Target: target }));
}

/**
 * Starts the rows of a sheet and returns the stream for their XML. It replaces the cells of exceljs, which are ten
 * times slower.
 */
export function openSheetData(sheet: Worksheet): PassThrough {
  internalMethod(sheet, '_writeColumns')();
  internalMethod(sheet, '_writeOpenSheetData')();
  // Without this, `commit` would write the start of the rows again.
  Reflect.set(sheet, 'startedData', true);
  const stream: unknown = Reflect.get(sheet, 'stream');
  if (!(stream instanceof PassThrough)) throw missingInternal('stream');
  return stream;
}

/**
 * Positions where XML can be inserted into a sheet, each before the internal method named here. ECMA-376 part 1
 * §18.3.1.99 defines the order of a sheet's elements. exceljs would write hyperlinks before conditional formats, which
 * is invalid.
 */
export const SHEET_SLOTS = {
  mergeCells: '_writeMergeCells',
  conditionalFormats: '_writeDataValidations',
  hyperlinks: '_writePageMargins',
  rowBreaks: '_writeRowBreaks',
  drawing: '_writeLegacyData',
  end: '_writeCloseWorksheet',
} as const;

/** Inserts the XML that `xml` returns when the sheet is closed; '' inserts nothing. */
export function insertXml(sheet: Worksheet, slot: keyof typeof SHEET_SLOTS, xml: () => string): void {
  const name = SHEET_SLOTS[slot];
  const original = internalMethod(sheet, name);
  const write = internalMethod(Reflect.get(sheet, 'stream'), 'write');
  Reflect.set(sheet, name, () => {
    const text = xml();
    if (text !== '') write(text);
    original();
  });
}
