import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { SecretSource } from '../../base/secrets/secret.ts';
import { SECOND_MS } from '../../base/time.ts';
import { RATE_LIMITS } from '../../contract/limits.ts';
import type { DefinitionSource } from '../../definitions/load/definition-source.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { BudgetLimits } from '../../fetch/rate-limit/budget.ts';

/** The active organizations, by id. */
export type ActiveOrgs = ReadonlyMap<string, OrgSettings>;

/** The metrics limits that one `org.yaml` sets. */
export const budgetLimits = ({ budget }: Pick<OrgSettings, 'budget'>): BudgetLimits => ({
  calls: budget?.calls ?? RATE_LIMITS.metrics.calls,
  windowMs: budget?.window === undefined ? RATE_LIMITS.metrics.windowMs : budget.window * 1000,
});

/**
 * The limits of an API key that several organizations share: the fewest calls and the longest window in their settings.
 */
export function lowestLimits(orgs: readonly [OrgSettings, ...OrgSettings[]]): BudgetLimits {
  const all = orgs.map(budgetLimits);
  return {
    calls: Math.min(...all.map(({ calls }) => calls)),
    windowMs: Math.max(...all.map(({ windowMs }) => windowMs)),
  };
}

/** Organizations that share an API key but set different limits for it. */
export interface BudgetConflict {
  readonly organizations: readonly string[];
  /** One sentence that lists each organization with its setting. */
  readonly message: string;
}

export const BUDGET_CONFLICT_HINT = 'write the same `budget` into each org.yaml: the service counts calls by key';

/** The conflict among organizations that share a key; undefined if their settings are equal. */
export function budgetConflict(orgs: readonly OrgSettings[]): BudgetConflict | undefined {
  const limits = orgs.map((settings) => ({ id: settings.id, ...budgetLimits(settings) }));
  const differs = (of: (each: BudgetLimits) => number): boolean => new Set(limits.map(of)).size > 1;
  const windows = differs(({ windowMs }) => windowMs);
  if (!windows && !differs(({ calls }) => calls)) return undefined;
  const each = limits.map(
    ({ id, calls, windowMs }) => `${id} says ${calls}${windows ? ` in ${windowMs / 1000} s` : ''}`,
  );
  return {
    organizations: limits.map(({ id }) => id),
    message: `Conflicting \`budget\` settings for one API key: ${each.join(', ')}.`,
  };
}

/** All conflicts among these organizations. An unreadable key is identified by its reference: a variable or a file. */
export async function budgetConflicts(
  orgs: Iterable<OrgSettings>,
  secrets: SecretSource,
): Promise<readonly BudgetConflict[]> {
  const byKey = new Map<string, OrgSettings[]>();
  const named = [...orgs].map(async (settings) => {
    const { api_key } = settings;
    const key = await readFingerprint(settings, secrets);
    return { settings, key: key ?? JSON.stringify(api_key) };
  });
  for (const { settings, key } of await Promise.all(named)) byKey.set(key, [...(byKey.get(key) ?? []), settings]);
  return [...byKey.values()].flatMap((sharing) => budgetConflict(sharing) ?? []);
}

/** The organizations whose API key has this fingerprint. Reads the keys, which may have been rotated. */
export async function orgsSharingKey(
  key: string,
  orgs: Iterable<OrgSettings>,
  secrets: SecretSource,
): Promise<readonly OrgSettings[]> {
  const all = [...orgs];
  const keys = await Promise.all(all.map((settings) => readFingerprint(settings, secrets)));
  return all.filter((_, index) => keys[index] === key);
}

/** The limits of an organization's API key. If this process cannot read the key, the organization's own setting. */
export async function limitsOfKey(
  settings: OrgSettings,
  orgs: Iterable<OrgSettings>,
  secrets: SecretSource,
): Promise<BudgetLimits> {
  const key = await readFingerprint(settings, secrets);
  const [first = settings, ...others] = key === undefined ? [] : await orgsSharingKey(key, orgs, secrets);
  return lowestLimits([first, ...others]);
}

/** A key's fingerprint; undefined if this process cannot read the key. */
const readFingerprint = ({ api_key }: OrgSettings, secrets: SecretSource): Promise<string | undefined> =>
  secrets(api_key).then(
    (secret) => secret.fingerprint(),
    () => undefined,
  );

/** The metrics limits of API keys, which follow the active definitions. */
export type KeyLimits = ReturnType<typeof keyLimits>;

