import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { z } from 'zod';
import { program } from './debian.ts';
import { cellsOf, readWorkbook } from './read-files.ts';

const run = promisify(execFile);

// Reads the tables of a pack with programs that did not write them.

/** A number in a spreadsheet, or the visible text. */
export type ReadCell = number | string;

export interface ReadTable {
  /** The texts of its headings. For a sheet: its first text and its name. */
  readonly headings: readonly string[];
  readonly rows: readonly (readonly ReadCell[])[];
}

/** The sheets of a workbook, read by SheetJS, without empty cells. */
export function sheetTables(path: string): ReadTable[] {
  const book = readWorkbook(path);
  return book.SheetNames.map((name) => {
    const rows = cellsOf(book, name).map((row) =>
      row.flatMap((cell): ReadCell[] => (typeof cell?.v === 'number' || typeof cell?.v === 'string' ? [cell.v] : [])),
    );
    return { headings: [name, ...rows.slice(0, 2).flatMap((row) => row.map(String))], rows };
  });
}

/** An element of a tagged PDF. */
interface Tag {
  readonly type: string;
  readonly children: Tag[];
  text: string;
}

/** The structure of a tagged PDF with its texts in reading order, read by poppler. */
async function structureOf(pdf: string): Promise<Tag> {
  const { stdout } = await run(await program('pdfinfo', 'poppler-utils'), ['-struct-text', pdf], {
    maxBuffer: 256 * 1024 * 1024,
  });
  const root: Tag = { type: 'root', children: [], text: '' };
  const open: { readonly indent: number; readonly tag: Tag }[] = [{ indent: -1, tag: root }];
  for (const line of stdout.split('\n')) {
    const indent = line.search(/\S/);
    if (indent < 0) continue;
    while ((open.at(-1)?.indent ?? -1) >= indent) open.pop();
    const parent = open.at(-1)?.tag ?? root;
    const [, text] = /^\s*"(.*)"\s*$/.exec(line) ?? [];
    if (text !== undefined) {
      parent.text += text;
      continue;
    }
    const [, type] = /^\s*(\w+)/.exec(line) ?? [];
    // Skip attributes of the tag before.
    if (type === undefined) continue;
    const tag: Tag = { type, children: [], text: '' };
    parent.children.push(tag);
    open.push({ indent, tag });
  }
  return root;
}

const textOf = ({ text, children }: Tag): string =>
  [text, ...children.map(textOf)].join(' ').replace(/\s+/g, ' ').trim();
const within = (tag: Tag, type: string): Tag[] =>
  tag.children.flatMap((child) => (child.type === type ? [child] : within(child, type)));

/** The tables of a tagged PDF, each with the heading before it. */
export async function pdfTables(pdf: string): Promise<ReadTable[]> {
  const tables: ReadTable[] = [];
  const headings: string[] = [];
  const visit = (tag: Tag): void => {
    const [, level] = /^H([1-6])$/.exec(tag.type) ?? [];
    if (level !== undefined) headings.splice(Number(level) - 1, headings.length, textOf(tag));
    else if (tag.type === 'Table') {
      const rows = within(tag, 'TR').map((row) =>
        row.children.filter(({ type }) => type === 'TH' || type === 'TD').map(textOf),
      );
      tables.push({ headings: headings.filter((heading) => heading !== undefined), rows });
    } else for (const child of tag.children) visit(child);
  };
  visit(await structureOf(pdf));
  return tables;
}

const tablesSchema = z.array(z.object({ headings: z.array(z.string()), rows: z.array(z.array(z.string())) }));

/** Runs in the browser. */
const READ_TABLES = `(() => {
  const headings = [];
  const tables = [];
  const text = (node) => node.innerText.replace(/\\s+/g, ' ').trim();
  for (const node of document.querySelectorAll('h1, h2, h3, h4, table')) {
    const level = /^H([1-4])$/.exec(node.tagName);
    if (level) headings.splice(Number(level[1]) - 1, headings.length, text(node));
    // Layout tables contain other tables.
    else if (!node.querySelector('table'))
      tables.push({
        headings: headings.filter((heading) => heading !== undefined),
        rows: [...node.rows].map((row) => [...row.cells].map(text)),
      });
  }
  return tables;
})()`;

/** The tables of an HTML e-mail as Chromium renders it, each with the heading before it. */
export async function mailTables(page: Page, html: string): Promise<ReadTable[]> {
  await page.setContent(html);
  return tablesSchema.parse(await page.evaluate(READ_TABLES));
}
