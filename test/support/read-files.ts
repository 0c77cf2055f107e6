import { readFileSync } from 'node:fs';
import { type CellObject, CFB, read, utils, type WorkBook } from '@e965/xlsx';

/** Reads a workbook with another program: SheetJS, which did not write it. */
export const readWorkbook = (path: string): WorkBook =>
  read(readFileSync(path), { cellNF: true, cellStyles: true, cellDates: false });

/** All cells of a sheet by row and column, from 0; missing cells are undefined. */
export function cellsOf(book: WorkBook, sheet: string): (CellObject | undefined)[][] {
  const page = book.Sheets[sheet];
  if (page?.['!ref'] === undefined) throw new Error(`no sheet "${sheet}" in ${book.SheetNames.join(', ')}`);
  const range = utils.decode_range(page['!ref']);
  return Array.from({ length: range.e.r + 1 }, (_, r) =>
    Array.from({ length: range.e.c + 1 }, (_, c): CellObject | undefined => page[utils.encode_cell({ r, c })]),
  );
}

/** The parts of a workbook's zip: their paths and texts. */
export function readParts(path: string): Map<string, string> {
  const { FullPaths, FileIndex }: { FullPaths: string[]; FileIndex: { content?: Uint8Array }[] } = CFB.read(
    readFileSync(path),
    { type: 'buffer' },
  );
  return new Map(
    FullPaths.map((name, index) => [
      name.replace(/^Root Entry\//, ''),
      Buffer.from(FileIndex[index]?.content ?? []).toString('utf8'),
    ]),
  );
}

/** The tables of a workbook in the order of their ids, read from its parts, because SheetJS does not read them. */
export function tablesOf(path: string) {
  const parts = readParts(path);
  const tables = [...parts].filter(([name]) => name.startsWith('xl/tables/table'));
  return tables
    .map(([, xml]) => {
      const of = (pattern: RegExp): string | undefined => pattern.exec(xml)?.[1];
      return {
        id: Number(of(/<table [^>]*\bid="(\d+)"/)),
        name: of(/displayName="([^"]*)"/),
        range: of(/<table [^>]*\bref="([^"]*)"/),
        filter: of(/<autoFilter ref="([^"]*)"/),
        columns: [...xml.matchAll(/<tableColumn id="\d+" name="([^"]*)"/g)].map(([, name = '']) =>
          name
            .replaceAll('_x000a_', '\n')
            .replaceAll('_x005F_', '_')
            .replaceAll('&lt;', '<')
            .replaceAll('&gt;', '>')
            .replaceAll('&quot;', '"')
            .replaceAll('&amp;', '&'),
        ),
      };
    })
    .sort((one, other) => one.id - other.id);
}

/** A table of a sheet with the cells below it, limited to its columns. */
export interface SheetTable {
  /** The row of its header, from 0. */
  readonly start: number;
  readonly headers: readonly string[];
  readonly rows: readonly (readonly (CellObject | undefined)[])[];
  /** The cells below the rows: totals and notes. */
  readonly below: readonly (readonly (CellObject | undefined)[])[];
}

const targetOf = (rels: string | undefined, wanted: RegExp): string | undefined => {
  const [relation] = (rels?.match(/<Relationship [^>]*>/g) ?? []).filter((each) => wanted.test(each));
  return /Target="([^"]*)"/.exec(relation ?? '')?.[1]?.replace(/^(?:\/xl\/|\.\.\/)/, '');
};

/** The single Excel table of a sheet, at the place that its part names. The headers of part and cells must agree. */
export function tableOn(path: string, sheet: string): SheetTable {
  const parts = readParts(path);
  const xmlName = sheet
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
  const entry = (parts.get('xl/workbook.xml')?.match(/<sheet [^>]*>/g) ?? []).find((each) =>
    each.includes(`name="${xmlName}"`),
  );
  const id = /r:id="(\w+)"/.exec(entry ?? '')?.[1];
  const page = targetOf(parts.get('xl/_rels/workbook.xml.rels'), new RegExp(`Id="${id}"`));
  const part = targetOf(
    parts.get(`xl/${page?.replace('worksheets/', 'worksheets/_rels/')}.rels`),
    /Type="[^"]*\/relationships\/table"/,
  );
  const ref = /<table [^>]*\bref="([^"]*)"/.exec(parts.get(`xl/${part}`) ?? '')?.[1];
  if (ref === undefined) throw new Error(`no table on sheet "${sheet}"`);
  const { s, e } = utils.decode_range(ref);
  const lines = cellsOf(readWorkbook(path), sheet).map((line) => line.slice(s.c, e.c + 1));
  return {
    start: s.r,
    headers: (lines[s.r] ?? []).map((cell) => String(cell?.v ?? '')),
    rows: lines.slice(s.r + 1, e.r + 1),
    below: lines.slice(e.r + 1),
  };
}

/** The fields of a CSV file as texts, without interpretation. */
export function readCsv(path: string): string[][] {
  const text = readFileSync(path, 'utf8').replace(/^\ufeff/, '');
  const fields: string[][] = [[]];
  let field = '';
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (quoted) {
      if (character !== '"') field += character;
      else if (text[at + 1] === '"') {
        field += '"';
        at += 1;
      } else quoted = false;
    } else if (character === '"') quoted = true;
    else if (character === ',') {
      fields.at(-1)?.push(field);
      field = '';
    } else if (character === '\r' && text[at + 1] === '\n') {
      fields.at(-1)?.push(field);
      fields.push([]);
      field = '';
      at += 1;
    } else field += character;
  }
  fields.pop();
  return fields;
}

/** The tables of an HTML text as rows of cell texts, with entities decoded. */
export function readHtmlTables(html: string): string[][][] {
  const text = (part: string) =>
    part
      .replace(/<[^>]*>/g, '')
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&#34;', '"')
      .replaceAll('&#39;', "'")
      .replaceAll('&amp;', '&');
  return [...html.matchAll(/<table class="data"[^>]*>(.*?)<\/table>/gs)].map(([, table = '']) =>
    [...table.matchAll(/<tr[^>]*>(.*?)<\/tr>/gs)].map(([, row = '']) =>
      [...row.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/gs)].map(([, cell = '']) => text(cell)),
    ),
  );
}
