import type { Log } from '../base/log.ts';
import type { SecretSource } from '../base/secret.ts';
import { RATES } from '../contract/limits.ts';
import type { OrgSettings } from '../define/org.ts';
import type { BudgetLimits } from '../fetch/budget.ts';

/** The organizations of the definitions in force, by id. */
export type OrgsInForce = ReadonlyMap<string, OrgSettings>;

/** The metrics limits that one `org.yaml` sets. */
export const limitsOf = ({ budget }: Pick<OrgSettings, 'budget'>): BudgetLimits => ({
  calls: budget?.calls ?? RATES.metrics.calls,
  windowMs: budget?.window === undefined ? RATES.metrics.windowMs : budget.window * 1000,
});

/**
 * The limits that keep what each of these organizations says of the key that they share: the fewest calls in the longest
 * window. With one organization, or where all say the same, what they say.
 */
export function lowestLimits(orgs: readonly [OrgSettings, ...OrgSettings[]]): BudgetLimits {
  const all = orgs.map(limitsOf);
  return {
    calls: Math.min(...all.map(({ calls }) => calls)),
    windowMs: Math.max(...all.map(({ windowMs }) => windowMs)),
  };
}

/** Organizations that share an API key and set different limits for it. */
export interface BudgetConflict {
  readonly organizations: readonly string[];
  /** One sentence that names each organization and what it says. */
  readonly message: string;
}

export const CONFLICT_NEXT = 'write the same `budget` into each org.yaml: the service counts calls by key';

/** Undefined where these organizations, which share a key, say the same. */
export function conflictAmong(orgs: readonly OrgSettings[]): BudgetConflict | undefined {
  const said = orgs.map((settings) => ({ id: settings.id, ...limitsOf(settings) }));
  const differs = (of: (limits: BudgetLimits) => number): boolean => new Set(said.map(of)).size > 1;
  const windows = differs(({ windowMs }) => windowMs);
  if (!windows && !differs(({ calls }) => calls)) return undefined;
  const each = said.map(({ id, calls, windowMs }) => `${id} says ${calls}${windows ? ` in ${windowMs / 1000} s` : ''}`);
  return {
    organizations: said.map(({ id }) => id),
    message: `Conflicting \`budget\` settings for one API key: ${each.join(', ')}.`,
  };
}

/**
 * Every conflict among these organizations. A key that cannot be read here is told from others by its reference: two
 * references to one variable or file are one key.
 */
export async function budgetConflicts(
  orgs: Iterable<OrgSettings>,
  secrets: SecretSource,
): Promise<readonly BudgetConflict[]> {
  const byKey = new Map<string, OrgSettings[]>();
  const named = [...orgs].map(async (settings) => {
    const { api_key } = settings;
    const key = await fingerprintOf(settings, secrets);
    return { settings, key: key ?? JSON.stringify(api_key) };
  });
  for (const { settings, key } of await Promise.all(named)) byKey.set(key, [...(byKey.get(key) ?? []), settings]);
  return [...byKey.values()].flatMap((sharing) => conflictAmong(sharing) ?? []);
}

/** The organizations whose key has this fingerprint. Keys are read anew: one that was rotated is another. */
export async function sharingKey(
  key: string,
  orgs: Iterable<OrgSettings>,
  secrets: SecretSource,
): Promise<readonly OrgSettings[]> {
  const all = [...orgs];
  const keys = await Promise.all(all.map((settings) => fingerprintOf(settings, secrets)));
  return all.filter((_, index) => keys[index] === key);
}

/** Undefined for a key that cannot be read here. */
const fingerprintOf = ({ api_key }: OrgSettings, secrets: SecretSource): Promise<string | undefined> =>
  secrets(api_key).then(
    (secret) => secret.fingerprint(),
    () => undefined,
  );

/** The metrics limits of API keys, which follow the definitions in force. */
export interface KeyLimits {
  /**
   * Finds out which organizations share the key; the log is told of a conflict among them, once for each that comes up.
   * @param settings whose key it is: they count where no organization in force has it
   */
  resolve(key: string, settings: OrgSettings): Promise<void>;
  /** Of a key that was resolved. Read at each use, they say what the definitions of that moment say. */
  of(key: string): BudgetLimits;
}

/**
 * The limits of a key are what `org.yaml` says now, however old a run and its frozen settings are. Organizations that
 * share a key and do not agree get the lowest limits: nobody's report fails for another's edit, and no limit is exceeded.
 */
export function keyLimits({
  orgs,
  secrets,
  log,
}: {
  readonly orgs: () => OrgsInForce;
  readonly secrets: SecretSource;
  readonly log: Log;
}): KeyLimits {
  const known = new Map<string, { readonly ids: readonly string[]; readonly settings: OrgSettings }>();
  const logged = new Map<string, string>();

  const now = (key: string): BudgetLimits => {
    const found = known.get(key);
    const [first, ...others] = found?.ids.flatMap((id) => orgs().get(id) ?? []) ?? [];
    if (first !== undefined) return lowestLimits([first, ...others]);
    return found === undefined ? RATES.metrics : limitsOf(found.settings);
  };
  return {
    resolve: async (key, settings) => {
      const sharing = await sharingKey(key, orgs().values(), secrets);
      known.set(key, { ids: sharing.map(({ id }) => id), settings });
      const conflict = conflictAmong(sharing);
      if (conflict === undefined) logged.delete(key);
      else if (logged.get(key) !== conflict.message) {
        logged.set(key, conflict.message);
        const { calls, windowMs } = now(key);
        const why = `its calls keep to ${calls} in ${windowMs / 1000} s; ${CONFLICT_NEXT}`;
        log.warn(conflict.message, { key, count: calls, why });
      }
    },
    of: (key) => ({
      get calls() {
        return now(key).calls;
      },
      get windowMs() {
        return now(key).windowMs;
      },
    }),
  };
}