/** How often the keys of all organizations are read again, ms: a rotated key may be shared now. */
const KEYS_TTL_MS = 10 * SECOND_MS;

/**
 * Finds the organizations that share a key. Reads the keys of all organizations when the definitions change, every ten
 * seconds, and when an organization's own key has changed: a run must not read a thousand keys each time.
 */
function sharedKeyIndex(orgs: () => ActiveOrgs, secrets: SecretSource, clock: Clock) {
  let index: { readonly of: ActiveOrgs; readonly at: number; readonly byKey: Promise<SharedKeys> } | undefined;
  const read = (of: ActiveOrgs): Promise<SharedKeys> => {
    const byKey = readKeys(of, secrets);
    index = { of, at: clock.now(), byKey };
    return byKey;
  };
  return async (key: string, { id }: Pick<OrgSettings, 'id'>): Promise<readonly OrgSettings[]> => {
    const of = orgs();
    // The absolute difference, because the clock may have been set back.
    if (index?.of !== of || Math.abs(clock.now() - index.at) >= KEYS_TTL_MS) return (await read(of)).get(key) ?? [];
    const sharing = (await index.byKey).get(key) ?? [];
    if (!of.has(id) || sharing.some((settings) => settings.id === id)) return sharing;
    return (await read(of)).get(key) ?? [];
  };
}

type SharedKeys = ReadonlyMap<string, readonly OrgSettings[]>;

/** Organizations by the fingerprint of their key. Leaves out keys that this process cannot read. */
async function readKeys(orgs: ActiveOrgs, secrets: SecretSource): Promise<SharedKeys> {
  const byKey = new Map<string, OrgSettings[]>();
  const all = [...orgs.values()];
  const keys = await Promise.all(all.map((settings) => readFingerprint(settings, secrets)));
  for (const [position, settings] of all.entries()) {
    const key = keys[position];
    if (key === undefined) continue;
    const sharing = byKey.get(key);
    if (sharing === undefined) byKey.set(key, [settings]);
    else sharing.push(settings);
  }
  return byKey;
}

/**
 * The limits come from the current `org.yaml`, not from a run's frozen settings. Organizations that share a key but
 * disagree get the lowest limits, so that one organization's edit does not fail another's report, and no limit is
 * exceeded.
 */
export function keyLimits({
  orgs,
  secrets,
  clock,
  log,
}: {
  readonly orgs: () => ActiveOrgs;
  readonly secrets: SecretSource;
  readonly clock: Clock;
  readonly log: Log;
}) {
  const sharingOf = sharedKeyIndex(orgs, secrets, clock);
  const known = new Map<string, { readonly ids: readonly string[]; readonly settings: OrgSettings }>();
  const logged = new Map<string, string>();

  const now = (key: string): BudgetLimits => {
    const found = known.get(key);
    const [first, ...others] = found?.ids.flatMap((id) => orgs().get(id) ?? []) ?? [];
    if (first !== undefined) return lowestLimits([first, ...others]);
    return found === undefined ? RATE_LIMITS.metrics : budgetLimits(found.settings);
  };
  return {
    /**
     * Finds the organizations that share the key, and logs each conflict among them once.
     *
     * @param settings the key's owner, used if no active organization has the key
     */
    resolve: async (key: string, settings: OrgSettings): Promise<void> => {
      const sharing = await sharingOf(key, settings);
      known.set(key, { ids: sharing.map(({ id }) => id), settings });
      const conflict = budgetConflict(sharing);
      if (conflict === undefined) logged.delete(key);
      else if (logged.get(key) !== conflict.message) {
        logged.set(key, conflict.message);
        const { calls, windowMs } = now(key);
        const why = `its calls keep to ${calls} in ${windowMs / 1000} s; ${BUDGET_CONFLICT_HINT}`;
        log.warn(conflict.message, { key, count: calls, why });
      }
    },
    /** The limits of a resolved key. Each call uses the current definitions. */
    of: (key: string): BudgetLimits => ({
      get calls() {
        return now(key).calls;
      },
      get windowMs() {
        return now(key).windowMs;
      },
    }),
  };
}

/** Fingerprint of an organization's current API key, read at each call; undefined if it cannot be resolved. */
export const currentKeyFingerprint =
  (jobs: DefinitionSource, secrets: SecretSource) =>
  async (org: string): Promise<string | undefined> => {
    const settings = jobs.current().orgs.get(org);
    const secret = settings === undefined ? undefined : await secrets(settings.api_key).catch(() => undefined);
    return secret?.fingerprint();
  };
