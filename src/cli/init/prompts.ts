import type { Readable, Writable } from 'node:stream';
import { type CANCEL_SYMBOL, isCancel, log, note, select, text } from '@clack/prompts';
import { DocketError } from '../../base/error.ts';
import type { SecretRef } from '../../base/secrets/secret.ts';
import {
  idFromName,
  isSecretSet,
  secretSetupCommand,
  type Validate,
  validateAddresses,
  validateKeyEnv,
  validateKeyFile,
  validateOrgId,
  validateOwner,
  validateSmtpUrl,
  validateTimezone,
  validateUrl,
} from './answers.ts';
import { type Draft, ownOrganization, parseAddresses, systemTimezone } from './draft.ts';
import type { ServiceInfo } from './query-service.ts';

/** Where questions are put and answered; the terminal when absent. */
export interface PromptStreams {
  readonly input?: Readable;
  readonly output?: Writable;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** What the person said, or `run.cancelled` for Ctrl-C and Escape, which no signal comes of while a question stands. */
function unwrapAnswer<Value extends string | number>(answer: Value | typeof CANCEL_SYMBOL): Value {
  if (!isCancel(answer)) return answer;
  throw new DocketError('run.cancelled', 'Stopped; nothing was written.');
}

async function promptText(
  message: string,
  look: Validate,
  first: string | undefined,
  desk: PromptStreams,
  hint?: string,
): Promise<string> {
  const answer = await text({
    message,
    ...(hint === undefined ? {} : { placeholder: hint }),
    ...(first === undefined ? {} : { initialValue: first }),
    validate: (given) => look(given?.trim() ?? ''),
    ...desk,
  });
  return unwrapAnswer(answer).trim();
}

/** The service and where its key is. What the draft has is not asked; what the environment has is offered. */
export async function promptService(
  draft: Draft,
  offered: Draft,
  env: Environment,
  desk: PromptStreams = {},
): Promise<Draft> {
  const url =
    draft.url ??
    (await promptText('URL of the Compliance Service', validateUrl, offered.url, desk, 'https://api.example.com'));
  const key = draft.key ?? (await promptApiKey(offered.key, desk));
  if (!(await isSecretSet(key, env))) {
    note(`${secretSetupCommand(key)}`, 'The key is not there yet. Set it, now or later, with:', desk);
  }
  return { ...draft, url, key };
}

async function promptApiKey(offered: SecretRef | undefined, desk: PromptStreams): Promise<SecretRef> {
  const kind = unwrapAnswer(
    await select<'env' | 'file'>({
      message: 'Where is the API key? (Docket writes down where, never the key)',
      options: [
        { value: 'env', label: 'in an environment variable' },
        { value: 'file', label: 'in a file' },
      ],
      initialValue: 'env',
      ...desk,
    }),
  );
  if (kind === 'file')
    return { file: await promptText('Path of the file', validateKeyFile, undefined, desk, '/run/secrets/api-key') };
  const first = offered !== undefined && 'env' in offered ? offered.env : 'COMPLIANCE_API_KEY';
  return { env: await promptText('Name of the variable', validateKeyEnv, first, desk) };
}

/** Which organization it is about: asked only where the key reaches several. */
export async function promptOrganization(draft: Draft, seen: ServiceInfo, desk: PromptStreams = {}): Promise<Draft> {
  const { organizations = [] } = seen;
  if (draft.serviceOrg !== undefined || organizations.length < 2) return draft;
  const serviceOrg = unwrapAnswer(
    await select<number | 'current'>({
      message: 'Which organization are the reports about?',
      options: [
        ...organizations.map(({ id, name }) => ({ value: id, label: `${name} (${id})` })),
        { value: 'current' as const, label: 'the one the key was made for, whichever it is' },
      ],
      ...desk,
    }),
  );
  return { ...draft, serviceOrg };
}

/** The rest. */
export async function promptRemaining(
  draft: Draft,
  seen: ServiceInfo,
  offered: Draft,
  desk: PromptStreams = {},
): Promise<Draft> {
  const known = ownOrganization(seen, draft.serviceOrg);
  if (seen.catalog !== undefined) {
    log.success(
      `The key works${known === undefined ? '' : `: ${known.name}`}, ${seen.catalog.metrics.length} metrics`,
      desk,
    );
  }
  for (const { message, next } of seen.errors) log.warn(`${message}${next === undefined ? '' : `\n${next}`}`, desk);
  const org =
    draft.org ??
    (await promptText(
      'Short name of the organization (its folder)',
      validateOrgId,
      known && idFromName(known.name),
      desk,
      'acme',
    ));
  const timezone =
    draft.timezone ??
    (await promptText('Time zone of periods and schedules', validateTimezone, systemTimezone(), desk, 'Europe/Zurich'));
  const to =
    draft.to ??
    parseAddresses(
      await promptText(
        'Who gets the reports? (addresses, with commas)',
        validateAddresses,
        undefined,
        desk,
        'lead@acme.example',
      ),
    );
  const allow =
    draft.allow ??
    unwrapAnswer(
      await select<'address' | 'domain'>({
        message: 'Who may get reports of this organization at all?',
        options: [
          { value: 'address', label: 'these addresses alone' },
          { value: 'domain', label: 'everybody of their domains' },
        ],
        ...desk,
      }),
    );
  const report =
    draft.report ??
    unwrapAnswer(
      await select<'weekly' | 'monthly' | 'both'>({
        message: 'Which report?',
        options: [
          { value: 'weekly', label: 'weekly KPI e-mail', hint: 'Mondays at eight' },
          { value: 'monthly', label: 'monthly board pack', hint: 'on the first, at seven' },
          { value: 'both', label: 'both' },
        ],
        ...desk,
      }),
    );
  const smtpUrl =
    draft.smtpUrl ??
    emptyToUndefined(
      await promptText(
        'Mail server (empty: SMTP_URL is set elsewhere)',
        allowEmpty(validateSmtpUrl),
        offered.smtpUrl,
        desk,
        'smtp://mail.example.com:587',
      ),
    );
  const mailFrom =
    draft.mailFrom ??
    emptyToUndefined(
      await promptText(
        'Sender (empty: MAIL_FROM is set elsewhere)',
        allowEmpty(validateOwner),
        offered.mailFrom,
        desk,
        'reports@acme.example',
      ),
    );
  return { ...draft, org, timezone, to, allow, report, smtpUrl, mailFrom };
}

const allowEmpty =
  (look: Validate): Validate =>
  (given) =>
    given === '' ? undefined : look(given);

const emptyToUndefined = (given: string): string | undefined => (given === '' ? undefined : given);
