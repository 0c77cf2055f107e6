import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { isErrno } from '../../../base/errno.ts';
import { type FoundOutputFile, MAX_ORG_FILE_BYTES } from '../../../definitions/load/org-file.ts';
import type { Dataset } from '../../../fetch/dataset.ts';
import type { FilledWorkbook } from '../../../render/artifact.ts';
import type { TemplateDefinition } from '../../../render/formats/format.ts';
import type { TemplateBindings } from '../binding/bindings.ts';
import { outlineOfDataset } from '../binding/outline.ts';
import { nameValue, tableRows, type ValueOptions } from '../binding/read-values.ts';
import { columnText } from '../binding/target-text.ts';
import type { ReferenceMap } from '../growth/growth.ts';
import { mapParts } from '../growth/map-parts.ts';
import { withoutInsertRow } from '../growth/parts/map-tables.ts';
import { planGrowth } from '../growth/plan-growth.ts';
import { createReferenceMap } from '../growth/reference-map.ts';
import { inspectTemplate } from '../inspect-template.ts';
import { CONTENT_TYPES_PART, partKey } from '../package/content-types.ts';
import { openPackage } from '../package/open-package.ts';
import { relationshipKind } from '../package/relationships.ts';
import type { PartChange, TemplatePackage } from '../package/template-package.ts';
import { changeAttributes, escapeXmlAttribute, tokenizeXml } from '../package/tokenize-xml.ts';
import { findWorkbookPart } from '../package/workbook-part.ts';
import { writePackage } from '../package/write-package.ts';
import { attributeOf } from '../package/xml-tokens.ts';
import { formatCell, formatRange, quoteSheetName } from '../workbook/addresses.ts';
import type { TemplateWorkbook } from '../workbook/workbook.ts';
import { createBoundCells } from './bound-values.ts';
import { fillSheet } from './sheet/fill-sheet.ts';
import { type Growth, type SheetScan, scanSheet } from './sheet/scan-sheet.ts';
import { collectFills, type SheetFill, type TableFill } from './sheet/sheet-fill.ts';
import { findStaleSheets } from './stale-sheets.ts';
import { changedTemplate, refuseProblems } from './template-error.ts';

export interface FillOptions extends ValueOptions {
  readonly macros: 'keep' | 'remove';
  /** Has the units of durations, and says which figures this run may lack without being an error. */
  readonly definition?: TemplateDefinition | undefined;
  readonly signal: AbortSignal;
}

/**
 * Fills a template with the figures of a report: tables get their rows, names their values. References follow the
 * growth; everything else stays unchanged. `to` must not exist; after a failure the caller removes it. The same
 * template, dataset and instant give the same bytes. Throws `template.invalid` for a template that cannot be filled,
 * `render.failed` for rows beyond Excel's last, and the signal's reason when aborted.
 */
export async function fillTemplate(
  found: FoundOutputFile,
  to: string,
  dataset: Dataset,
  options: FillOptions,
): Promise<FilledWorkbook> {
  const copy = `${to}.template`;
  const defined = definedHash(options.definition, found.name);
  let sha256: string | undefined;
  try {
    sha256 = await copyTemplate(found, copy);
    const filled = await fillCopy({ ...found, path: copy, sha256 }, to, dataset, options);
    return defined === undefined || defined === sha256 ? filled : { ...filled, defined_sha256: defined };
  } catch (error) {
    throw defined === undefined || defined === sha256 ? error : changedTemplate(error);
  } finally {
    await rm(copy, { force: true });
  }
}

/** SHA-256 (hex) of the template when the definition was loaded. */
export const definedHash = (definition: TemplateDefinition | undefined, name: string): string | undefined =>
  new Map(Object.entries(definition?.files ?? {})).get(name);

