import type { HeldPack } from '../admin/access.ts';
import { secretSource } from '../base/secret.ts';
import type { Desk } from '../compose/decisions.ts';
import { heldPack } from '../compose/held-pack.ts';
import { KEEP_DAYS } from '../compose/keep-days.ts';
import type { Surroundings } from '../compose/ports.ts';
import { loadJobs } from '../define/load.ts';
import type { OrgSettings } from '../define/org.ts';
import { redisLedger } from '../deliver/redis-ledger.ts';
import { definitionStore } from '../queue/definition-store.ts';
import { DEFAULT_PREFIX } from '../queue/keys.ts';
import type { RunRecord } from '../run/record.ts';

/** What somebody wants to know of a held run before it is released; undefined of any other, and without its files. */
export async function heldRun(
  run: RunRecord | undefined,
  { archive, redis }: Pick<Desk, 'archive' | 'redis'>,
  around: Surroundings,
): Promise<Omit<HeldPack, 'error'> | undefined> {
  if (run?.state !== 'held') return undefined;
  const settings = await settingsOf(run.org, around);
  return heldPack(run, {
    definitions: definitionStore(redis, { prefix: DEFAULT_PREFIX, keepDays: KEEP_DAYS }),
    archive,
    ledger: redisLedger(redis, { prefix: `${DEFAULT_PREFIX}:`, ttlDays: KEEP_DAYS }),
    secrets: secretSource(around.env, around),
    clock: around.clock,
    settingsNow: () => settings,
    workingDirectory: around.workingDirectory,
  });
}

/** Undefined where this machine does not have the definitions: those of the run's own day then count. */
const settingsOf = (org: string, { config }: Surroundings): Promise<OrgSettings | undefined> =>
  loadJobs(config.DOCKET_JOBS).then(
    (jobs) => jobs.orgs.get(org),
    () => undefined,
  );
