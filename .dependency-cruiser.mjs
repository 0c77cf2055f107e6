// Which folder of src/ may import which: `npm run lint` fails on any other import, type-only ones included.
// An entry without a folder's name behind it is the whole folder; a path is this file alone.
const LAYERS = {
  base: [],
  redis: ['base'],
  contract: ['base'],
  i18n: ['contract', 'base'],
  definitions: ['i18n', 'contract', 'base'],
  plan: ['definitions', 'contract', 'base'],
  fetch: ['plan', 'definitions', 'i18n', 'contract', 'redis', 'base'],
  render: ['fetch/dataset.ts', 'fetch/rows.ts', 'plan', 'definitions', 'i18n', 'contract', 'base'],
  deliver: ['render/artifact.ts', 'fetch/dataset.ts', 'plan', 'definitions', 'redis', 'base'],
  run: ['deliver', 'render', 'fetch', 'plan', 'definitions', 'contract', 'base'],
  queue: ['run', 'deliver/ledger/ledger.ts', 'fetch/rate-limit/budget.ts', 'definitions', 'redis', 'base'],
  services: ['queue', 'run', 'deliver', 'render', 'fetch', 'plan', 'definitions', 'i18n', 'contract', 'redis', 'base'],
  admin: ['services', 'queue', 'run', 'fetch/rate-limit/budget.ts', 'definitions', 'redis', 'base'],
  sandbox: ['contract', 'base'],
  demo: ['sandbox', 'redis', 'base'],
};

const of = (names) =>
  `^src/(${names.map((name) => (name.includes('.') ? `${name.replaceAll('.', '\\.')}$` : `${name}/`)).join('|')})`;

export default {
  forbidden: [
    ...Object.entries(LAYERS).map(([folder, allowed]) => ({
      name: `${folder}-imports`,
      comment: `src/${folder}/ may import ${allowed.length === 0 ? 'no other folder' : `only ${allowed.join(', ')}`}.`,
      severity: 'error',
      from: { path: of([folder]) },
      to: { path: '^src/', pathNot: of([folder, ...allowed]) },
    })),
    {
      name: 'compose-imports',
      comment: 'src/compose/ builds the parts; the command line uses it, not the other way round.',
      severity: 'error',
      from: { path: of(['compose']) },
      to: { path: of(['cli', 'main.ts']) },
    },
    {
      name: 'only-queue-imports-bullmq',
      comment: 'Only src/queue/ talks to BullMQ.',
      severity: 'error',
      from: { path: '^src/', pathNot: of(['queue']) },
      to: { path: '^node_modules/bullmq/' },
    },
    {
      name: 'no-cycles',
      comment: 'Files that import each other cannot be read one after the other.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
  ],
  options: { doNotFollow: { path: 'node_modules' }, tsPreCompilationDeps: true, parser: 'swc' },
};
