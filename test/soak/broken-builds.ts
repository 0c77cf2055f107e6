import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { ProbedLine } from './broken-lines.ts';
import type { OnlyFaults } from './chaos.ts';
import type { ArchiveKind } from './deployment.ts';

const run = promisify(execFile);

/** A defect that a change could introduce. */
export interface Defect {
  readonly name: string;
  /** File under `src`, a text in it, and its replacement. */
  readonly edits: readonly (readonly [file: string, text: string, instead: string])[];
  /** The line of the soak's table that must fail. */
  readonly breaks: ProbedLine;
}

/** A build with defects that break different lines, so that one soak detects all of them. */
export interface BrokenBuild {
  readonly defects: readonly Defect[];
  /**
   * The faults that reveal the defects; all faults when absent. The defects of a build need different ones, so that
   * they overlap.
   */
  readonly only?: OnlyFaults;
  readonly archive?: ArchiveKind;
}

/** Stores prepared answers by run and metrics, whatever days and filters the call was for. */
const PREPARED_BY_METRICS = (
  [
    ['fetch/fetch-report.ts', 'getPrepared'],
    ['services/preparations/prepare-slot.ts', 'findPrepared'],
    ['services/preparations/prepare-slot.ts', 'putPrepared'],
  ] as const
).map(
  ([file, store]) =>
    [file, `${store}(responses, run, call.id,`, `${store}(responses, run, call.request.metrics.join(),`] as const,
);

const UNWRITABLE_IS_FINAL = [
  'base/error.ts',
  "'archive.unwritable': { exit: 1, retryable: true }",
  "'archive.unwritable': { exit: 1, retryable: false }",
] as const;

/**
 * The builds that `test/e2e/soak.test.ts` runs, slowest first: kills at the right moment, runs that never end, and a
 * process that has half a minute to refuse.
 */