async function fillCopy(
  { path, file, name, sha256 }: FoundOutputFile & Pick<FilledWorkbook, 'sha256'>,
  to: string,
  dataset: Dataset,
  options: FillOptions,
): Promise<FilledWorkbook> {
  const template = await openPackage(path, file);
  try {
    const outline = outlineOfDataset(dataset, options.definition);
    const { workbook, bindings, problems } = await inspectTemplate(template, outline);
    refuseProblems(file, problems);

    const tables = bindings.tables.map(
      (bound): TableFill => ({
        table: bound.table,
        bound: bound.columns.map((column) => column !== null),
        clearsSamples: outline.sections.some(({ id, list }) => list && id === bound.section),
        ...tableRows(dataset, bound, options),
      }),
    );
    const plan = planGrowth(tables.map(({ table, length }) => ({ table, rows: length })));
    const map = createReferenceMap(plan);
    const fills = collectFills(workbook, plan, tables, valuesOfNames(dataset, bindings, options));
    const cells = createBoundCells(fills, map);

    const parts = await mapParts({ template, workbook, plan, map, cells });
    const changes = new Map<string, PartChange>([
      ...(await changeWorkbookKind(template, options.macros)),
      ...parts,
      ...(await tablesWithRows(template, tables, parts)),
      ...(await sheetChanges(template, workbook, fills, { plan, map }, options.signal)),
    ]);
    await writePackage(to, template, changes, options.signal);
    return describeFilled({ name, sha256 }, bindings, tables, map);
  } finally {
    await template.close();
  }
}

/**
 * Updates the parts of tables that Excel has marked as empty but that now get rows. @param changes earlier changes of
 * these parts
 */
async function tablesWithRows(
  template: TemplatePackage,
  tables: readonly TableFill[],
  changes: ReadonlyMap<string, string | null>,
): Promise<ReadonlyMap<string, string>> {
  const parts = new Map<string, string>();
  for (const { table, length } of tables) {
    if (length === 0) continue;
    const text = changes.get(table.part) ?? (await template.readText(table.part));
    const marked = withoutInsertRow({ name: table.part, text });
    if (marked !== undefined) parts.set(table.part, marked);
  }
  return parts;
}

const valuesOfNames = (dataset: Dataset, { names }: TemplateBindings, options: ValueOptions) =>
  names.map(({ name, target }) => ({ name, value: nameValue(dataset, target, options) }));

/**
 * Updates the sheets that get values, that have references affected by growth, or that have results of the template's
 * sample.
 */
