import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { z } from 'zod';
import { createSbom } from '../../build/sbom.mjs';

const sbomSchema = z.object({
  components: z.array(z.object({ group: z.string().optional(), name: z.string(), version: z.string() })),
});

test('the SBOM lists every package whose code is in dist/', async () => {
  const { components } = sbomSchema.parse(JSON.parse(createSbom()));
  const listed = new Set(
    components.map(({ group, name, version }) => `${group === undefined ? '' : `${group}/`}${name} ${version}`),
  );
  // The heading of each license names the packages with that license. The licenses themselves have headings, too.
  const text = await readFile(join(dirname(inject('main')), 'LICENSES.md'), 'utf8');
  const licenses = text.replace(/^````\n[\s\S]*?^````$/gm, '');
  const bundled = [...licenses.matchAll(/^## (.*)$/gm)].flatMap(([, names = '']) => names.split(', '));
  expect(bundled.length).toBeGreaterThan(100);
  expect(bundled.filter((name) => !listed.has(name))).toEqual([]);
});
