import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkPackTemplates } from '../../../../src/render/formats/pdf/check-templates.ts';

/** The templates of 0.2.0. Some deployments have copies of single files. */
const EARLIER = 'test/recorded/pack-templates/0.2.0';
const FILES = ['pack', 'comments', 'tables', 'charts', 'style'];
/** One file of 0.2.0, all but one, or all. Each file meets every other file in both versions. */
const MIXES = [...FILES.map((file) => [file]), ...FILES.map((file) => FILES.filter((each) => each !== file)), FILES];

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docket-earlier-templates-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test.each(MIXES.map((files) => [files.join(', '), files] as const))(
  'a PDF is made with %s of 0.2.0 and the current version of the other templates',
  async (name, files) => {
    const pack = join(folder, name, 'pack');
    await mkdir(pack, { recursive: true });
    for (const file of files) await cp(join(EARLIER, `${file}.typ`), join(pack, `${file}.typ`));
    expect(await checkPackTemplates(join(folder, name))).toEqual([]);
  },
);
