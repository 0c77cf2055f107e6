import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unzipSync } from 'fflate';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { inlineImages } from '../src/render/artifact.ts';
import { createTestAdmin } from './support/admin.ts';
import { type DemoPacks, openDemoPacks } from './support/demo-packs.ts';

// Output that must not change while code moves. `vitest -u` records it again: commit that separately, and say why.
// Help, texts and reference have snapshots in `test/wording/` and `docs/reference/`. `test/recorded/0.2.0/` has what
// 0.2.0 stored.

const sha256 = (bytes: string | Uint8Array) => createHash('sha256').update(bytes).digest('hex');

test('/openapi.json is the recorded one', async () => {
  const document = await (await createTestAdmin([]).request('/openapi.json')).json();
  await expect(`${JSON.stringify(document, null, 1)}\n`).toMatchFileSnapshot('recorded/goldens/openapi.json');
});

describe('the files of the demo', () => {
  let folder: string;
  let packs: DemoPacks;
  beforeAll(async () => {
    folder = process.env.GOLDENS_FOLDER ?? (await mkdtemp(join(tmpdir(), 'docket-goldens-')));
    packs = await openDemoPacks(folder);
  });
  afterAll(async () => {
    await packs?.close();
    if (process.env.GOLDENS_FOLDER === undefined) await rm(folder, { recursive: true, force: true });
  });

  // To look at a difference: GOLDENS_FOLDER=somewhere keeps the files.
  test.each(['weekly-kpi', 'board-pack', 'board-book'] as const)('of %s have the recorded bytes', async (report) => {
    const { artifacts, mail } = await packs.run(report, report);
    const lines: string[] = [];
    for (const { name, path } of artifacts) {
      const content = await readFile(path);
      // Another zlib compresses the same parts to other bytes.
      const parts = name.endsWith('.xlsx') ? Object.entries(unzipSync(content)) : [];
      if (parts.length === 0) lines.push(`${sha256(content)}  ${name}`);
      for (const [part, bytes] of parts) lines.push(`${sha256(bytes)}  ${name}/${part}`);
    }
    for (const [index, body] of [mail, ...(mail.others ?? [])].entries()) {
      lines.push(
        `${sha256(inlineImages(body))}  mail ${index + 1}.html`,
        `${sha256(body.text)}  mail ${index + 1}.txt`,
      );
    }
    await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(`recorded/goldens/${report}.sha256`);
  });
});
