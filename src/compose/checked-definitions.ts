import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AppContext } from '../base/context.ts';
import { isErrno } from '../base/errno.ts';
import { errorMessage } from '../base/error.ts';
import type { CheckedOrganizations } from '../definitions/load/checked-organization.ts';
import type { Unpack } from '../definitions/load/kept-reports.ts';
import { redisCheckedDefinitions } from '../queue/definitions/checked-definitions.ts';
import type { RedisClient } from '../redis/client.ts';
import { openRedis } from '../redis/connection.ts';
import { DEFAULT_KEY_PREFIX } from '../redis/keys.ts';

type StoreChecked = ReturnType<typeof redisCheckedDefinitions>['store'];

/** Without an answer by then, the files are parsed. */
const CONNECT_TIMEOUT_MS = 500;

/** Written by `build/bundle.mjs`: a digest of Docket's code and of the packages in it. */
const DIGEST_FILE = new URL('../build-digest', import.meta.url);

/**
 * A digest of all that a text's result depends on beside the texts of its organization: the code, Node with its time zones,
 * and the public holidays, which are a package beside Docket. Undefined where Docket runs from its source.
 */
function buildDigest(): string | undefined {
  try {
    const holidays = createRequire(import.meta.url).resolve('date-holidays/package.json');
    const parts = [DIGEST_FILE, holidays].map((file) => readFileSync(file, 'utf8'));
    return createHash('sha256')
      .update(JSON.stringify([...parts, process.versions]))
      .digest('hex')
      .slice(0, 32);
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'MODULE_NOT_FOUND')) return undefined;
    throw error;
  }
}

/**
 * Loads with what processes of the same build have checked before, where Redis can be reached. `store` keeps what was found
 * for the next start, once the process has joined its deployment; it never rejects.
 */
export async function withCheckedDefinitions<Loaded>(
  { config, log }: Pick<AppContext, 'config' | 'log'>,
  unpack: Unpack,
  load: (checked: CheckedOrganizations | undefined) => Promise<Loaded>,
): Promise<{ readonly loaded: Loaded; readonly store: StoreChecked }> {
  const build = buildDigest();
  const redis = build === undefined ? undefined : await connect(config.REDIS_URL, log);
  if (build === undefined || redis === undefined) return { loaded: await load(undefined), store: async () => {} };
  try {
    const { organizations, store } = redisCheckedDefinitions(redis, {
      prefix: DEFAULT_KEY_PREFIX,
      build,
      unpack,
      log,
    });
    return { loaded: await load(organizations), store };
  } finally {
    redis.disconnect();
  }
}

/** Undefined: the first caller that needs Redis reports why it cannot be reached. */
async function connect(url: string, log: AppContext['log']): Promise<RedisClient | undefined> {
  try {
    return await openRedis(url, 'producer', log, { connectTimeoutMs: CONNECT_TIMEOUT_MS });
  } catch (error) {
    log.debug('Redis cannot be reached yet; all definitions are parsed', { why: errorMessage(error) });
    return undefined;
  }
}
