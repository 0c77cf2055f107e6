import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { TroubleName } from './troubles.ts';
import type { ArchiveKind } from './world.ts';

/** A defect that a change could bring, and the promise that it breaks. */
export interface Defect {
  readonly name: string;
  /** What of the build is otherwise: file under `dist`, text, and what stands there instead. */
  readonly edits: readonly (readonly [file: string, text: string, instead: string])[];
  /** The line of the table that must not be ok. */
  readonly breaks: string;
  /** The trouble that shows it; all there are when absent. */
  readonly only?: TroubleName;
  readonly archive?: ArchiveKind;
}

const UNWRITABLE_IS_FINAL = [
  'base/error.js',
  "'archive.unwritable': { exit: 1, retryable: true }",
  "'archive.unwritable': { exit: 1, retryable: false }",
] as const;

export const DEFECTS: readonly Defect[] = [
  {
    name: 'the ledger opens a delivery anew that it has on record',
    edits: [
      [
        'deliver/ledger/ledger-open-1.lua',
        'local state, epoch = ARGV[5], tonumber(ARGV[6])',
        "local state, epoch = 'pending', tonumber(redis.call('HGET', rows, id .. ':epoch') or '0')",
      ],
      ['deliver/ledger/ledger-open-1.lua', 'if superseded then', 'if true then'],
    ],
    breaks: 'sent twice',
  },
  {
    name: 'a delivery that was interrupted is tried again',
    edits: [['deliver/attempt.js', "'unknown', INTERRUPTED", "'pending', INTERRUPTED"]],
    breaks: 'sent twice',
  },
  {
    name: 'a token is given back when its call leaves, not when it is answered',
    edits: [
      ['fetch/rate-limit/budget-8.lua', 'latest + hold + window + 1, token', 'latest + window + 1, token'],
      [
        'fetch/rate-limit/budget-8.lua',
        "redis.call('ZADD', held, latest + window + 1, ARGV[15])",
        "redis.call('PING')",
      ],
    ],
    breaks: 'windows over the budget at the server',
  },
  {
    name: 'one organization is given the answer to another one’s question',
    edits: [
      [
        'fetch/cache/response-cache.js',
        'canonicalJson([by.tenant, by.service, by.key, by.registryVersion, org, request])',
        'canonicalJson([request])',
      ],
    ],
    breaks: 'figures that are not the service’s',
  },
  {
    name: 'the budget goes by the wall clock of Redis',
    edits: [
      [
        'fetch/rate-limit/budget-8.lua',
        'local now = math.max(last, math.min(reached, proven))',
        'local now = math.max(last, reached)',
      ],
    ],
    breaks: 'windows over the budget at the server',
    only: 'redis clock',
  },
  {
    name: 'a disk that is full for a moment fails the run',
    edits: [UNWRITABLE_IS_FINAL],
    breaks: 'runs failed by what passes',
    only: 'disk',
  },
  {
    name: 'the archive is written without a look at its marker',
    edits: [
      [
        'deliver/archive/storage/marker-check.js',
        "throw new DocketError('archive.marker_missing'",
        "return void new DocketError('archive.marker_missing'",
      ],
    ],
    breaks: 'files written where the archive was not mounted',
    only: 'unmounted',
  },
  {
    name: 'what a peer repeats is kept as it is',
    edits: [
      ['base/secrets/redactor.js', 'return shapes ? redactCredentialShapes(redacted) : redacted;', 'return text;'],
    ],
    breaks: 'secrets in logs, Redis, the archive or what was sent',
    only: 'echo',
  },
  {
    name: 'a second deployment starts on the Redis of the first',
    edits: [
      ['services/deployment/deployment-identity.js', 'throw conflictError(ports, known, marker);', 'return known.id;'],
      [
        'queue/definitions/mass-removal.js',
        "throw new DocketError('deployment.mass_removal'",
        "return void new DocketError('deployment.mass_removal'",
      ],
    ],
    breaks: 'second deployments that were let in',
    only: 'second deployment',
  },
  {
    name: 'a job that is in no list counts as waiting',
    edits: [['queue/jobs/is-orphaned.lua', '  return true\nend', '  return false\nend']],
    breaks: 'runs that have not ended',
    only: 'jobs lost',
  },
  {
    name: 'a message whose reply was lost is sent again',
    edits: [
      [
        'deliver/targets/email/smtp/smtp-replies.js',
        "return { kind: 'unknown', why:",
        "return { kind: 'deferred', server: false, response:",
      ],
    ],
    breaks: 'sent twice',
    only: 'replies lost',
  },
  {
    name: 'an archive that cannot be written for a moment fails the run',
    edits: [UNWRITABLE_IS_FINAL],
    breaks: 'runs failed by what passes',
    only: 'store',
    archive: 's3',
  },
];

/** A copy of the build with this defect; its packages are found from where it stands. */
export async function brokenBuild({ edits }: Defect): Promise<{ readonly main: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(resolve('node_modules/.docket-broken-'));
  for (const name of ['dist', 'templates', 'package.json']) await cp(name, join(folder, name), { recursive: true });
  for (const [file, text, instead] of edits) {
    const path = join(folder, 'dist', file);
    const found = await readFile(path, 'utf8');
    if (!found.includes(text)) throw new Error(`dist/${file} no longer holds "${text}"`);
    await writeFile(
      path,
      found.replace(text, () => instead),
    );
  }
  return { main: join(folder, 'dist', 'main.js'), remove: () => rm(folder, { recursive: true, force: true }) };
}
