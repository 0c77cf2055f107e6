import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DEMO_REVIEW, type DemoPacks, openDemoPacks } from './support/demo-packs.ts';
import {
  definitionHashes,
  IMAGES_FOLDER,
  type ImageSources,
  imageContents,
  type Packs,
  readSources,
  SOURCES_FILE,
  sha256,
} from './support/docs-images/image-sources.ts';

/** Set by `REDRAW_DOCS_IMAGES=1 npm run test:integration -- test/docs-images`: draws the pictures again. */
const REDRAW = process.env.REDRAW_DOCS_IMAGES === '1';
/** README and docs/ load with their pages: together no more than this, bytes. */
const MAX_BYTES = 1_000_000;

let folder: string;
let demo: DemoPacks;
let packs: Packs;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docket-images-'));
  demo = await openDemoPacks(folder);
  packs = {
    'weekly-kpi': await demo.run('weekly-kpi', 'weekly'),
    'board-pack': await demo.run('board-pack', 'board', {}, DEMO_REVIEW),
    'board-book': await demo.run('board-book', 'book'),
  };
});
afterAll(async () => {
  await demo?.close();
  await rm(folder, { recursive: true, force: true });
});

async function currentContents(): Promise<Readonly<Record<string, Omit<ImageSources['images'][string], 'file'>>>> {
  const contents = await imageContents(packs);
  return Object.fromEntries(
    Object.entries(contents).map(([name, { shows, content }]) => [name, { shows, content: sha256(content) }]),
  );
}

async function redraw(): Promise<void> {
  // Chromium and LibreOffice are needed for this alone.
  const { drawImages, writeImages } = await import('./support/docs-images/draw-images.ts');
  const images = await drawImages(packs, join(folder, 'drawn'));
  await writeImages(IMAGES_FOLDER, images);
  const contents = await currentContents();
  const sources: ImageSources = {
    definitions: await definitionHashes(),
    images: Object.fromEntries(
      Object.entries(images).map(([name, bytes]) => {
        const content = contents[name];
        if (content === undefined) throw new Error(`nobody says what ${name} shows`);
        return [name, { ...content, file: sha256(bytes) }];
      }),
    ),
  };
  await writeFile(SOURCES_FILE, `${JSON.stringify(sources, null, 2)}\n`);
}

test.runIf(REDRAW)('draws the pictures', redraw);

test('the pictures were drawn from the current definitions and pages', async () => {
  // After a change: REDRAW_DOCS_IMAGES=1 npm run test:integration -- test/docs-images
  const { definitions, images } = await readSources();
  expect(definitions).toEqual(await definitionHashes());
  const drawn = Object.entries(images).map(([name, { shows, content }]) => [name, { shows, content }]);
  expect(Object.fromEntries(drawn)).toEqual(await currentContents());
});

test('each picture is the one that was drawn, is small, and is on a page', async () => {
  const { images } = await readSources();
  const files = (await readdir(IMAGES_FOLDER)).filter((name) => name.endsWith('.png')).sort();
  expect(files).toEqual(Object.keys(images).sort());
  const bytes = await Promise.all(files.map((name) => readFile(join(IMAGES_FOLDER, name))));
  expect(files.map((name, index) => [name, sha256(bytes[index] ?? '')])).toEqual(
    files.map((name) => [name, images[name]?.file]),
  );
  expect(bytes.reduce((sum, { length }) => sum + length, 0)).toBeLessThan(MAX_BYTES);
  const docs = (await readdir('docs', { recursive: true })).filter((name) => name.endsWith('.md'));
  const pages = await Promise.all(
    ['README.md', ...docs.map((name) => join('docs', name))].map((path) => readFile(path, 'utf8')),
  );
  for (const name of files)
    expect(
      pages.some((page) => page.includes(`images/${name})`)),
      name,
    ).toBe(true);
});

test('the content of a picture is the same each time', async () => {
  const before = await imageContents(packs);
  const again = { ...packs, 'weekly-kpi': await demo.run('weekly-kpi', 'weekly-again') };
  expect(await imageContents(again)).toEqual(before);
});
