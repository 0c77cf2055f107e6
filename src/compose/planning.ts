import { randomUUID } from 'node:crypto';
import { Pool } from 'undici';
import type { Planning } from '../admin/access/definitions.ts';
import { DocketError, toDocketError } from '../base/error.ts';
import type { RedisClient } from '../base/redis-client.ts';
import type { Scope } from '../base/scope.ts';
import { type Secret, type SecretSource, secretSource } from '../base/secret.ts';
import type { Catalog } from '../contract/catalog.ts';
import type { OrgSettings } from '../define/org.ts';
import { periodOf } from '../define/period.ts';
import { heldCatalog, redisCatalogs } from '../fetch/catalogs.ts';
import { createClient } from '../fetch/client.ts';
import { type Budgets, sharedBudgets } from './budgets.ts';
import { explanationOf } from './explanation.ts';
import { lowestLimits, type OrgsInForce, sharingKey } from './key-limits.ts';
import { type Surroundings, withCatalog } from './ports.ts';

/** Somebody waits for the answer: a longer line for the key is told instead of stood in. */
const PATIENCE_MS = 3_000;
const DEADLINE_MS = 20_000;

interface PlanningParts {
  readonly redis: RedisClient;
  readonly prefix: string;
  /** Of the definitions in force. */
  readonly orgs: () => OrgsInForce;
  /** The identity of the deployment, as the process compared it at its start. */
  readonly belongsTo?: () => string | undefined;
}

/** A report's catalog, for somebody who waits for the answer. */
interface CatalogFinder {
  readonly keyOf: (settings: OrgSettings) => Promise<Secret>;
  /** The one that the workers hold. */
  readonly held: (key: Secret, settings: OrgSettings) => Promise<Catalog | undefined>;
  /** The service's own, for one token. */
  readonly ask: (key: Secret, settings: OrgSettings, maxAgeMs?: number) => Promise<Catalog>;
  readonly budgetOf: Budgets;
  readonly secrets: SecretSource;
}

function catalogFinder(
  around: Surroundings,
  { redis, prefix, orgs, belongsTo }: PlanningParts,
  scope: Scope,
): CatalogFinder {
  const { config, env, clock, log } = around;
  const { COMPLIANCE_API_URL: baseUrl } = config;
  const secrets = secretSource(env, around);
  const names = `${prefix}:`;
  const catalogs = redisCatalogs(redis, { prefix: names, clock });
  const budgetOf = sharedBudgets(redis, prefix, clock, log, belongsTo);
  const dispatcher =
    baseUrl === undefined
      ? undefined
      : scope.use(new Pool(new URL(baseUrl).origin, { connect: { timeout: 5_000 } }), (pool) => pool.close());

  const keyOf = (settings: OrgSettings): Promise<Secret> =>
    secrets(settings.api_key).catch((cause: unknown) => {
      throw new DocketError('catalog.missing', `The API key of ${settings.id} is not known to this process.`, {
        expected: toDocketError(cause).expected ?? 'the key that org.yaml refers to',
        next: 'Give the admin process the same keys as the workers, or use `docket explain` where they are.',
        cause,
      });
    });
  const held = (key: Secret, { org }: OrgSettings) => heldCatalog(redis, names, key.fingerprint(), org);

  const ask = async (key: Secret, settings: OrgSettings, maxAgeMs?: number): Promise<Catalog> => {
    if (baseUrl === undefined || dispatcher === undefined) {
      throw new DocketError('catalog.missing', `No metric catalog of ${settings.id} is held.`, {
        expected: 'one of the last hour, from a run of the organization',
        next: 'Run one of its reports, or set COMPLIANCE_API_URL for the admin process, which then asks for the catalog itself.',
      });
    }
    const fingerprint = key.fingerprint();
    const [first = settings, ...others] = await sharingKey(fingerprint, orgs().values(), secrets);
    const outcome = await catalogs.get(
      {
        client: createClient({ baseUrl, key, redactor: secrets.redactor, dispatcher, clock }),
        budget: budgetOf('metrics', lowestLimits([first, ...others])),
        key: fingerprint,
        org: settings.org,
        tenant: settings.id,
        priority: 'on_demand',
        run: randomUUID(),
        patienceMs: PATIENCE_MS,
        maxAgeMs,
      },
      AbortSignal.timeout(DEADLINE_MS),
      () => {},
    );
    if (outcome.kind === 'done') return outcome.value;
    if (outcome.kind === 'fail') throw outcome.error;
    throw new DocketError(
      'catalog.missing',
      `No metric catalog of ${settings.id} is held, and its key has no token free.`,
      {
        got: outcome.kind === 'snooze' ? `a token expected at ${new Date(outcome.until).toISOString()}` : outcome.why,
        next: 'Ask again then.',
      },
    );
  };

  return { keyOf, held, ask, budgetOf, secrets };
}

