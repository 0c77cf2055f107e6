import { readTokens } from '../../admin/auth/token-file.ts';
import { canSee, createTokenVerifier, type Principal } from '../../admin/auth/tokens.ts';
import { requireVariable } from '../../base/config/config.ts';
import type { AppContext } from '../../base/context.ts';
import { DocketError } from '../../base/error.ts';
import { type RunRecord, runNotFoundError } from '../../run/run-record.ts';
import type { CommandIo } from '../io.ts';
import { isTerminal } from '../terminal/style.ts';

/**
 * Signs in with the token in `DOCKET_TOKEN`, or one typed at a hidden prompt. Verifies it against
 * `DOCKET_ADMIN_TOKENS`, as the admin route does.
 *
 * Throws `usage.invalid` without a token and a terminal, `auth.invalid` and `auth.expired` for a rejected token,
 * `config.invalid` without a token file.
 */
export async function signIn({ config, clock, registerSecret }: AppContext, io: CommandIo): Promise<Principal> {
  const file = requireVariable(
    config,
    'DOCKET_ADMIN_TOKENS',
    'it names the file with the hashes of the tokens',
    'Set the same file as for `docket start`. `docket tokens create` adds a token to it.',
  );
  const token = config.DOCKET_TOKEN ?? (await promptToken(io));
  registerSecret?.(token);
  const verifier = createTokenVerifier(() => readTokens(file), clock.now);
  const verified = await verifier.verify(token);
  if (verified.accepted) return verified.principal;
  const expired = verified.why === 'expired';
  throw new DocketError(
    expired ? 'auth.expired' : 'auth.invalid',
    expired ? 'The token has expired.' : 'The token is not accepted.',
    {
      where: file,
      expected: 'a token that `docket tokens create` has printed',
      next: `See \`docket tokens list\`${expired ? ', and create another one' : ''}.`,
    },
  );
}

/**
 * The operator whose token is in `DOCKET_TOKEN`; undefined without one: the user of the shell decides. Throws as
 * `signIn`, and `auth.forbidden` for a viewer.
 */
export async function signedInOperator(context: AppContext, io: CommandIo): Promise<Principal | undefined> {
  if (!hasToken(context)) return undefined;
  const principal = await signIn(context, io);
  if (principal.role === 'operator') return principal;
  throw new DocketError('auth.forbidden', 'This token is read-only.', { expected: 'a token with the role operator' });
}

/** Whether a command can sign in: `DOCKET_TOKEN` is set, or somebody can type a token. */
export const hasToken = ({ config }: Pick<AppContext, 'config'>): boolean => config.DOCKET_TOKEN !== undefined;

async function promptToken(io: CommandIo): Promise<string> {
  if (io.stdin.isTTY !== true || !isTerminal(io.stderr, io.env)) {
    throw new DocketError('usage.invalid', 'This command needs a sign-in.', {
      where: 'DOCKET_TOKEN',
      expected: 'a token of the admin route, or a terminal to type it in',
      next: 'Set DOCKET_TOKEN. A name given with --by is not enough for this decision.',
    });
  }
  const { isCancel, password } = await import('@clack/prompts');
  const typed = await password({ message: 'Token', input: io.stdin, output: io.stderr });
  if (!isCancel(typed) && typeof typed === 'string' && typed.trim() !== '') return typed.trim();
  if (isCancel(typed)) io.exitCode = 130;
  throw new DocketError('run.cancelled', 'Nothing was decided: no token was given.', { next: 'Try again.' });
}

/** Throws `run.not_found` for a run of an organization that the token may not see. */
export async function assertSees(
  principal: Principal,
  run: string,
  runs: { get(id: string): Promise<RunRecord | undefined> },
): Promise<void> {
  const record = await runs.get(run);
  if (record === undefined || !canSee(principal, record.org)) throw runNotFoundError(run);
}