async function sheetChanges(
  template: TemplatePackage,
  workbook: TemplateWorkbook,
  fills: readonly SheetFill[],
  growth: Growth,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, PartChange>> {
  const changes = new Map<string, PartChange>();
  const { date1904 } = workbook;
  const scans = new Map<SheetFill, SheetScan>();
  for (const fill of fills) {
    signal.throwIfAborted();
    scans.set(fill, await scanSheet(template, fill, growth));
  }
  const stale = findStaleSheets(
    workbook,
    new Set(fills.filter(getsValues).map(({ sheet }) => sheet.name)),
    new Map([...scans].map(([{ sheet }, { mentions }]) => [sheet.name, mentions])),
  );
  for (const [fill, scan] of scans) {
    if (!scan.changes && !stale.has(fill.sheet.name)) continue;
    changes.set(fill.sheet.part, () => fillSheet(template, fill, scan, { ...growth, date1904 }));
  }
  return changes;
}

const getsValues = ({ bands, names }: SheetFill): boolean => bands.length > 0 || names.size > 0;

/**
 * Copies a template. It is read several times, and some parts are copied unchanged, so somebody who saves it meanwhile
 * must not affect the result. Replaces `to`. Throws `template.invalid` if the file cannot be read.
 * @returns SHA-256 (hex) of the copy
 */
async function copyTemplate({ path, file }: FoundOutputFile, to: string): Promise<string> {
  const hash = createHash('sha256');
  try {
    await pipeline(
      // Reads one byte more than the limit, so that a file that has grown is refused.
      createReadStream(path, { end: MAX_ORG_FILE_BYTES }),
      async function* (chunks: AsyncIterable<Buffer>) {
        for await (const chunk of chunks) {
          hash.update(chunk);
          yield chunk;
        }
      },
      createWriteStream(to, { mode: 0o600 }),
    );
  } catch (error) {
    // Opening the file again throws an error that says what is wrong.
    if (isErrno(error, 'ENOENT', 'EACCES', 'EPERM')) await (await openPackage(path, file)).close();
    throw error;
  }
  return hash.digest('hex');
}

/** Which tables and cells of a template were filled. @param tables in the order of the bindings */
function describeFilled(
  { name, sha256 }: { readonly name: string; readonly sha256: string },
  bindings: TemplateBindings,
  tables: readonly TableFill[],
  map: ReferenceMap,
): FilledWorkbook {
  return {
    template: name,
    sha256,
    tables: bindings.tables.map(({ table, section, columns }, index) => ({
      name: table.name,
      sheet: table.sheet,
      range: formatRange(map.range(table.sheet, table.range, 'body')),
      section,
      rows: tables[index]?.length ?? 0,
      columns: table.columns.map(({ header }, column) => {
        const target = columns[column];
        return { header, bound: target ? `${section}.${columnText(target)}` : null };
      }),
    })),
    names: bindings.names.flatMap(({ name: { name: text, target } }) => {
      if (target === undefined) return [];
      const { sheet, range } = target;
      return [{ name: text, cell: `${quoteSheetName(sheet)}!${formatCell(map.cell(sheet, range.from))}` }];
    }),
  };
}

const WORKBOOK_TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml';
const MACRO_WORKBOOK_TYPE = 'application/vnd.ms-excel.sheet.macroEnabled.main+xml';

/**
 * The changes that turn a template (`.xltx`, `.xltm`) into a workbook, with or without macros.
 * @param macros `remove` leaves out the project, its signatures, and the ribbon's events and buttons that call it;
 *   shapes keep the names of macros, which then do nothing
 */
export async function changeWorkbookKind(
  pack: TemplatePackage,
  macros: 'keep' | 'remove',
): Promise<Map<string, PartChange>> {
  const changes = new Map<string, PartChange>();
  const workbook = await findWorkbookPart(pack);
  const projects = (await pack.relationships(workbook)).filter(
    (relationship) => relationshipKind(relationship) === 'vbaProject',
  );
  const withMacros = projects.length > 0 && macros === 'keep';
  if (projects.length > 0 && macros === 'remove') {
    for (const { target } of projects) {
      changes.set(target, null);
      // Removes signatures of the project, and its data for Word and Excel.
      for (const own of await pack.relationships(target)) if (!own.external) changes.set(own.target, null);
    }
    for (const relationship of await pack.relationships()) {
      if (relationshipKind(relationship) === 'extensibility' && !relationship.external)
        changes.set(relationship.target, null);
    }
  }
  const type = withMacros ? MACRO_WORKBOOK_TYPE : WORKBOOK_TYPE;
  if (pack.contentType(workbook) !== type) {
    const text = await pack.readText(CONTENT_TYPES_PART);
    changes.set(CONTENT_TYPES_PART, withContentType(text, workbook, type));
  }
  return changes;
}

/** The text of `[Content_Types].xml` with a changed type of one part. */
function withContentType(text: string, part: string, type: string): string {
  let changed = '';
  let found = false;
  for (const token of tokenizeXml(text, CONTENT_TYPES_PART)) {
    if (
      token.kind === 'open' &&
      token.local === 'Override' &&
      partKey(attributeOf(token, 'PartName') ?? '') === partKey(part)
    ) {
      changed += changeAttributes(token, { ContentType: type });
      found = true;
    } else if (token.kind === 'close' && token.local === 'Types' && !found) {
      const prefix = token.name.slice(0, -'Types'.length);
      changed += `<${prefix}Override PartName="/${escapeXmlAttribute(part)}" ContentType="${type}"/>${token.raw}`;
    } else changed += token.raw;
  }
  return changed;
}
