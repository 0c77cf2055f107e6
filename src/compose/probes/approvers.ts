import type { AccountSetup, MayAdmit } from '../../admin/auth/account-method.ts';
import { readTokens } from '../../admin/auth/token-file.ts';
import { hasExpired, type TokenEntry } from '../../admin/auth/tokens.ts';
import type { AppContext } from '../../base/context.ts';
import type { Definitions } from '../../definitions/load/load-definitions.ts';
import { type Approver, approvers } from '../../definitions/people.ts';
import type { ApprovalSpec, People } from '../../definitions/schema/review.ts';
import {
  type CheckResult,
  type Finding,
  fail,
  formatSome,
  ok,
  runCheck,
  warn,
} from '../../services/deployment/probe.ts';

/** How people can sign in, as far as this is known without a sign-in. */
export interface SignIns {
  readonly tokens: readonly Pick<TokenEntry, 'name' | 'orgs' | 'expires'>[];
  /** Undefined: accounts cannot sign in. */
  readonly accounts: MayAdmit | undefined;
}

/** Checks for each report with an approval whether enough of its approvers can sign in and get notices. */
export async function checkApprovers(
  jobs: Pick<Definitions, 'orgs' | 'reports'>,
  { config, clock }: Pick<AppContext, 'config' | 'clock'>,
  signIn: Pick<AccountSetup, 'mayAdmit'> | undefined,
): Promise<readonly Finding[]> {
  const reviewed = [...jobs.reports.values()].flatMap(({ org, report, approval }) => {
    const settings = jobs.orgs.get(org);
    return approval === undefined || settings === undefined ? [] : [{ report, approval, settings }];
  });
  if (reviewed.length === 0) return [];
  const { DOCKET_ADMIN_TOKENS: file } = config;
  // An invalid file is a finding for each report here, besides its own finding.
  const read = async (): Promise<SignIns> => ({
    tokens: file === undefined ? [] : await readTokens(file),
    accounts: await signIn?.mayAdmit(),
  });
  return Promise.all(
    reviewed.map(({ report, approval, settings: { id, people } }) =>
      runCheck(`Approvers of ${id}/${report}`, async () =>
        evaluateApprovers(approval, { org: id, people }, await read(), clock.now()),
      ),
    ),
  );
}

export function evaluateApprovers(
  { by, need }: Pick<ApprovalSpec, 'by' | 'need'>,
  { org, people }: { readonly org: string; readonly people: People | undefined },
  signIns: SignIns,
  now: number,
): CheckResult {
  const named = approvers(by, people);
  const cannot = named.filter((approver) => !canSignIn(approver, { org, people }, signIns, now));
  const able = named.filter((approver) => !cannot.includes(approver));
  const count = `${able.length} of ${named.length} can sign in, ${need} must approve`;
  const missing = cannot.length === 0 ? '' : `; no token or account: ${formatSome(cannot.map(({ id }) => id))}`;
  const remedy =
    'Create tokens of these names with `docket tokens create`, or write tokens and accounts that exist under `people` in org.yaml.';
  if (able.length < need) return fail(`${count}${missing}`, remedy);
  if (cannot.length > 0) return warn(`${count}${missing}`, remedy);
  // A token that has a person's name but is not listed as theirs looks as if it could approve, but it cannot.
  const confusing = signIns.tokens.filter(
    ({ name }) => named.some(({ id }) => id === name) && people?.[name]?.tokens.includes(name) === false,
  );
  if (confusing.length > 0) {
    return warn(
      `${count}; tokens with the name of a person whose token they are not: ${formatSome(confusing.map(({ name }) => name))}`,
      'Add each to `tokens` of its person in org.yaml, or rename one of the two.',
    );
  }
  const silent = named.filter(({ email }) => email === undefined);
  if (silent.length > 0) {
    return warn(
      `${count}; no address for notices: ${formatSome(silent.map(({ id }) => id))}`,
      'Write an `email` for them under `people` in org.yaml: without notice they learn of a run on the page only.',
    );
  }
  return ok(count);
}

function canSignIn(
  { id, name }: Approver,
  { org, people }: { readonly org: string; readonly people: People | undefined },
  { tokens, accounts }: SignIns,
  now: number,
): boolean {
  const person = people !== undefined && Object.hasOwn(people, id) ? people[id] : undefined;
  const own = person ?? { tokens: [name], accounts: [name] };
  const sees = (orgs: TokenEntry['orgs']) => orgs === '*' || orgs.includes(org);
  const hasToken = tokens.some(
    (token) => own.tokens.includes(token.name) && sees(token.orgs) && !hasExpired(token, now),
  );
  if (hasToken || accounts === undefined) return hasToken;
  // Only the provider knows the members of a group, so an account that may be a member counts.
  const mayBeAccount = own.accounts.some((account) => person !== undefined || /[@ ]/.test(account));
  return mayBeAccount && accounts(own.accounts, org);
}
