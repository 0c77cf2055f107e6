import type { HeldRun } from '../../../admin/access/access.ts';
import type { AppContext } from '../../../base/context.ts';
import { secretSource } from '../../../base/secrets/secret.ts';
import type { DecisionContext } from '../../../compose/decisions.ts';
import type { OrgSettings } from '../../../definitions/schema/org-settings.ts';
import { redisLedger } from '../../../deliver/ledger/redis-ledger.ts';
import { definitionStore } from '../../../queue/definitions/definition-store.ts';
import { DEFAULT_KEY_PREFIX, RETENTION_DAYS } from '../../../redis/keys.ts';
import type { RunRecord } from '../../../run/run-record.ts';
import { loadDefinitions, reportFileSchema } from '../../../services/definitions/built-in-kinds.ts';
import { loadReleasePreview } from '../../../services/runs/release-preview.ts';

/** What somebody wants to know of a held run before it is released; undefined of any other, and without its files. */
export async function loadHeldRun(
  run: RunRecord | undefined,
  { archive, redis }: Pick<DecisionContext, 'archive' | 'redis'>,
  around: AppContext,
): Promise<Omit<HeldRun, 'error'> | undefined> {
  if (run?.state !== 'held') return undefined;
  const settings = await currentSettings(run.org, around);
  return loadReleasePreview(run, {
    definitions: definitionStore(redis, {
      prefix: DEFAULT_KEY_PREFIX,
      keepDays: RETENTION_DAYS,
      reportSchema: reportFileSchema,
    }),
    archive,
    ledger: redisLedger(redis, { prefix: `${DEFAULT_KEY_PREFIX}:`, ttlDays: RETENTION_DAYS }),
    secrets: secretSource(around.env, around),
    clock: around.clock,
    settingsNow: () => settings,
    workingDirectory: around.workingDirectory,
  });
}

/** Undefined where this machine does not have the definitions: those of the run's own day then count. */
const currentSettings = (org: string, { config }: AppContext): Promise<OrgSettings | undefined> =>
  loadDefinitions(config.DOCKET_JOBS).then(
    (jobs) => jobs.orgs.get(org),
    () => undefined,
  );