/**
 * The catalog of an organization: the one that the workers hold, or the service's own for one token. Undefined where the
 * process cannot have it: without the key or COMPLIANCE_API_URL, and where the service or the line of the key is busy.
 */
export async function catalogIfKnown(
  around: Surroundings,
  parts: PlanningParts,
  settings: OrgSettings,
  scope: Scope,
): Promise<Catalog | undefined> {
  const { keyOf, held, ask } = catalogFinder(around, parts, scope);
  try {
    const key = await keyOf(settings);
    return (await held(key, settings)) ?? (await ask(key, settings));
  } catch (error) {
    if (error instanceof DocketError) return undefined;
    throw error;
  }
}

/** The catalog that the workers hold, or why there is none; asks nobody for another. */
export type CatalogIfHeld = (settings: OrgSettings) => Promise<Catalog | string>;

/** What is there will do where no newer one is to be had. */
const unless =
  (found: Catalog) =>
  (thrown: unknown): Catalog => {
    if (thrown instanceof DocketError) return found;
    throw thrown;
  };

/**
 * What the admin route knows of what definitions ask. It goes by the catalogs that the workers hold. Where they hold none
 * it asks the service as a run would, for one token in the line of the key, if the process knows COMPLIANCE_API_URL and
 * whoever wants to know may spend it; otherwise it throws `catalog.missing`.
 */
export function planningOf(
  around: Surroundings,
  parts: PlanningParts,
  scope: Scope,
): Planning & { readonly catalogIfHeld: CatalogIfHeld } {
  const { clock } = around;
  const { orgs } = parts;
  const { keyOf, held, ask, budgetOf, secrets } = catalogFinder(around, parts, scope);
  const notHeld = ({ id }: OrgSettings): never => {
    throw new DocketError('catalog.missing', `No metric catalog of ${id} is held.`, {
      expected: 'one of the last hour, from a run of the organization',
      next: 'Ask an operator: looking into it would spend a token of the API key.',
    });
  };

  const catalogIfHeld: CatalogIfHeld = async (settings) => {
    const key = await keyOf(settings).catch((thrown: unknown) => toDocketError(thrown).message);
    if (typeof key === 'string') return key;
    const found = await held(key, settings);
    return found ?? `No metric catalog of ${settings.id} is held: the workers keep one for an hour.`;
  };

  return {
    catalogIfHeld,

    explain: async ({ definition, settings }, spec, { mayAsk }) => {
      const period = periodOf(definition, settings, clock.now(), spec ?? definition.period);
      const key = await keyOf(settings);
      const catalogOf = async (maxAgeMs?: number): Promise<Catalog> => {
        const found = (await held(key, settings)) ?? (mayAsk ? await ask(key, settings) : notHeld(settings));
        // Where no newer one is to be had, what the held one does not allow is the answer.
        return maxAgeMs === undefined || !mayAsk ? found : ask(key, settings, maxAgeMs).catch(unless(found));
      };
      return withCatalog(catalogOf, (catalog) =>
        explanationOf({ definition, settings }, period, {
          catalog,
          secrets,
          budgetOf,
          inForce: orgs().values(),
          clock,
        }),
      );
    },
  };
}
