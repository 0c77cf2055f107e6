import { stat } from 'node:fs/promises';
import { z } from 'zod';
import type { MayAdmit } from '../../admin/auth/account-method.ts';
import { readYamlList, watchYamlList, type YamlListFormat } from '../../admin/auth/yaml-list-file.ts';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { type AccountRule, accountRuleSchema, mayAdmit } from './account-access.ts';
import type { OidcSettings } from './settings.ts';

const FORMAT: YamlListFormat<AccountRule> = {
  schema: z.array(accountRuleSchema),
  name: 'file of accounts',
  expected: 'a YAML list of { subject | email | group, role, orgs }',
  next: 'Correct it as docs/how-to/reverse-proxy-sign-in.md shows.',
  nextIfMissing: 'Write it as docs/how-to/reverse-proxy-sign-in.md shows, or correct DOCKET_OIDC_ACCOUNTS.',
};

/** The entries of the mapping file. Throws `config.invalid` with its path. */
export const readAccounts = (path: string): Promise<readonly AccountRule[]> => readYamlList(path, FORMAT);

/** Reads which accounts the mapping file and the claim can admit. Throws what `readAccounts` throws. */
export const readMayAdmit = async ({ accounts, claimGrantsAccess: claimGrants }: OidcSettings): Promise<MayAdmit> =>
  mayAdmit({ rules: accounts === undefined ? [] : await readAccounts(accounts), claimGrants });

/** Reads and watches the mapping file with `watchYamlList`. Changes apply to running sessions within seconds. */
export async function watchAccounts(
  path: string,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Promise<() => Promise<readonly AccountRule[]>> {
  const current = await watchYamlList(path, FORMAT, {
    clock,
    log,
    onChange: (_, after) => log.info('File of accounts changed', { path, count: after.length }),
  });
  if ((await current()).length === 0) log.warn('The accounts file has no entries: no account has access', { path });
  const file = await stat(path).catch(() => undefined);
  if (file !== undefined && (file.mode & 0o022) !== 0) {
    log.warn('Other users can write the file of accounts, and give themselves access: run `chmod go-w FILE`', { path });
  }
  return current;
}
