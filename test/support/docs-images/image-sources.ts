import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { utils } from '@e965/xlsx';
import { z } from 'zod';
import { inlineImages } from '../../../src/render/artifact.ts';
import { buildPack } from '../../../src/render/pack/build-pack.ts';
import type { DemoPack, DemoReport } from '../demo-packs.ts';
import { readWorkbook } from '../read-files.ts';
import { artifactNamed } from '../render-folder.ts';
import { adminPage, PAGE_URL, PAGES } from './admin-page.ts';

// Texts with everything that the pictures of README and docs/ show. docs/images/sources.json has their hashes.

export const IMAGES_FOLDER = 'docs/images';
export const SOURCES_FILE = join(IMAGES_FOLDER, 'sources.json');
const DEFINITIONS_FOLDER = 'jobs/demo';
const PDF_TEMPLATES = 'templates/pack';

export const sha256 = (content: string | Uint8Array): string => createHash('sha256').update(content).digest('hex');

/** An entry for a picture in the manifest. */
const imageSchema = z.strictObject({
  /** What the picture shows, for people. */
  shows: z.string(),
  /** The SHA-256 of the text of what it shows. */
  content: z.string(),
  /** The SHA-256 of the picture. */
  file: z.string(),
});
export const sourcesSchema = z.strictObject({
  /** The SHA-256 of each file of the demo, by path. */
  definitions: z.record(z.string(), z.string()),
  images: z.record(z.string(), imageSchema),
});
export type ImageSources = z.infer<typeof sourcesSchema>;

export const readSources = async (): Promise<ImageSources> =>
  sourcesSchema.parse(JSON.parse(await readFile(SOURCES_FILE, 'utf8')));

export async function definitionHashes(): Promise<ImageSources['definitions']> {
  const files = (await readdir(DEFINITIONS_FOLDER)).sort().map((file) => `${DEFINITIONS_FOLDER}/${file}`);
  return Object.fromEntries(await Promise.all(files.map(async (file) => [file, sha256(await readFile(file))])));
}

export type Packs = Readonly<Record<DemoReport, DemoPack>>;

export interface ImageContent {
  readonly shows: string;
  /** Everything that the picture shows, as text. */
  readonly content: string;
}

/** All sheets as people see their cells, including the figures of charts, but without the sheet about the run. */
function workbookText({ artifacts }: DemoPack): string {
  const { SheetNames, Sheets } = readWorkbook(artifactNamed(artifacts, '.xlsx').path);
  return SheetNames.filter((name) => name !== 'Run')
    .map((name) => `${name}\n${utils.sheet_to_csv(Sheets[name] ?? {})}`)
    .join('\n');
}

/** The input of the PDF's templates, and the templates. */
async function pdfText({ dataset, definition }: DemoPack): Promise<string> {
  const files = (await readdir(PDF_TEMPLATES)).sort();
  const templates = await Promise.all(files.map((file) => readFile(join(PDF_TEMPLATES, file), 'utf8')));
  return [JSON.stringify(buildPack(dataset, { locale: definition.locale })), ...templates].join('\n');
}

/** Removes sizes of files, which differ with the version of the compressor. */
const withoutSizes = (text: string): string => text.replace(/\d+(\.\d+)? (kB|KB|MB)/g, '0 kB');
const mailText = ({ mail }: DemoPack): string => withoutSizes(inlineImages(mail));

async function pageText(app: Awaited<ReturnType<typeof adminPage>>, path: string): Promise<string> {
  const response = await app.request(PAGE_URL + path);
  if (response.status !== 200) throw new Error(`${path} answers ${response.status}`);
  // Removes the random id of a form. The name of the style sheet has its hash.
  return withoutSizes(await response.text()).replace(/(name="trigger" value=")[^"]*/g, '$1');
}

/** The pictures by file name, each with what it shows now. */
export async function imageContents(packs: Packs): Promise<Readonly<Record<string, ImageContent>>> {
  const app = await adminPage(packs['weekly-kpi']);
  const weekly = mailText(packs['weekly-kpi']);
  return {
    'board-pack.png': {
      shows: 'pages of the workbook of demo/board-pack, printed',
      content: workbookText(packs['board-pack']),
    },
    'board-workbook.png': {
      shows: 'the template of demo/board-book beside the workbook that is made from it, printed',
      content: workbookText(packs['board-book']),
    },
    'board-pack-pdf.png': { shows: 'pages of the PDF of demo/board-pack', content: await pdfText(packs['board-pack']) },
    'board-mail.png': { shows: 'the e-mail of demo/board-pack', content: mailText(packs['board-pack']) },
    'weekly-kpi.png': { shows: 'the e-mail of demo/weekly-kpi', content: weekly },
    'page-overview.png': { shows: 'the overview of the page', content: await pageText(app, PAGES.overview) },
    'page-report.png': {
      shows: 'a report on the page, dark, with the e-mail of demo/weekly-kpi',
      content: `${await pageText(app, PAGES.report)}\n${weekly}`,
    },
  };
}
