import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

/** Files with their imports. */
const FILES = {
  'src/base/clock.ts': '',
  'src/base/late.ts': "export * from '../plan/plan.ts';",
  'src/plan/plan.ts': "import { parse } from 'undeclared/deep';\nimport './internal/split.ts';",
  'src/plan/internal/split.ts': "import 'luxon';",
  'src/plan/requests/merge.ts': "import type { Split } from '../internal/split.ts';",
  'src/services/calls.ts': "export const split = () => import('../plan/internal/split.ts');",
  'src/features/index.ts': "import './search/search.ts';",
  'src/compose/feature.ts': '',
  'src/features/search/search.ts':
    "import '../../compose/feature.ts';\nimport '../accounts/accounts.ts';\nimport '../../compose/worker.ts';",
  'src/features/accounts/accounts.ts': '',
  'src/services/search.ts': "import '../features/search/search.ts';",
  'src/compose/worker.ts': "import '../features/index.ts';\nimport '../features/search/search.ts';",
  'src/cli/search.ts': "import '../features/search/search.ts';",
  'src/cli/now.ts': 'export const now = Date.now();',
  'test/plan/requests/merge.test.ts': "import '../../../src/plan/internal/split.ts';",
  'test/services/calls.test.ts': "import '../../src/plan/internal/split.ts';",
  'test/features/search/search.test.ts': "import '../../../src/features/search/search.ts';",
  'package.json': JSON.stringify({ dependencies: { luxon: '3', unused: '1' } }),
};

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docket-layers-'));
  for (const [path, text] of Object.entries(FILES)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test('lint reports exactly the imports that layers, internal/, features and package.json forbid', () => {
  const { status, stderr } = spawnSync(process.execPath, ['build/layers.mjs', folder], { encoding: 'utf8' });
  expect(status).toBe(1);
  expect(
    stderr
      .trim()
      .split('\n')
      .map((line) => line.replace(/(: imports \S+),.*|( may import ).*/, '$1$2').trim())
      .sort(),
  ).toEqual([
    'package.json: nothing in src/ uses the dependency unused.',
    'src/base/late.ts:1: imports src/plan/plan.ts',
    'src/cli/now.ts:1: only src/base/ may read the wall clock; take a Clock.',
    'src/cli/search.ts:1: only src/features/index.ts and its tests may import',
    'src/compose/worker.ts:2: imports src/features/search/search.ts',
    'src/compose/worker.ts:2: only src/features/index.ts and its tests may import',
    'src/features/search/search.ts:2: only src/features/index.ts and its tests may import',
    'src/features/search/search.ts:3: imports src/compose/worker.ts',
    'src/plan/plan.ts:1: undeclared is not in the dependencies of package.json.',
    'src/services/calls.ts:1: only src/plan/ and its tests may import',
    'src/services/search.ts:1: imports src/features/search/search.ts',
    'src/services/search.ts:1: only src/features/index.ts and its tests may import',
    'test/services/calls.test.ts:1: only src/plan/ and its tests may import',
  ]);
});