export const BROKEN_BUILDS: readonly BrokenBuild[] = [
  {
    only: 'processes',
    defects: [
      {
        name: 'a delivery that was interrupted is tried again',
        edits: [['deliver/attempt.ts', "'unknown', INTERRUPTED", "'pending', INTERRUPTED"]],
        breaks: 'sent twice',
      },
    ],
  },
  {
    only: 'processes',
    defects: [
      {
        name: 'slices are swapped: a desk gets the figures of another one',
        edits: [
          [
            'fetch/split/fetch-split.ts',
            'buildResult(call, answers, plan, value)',
            'buildResult(call, answers, plan, [...valuesWithRows(answers)].find((other) => other !== value) ?? value)',
          ],
        ],
        breaks: 'figures that differ from the service',
      },
      {
        name: 'a desk is sent the pack of another one',
        edits: [
          [
            'deliver/deliver-packs.ts',
            'definition: deskDefinition(definition, pack),',
            'definition: deskDefinition(definition, packs[(packs.indexOf(pack) + 1) % packs.length] ?? pack),',
          ],
        ],
        breaks: 'received by the wrong desk',
      },
    ],
  },
  {
    archive: 's3',
    only: ['store', 'jobs lost'],
    defects: [
      {
        name: 'a run uses an answer that was prepared for another slot',
        edits: [
          ...PREPARED_BY_METRICS,
          ['services/preparations/prepare-slot.ts', '    at: slot,', '    at: slot - 2 * 24 * HOUR_MS,'],
        ],
        breaks: 'figures that differ from the service',
      },
      {
        name: 'a job that is in no list counts as waiting',
        edits: [['queue/jobs/is-orphaned.lua', '  return true\nend', '  return false\nend']],
        breaks: 'unfinished runs',
      },
      {
        name: 'an archive that cannot be written for a moment fails the run',
        edits: [UNWRITABLE_IS_FINAL],
        breaks: 'runs failed by a transient error',
      },
    ],
  },
  {
    // The second deployment’s definitions replace those of the first, so that no other defect would be found in this
    // build.
    only: ['second deployment'],
    defects: [
      {
        name: 'a second deployment starts on the Redis of the first',
        edits: [
          [
            'services/deployment/deployment-identity.ts',
            'throw conflictError(ports, known, marker);',
            'return known.id;',
          ],
          [
            'queue/definitions/mass-removal.ts',
            "throw new DocketError(\n    'deployment.mass_removal'",
            "return void new DocketError(\n    'deployment.mass_removal'",
          ],
        ],
        breaks: 'second deployments that started',
      },
    ],
  },
  {
    only: ['replies lost', 'echo', 'unmounted'],
    defects: [
      {
        name: 'calls before a slot wait in front of the calls of runs',
        edits: [
          [
            'fetch/rate-limit/redis-budget.ts',
            "preparation: { operation: 'prepare', prefix: 'prep!' }",
            "preparation: { operation: 'acquire', prefix: 'prep!' }",
          ],
          [
            'fetch/rate-limit/redis-budget.ts',
            'isSpareClass(priority) ? PRIORITIES.length',
            'isSpareClass(priority) ? 0',
          ],
          ['services/preparations/prepare-slot.ts', 'maxWaitMs: 0', 'maxWaitMs: 5_000'],
        ],
        breaks: 'calls before a slot that passed waiting calls of runs',
      },
      {
        name: 'a message whose reply was lost is sent again',
        edits: [
          [
            'deliver/targets/email/smtp/smtp-replies.ts',
            "return { kind: 'unknown', why:",
            "return { kind: 'deferred', server: false, response:",
          ],
        ],
        breaks: 'sent twice',
      },
      {
        name: 'what a peer repeats is kept as it is',
        edits: [
          ['base/secrets/redactor.ts', 'return shapes ? redactCredentialShapes(redacted) : redacted;', 'return text;'],
        ],
        breaks: 'secrets in logs, Redis, the archive or deliveries',
      },
      {
        name: 'the archive is written without a look at its marker',
        edits: [
          [
            'deliver/archive/storage/marker-check.ts',
            "throw new DocketError(\n      'archive.marker_missing'",
            "return void new DocketError(\n      'archive.marker_missing'",
          ],
        ],
        breaks: 'files written to the unmounted archive folder',
      },
    ],
  },
  {
    only: 'processes',
    defects: [
      {
        name: 'the ledger opens a delivery anew that it has on record',
        edits: [
          [
            'deliver/ledger/ledger-open-3.lua',
            'local state, epoch = ARGV[5], tonumber(ARGV[6])',
            "local state, epoch = 'pending', tonumber(redis.call('HGET', rows, id .. ':epoch') or '0')",
          ],
          ['deliver/ledger/ledger-open-3.lua', 'if takes then', 'if true then'],
        ],
        breaks: 'sent twice',
      },
      {
        name: 'one organization is given the answer to another one’s question',
        edits: [
          [
            'fetch/cache/response-cache.ts',
            'canonicalJson([by.tenant, by.service, by.key, by.registryVersion, org, request])',
            'canonicalJson([request])',
          ],
        ],
        breaks: 'figures that differ from the service',
      },
    ],
  },
  {
    // On a busy machine, few calls would be made before their slot beside all other faults.
    only: ['latency', 'definitions'],
    defects: [
      {
        name: 'a run uses an answer that was prepared for another definition',
        edits: PREPARED_BY_METRICS,
        breaks: 'figures that differ from the service',
      },
      {
        name: 'a key that is refused before a slot pauses its organization',
        edits: [
          [
            'compose/preparations.ts',
            'index: redisPreparationIndex(redis, { prefix }),',
            `index: {
      ...redisPreparationIndex(redis, { prefix }),
      reportRefusal: async (key) => {
        for (const org of parts.orgs().keys())
          if ((await parts.keyOf(org)) === key)
            await parts.pauses.put({ org, who: 'docket', why: 'refused', since: clock.now(), key, run: 'prepared', report: null });
        return true;
      },
    },`,
          ],
        ],
        breaks: 'organizations paused',
      },
      {
        name: 'a token is given back when its call leaves, not when it is answered',
        edits: [
          ['fetch/rate-limit/budget-10.lua', 'latest + forMs + window + 1', 'latest + window + 1'],
          [
            'fetch/rate-limit/budget-10.lua',
            "redis.call('ZADD', held, 'XX', 'LT', release, token)",
            "redis.call('PING')",
          ],
        ],
        breaks: 'rate-limit windows exceeded at the server',
      },
    ],
  },
  {
    only: ['redis clock', 'disk'],
    defects: [
      {
        name: 'the budget goes by the wall clock of Redis',
        edits: [
          [
            'fetch/rate-limit/budget-10.lua',
            'local now = math.max(last, math.min(wallTime, provenTime))',
            'local now = math.max(last, wallTime)',
          ],
        ],
        breaks: 'rate-limit windows exceeded at the server',
      },
      {
        name: 'a disk that is full for a moment fails the run',
        edits: [UNWRITABLE_IS_FINAL],
        breaks: 'runs failed by a transient error',
      },
    ],
  },
];

/** Builds the sources with these defects. The build finds its packages from its folder. */
export async function brokenBuild({
  defects,
}: BrokenBuild): Promise<{ readonly main: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(resolve('node_modules/.docket-broken-'));
  for (const name of ['src', 'templates', 'package.json']) await cp(name, join(folder, name), { recursive: true });
  for (const [file, text, instead] of defects.flatMap(({ edits }) => edits)) {
    const path = join(folder, 'src', file);
    const found = await readFile(path, 'utf8');
    if (!found.includes(text)) throw new Error(`src/${file} no longer holds "${text}"`);
    await writeFile(
      path,
      found.replace(text, () => instead),
    );
  }
  await run(process.execPath, ['build/bundle.mjs', folder]);
  return { main: join(folder, 'dist', 'main.js'), remove: () => rm(folder, { recursive: true, force: true }) };
}
