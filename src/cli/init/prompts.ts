import type { Readable, Writable } from 'node:stream';
import { type CANCEL_SYMBOL, isCancel, log, note, select, text } from '@clack/prompts';
import { DocketError } from '../../base/error.ts';
import type { SecretRef } from '../../base/secrets/secret.ts';
import type { Environment } from '../io.ts';
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

/** Default: the terminal of the process. */
export interface PromptStreams {
  readonly input?: Readable;
  readonly output?: Writable;
}

/** Throws `run.cancelled` for Ctrl-C and Escape, which send no signal during a prompt. */
function unwrapAnswer<Value extends string | number>(answer: Value | typeof CANCEL_SYMBOL): Value {
  if (!isCancel(answer)) return answer;
  throw new DocketError('run.cancelled', 'Stopped; nothing was written.');
}

const textPrompt =
  (streams: PromptStreams) =>
  async (message: string, validate: Validate, initial: string | undefined, placeholder?: string): Promise<string> => {
    const answer = await text({
      message,
      ...(placeholder === undefined ? {} : { placeholder }),
      ...(initial === undefined ? {} : { initialValue: initial }),
      validate: (input) => validate(input?.trim() ?? ''),
      ...streams,
    });
    return unwrapAnswer(answer).trim();
  };

/** Prompts for the URL and the key if the draft lacks them. The defaults are the initial values. */
export async function promptService(
  draft: Draft,
  defaults: Draft,
  env: Environment,
  streams: PromptStreams = {},
): Promise<Draft> {
  const url =
    draft.url ??
    (await textPrompt(streams)('URL of the Compliance Service', validateUrl, defaults.url, 'https://api.example.com'));
  const key = draft.key ?? (await promptApiKey(defaults.key, streams));
  if (!(await isSecretSet(key, env))) {
    note(`${secretSetupCommand(key)}`, 'The key is not set yet. Set it now or later:', streams);
  }
  return { ...draft, url, key };
}

async function promptApiKey(defaultKey: SecretRef | undefined, streams: PromptStreams): Promise<SecretRef> {
  const kind = unwrapAnswer(
    await select<'env' | 'file'>({
      message: 'Where is the API key? (Docket stores only this reference, never the key)',
      options: [
        { value: 'env', label: 'in an environment variable' },
        { value: 'file', label: 'in a file' },
      ],
      initialValue: 'env',
      ...streams,
    }),
  );
  const ask = textPrompt(streams);
  if (kind === 'file')
    return { file: await ask('Path of the file', validateKeyFile, undefined, '/run/secrets/api-key') };
  const initial = defaultKey !== undefined && 'env' in defaultKey ? defaultKey.env : 'COMPLIANCE_API_KEY';
  return { env: await ask('Name of the variable', validateKeyEnv, initial) };
}

/** Prompts for the organization if the key can access several. */
export async function promptOrganization(
  draft: Draft,
  service: ServiceInfo,
  streams: PromptStreams = {},
): Promise<Draft> {
  const { organizations = [] } = service;
  if (draft.serviceOrg !== undefined || organizations.length < 2) return draft;
  const serviceOrg = unwrapAnswer(
    await select<number | 'current'>({
      message: 'Which organization are the reports about?',
      options: [
        ...organizations.map(({ id, name }) => ({ value: id, label: `${name} (${id})` })),
        { value: 'current' as const, label: 'the organization of the key' },
      ],
      ...streams,
    }),
  );
  return { ...draft, serviceOrg };
}

/** Prompts for everything else that is missing in the draft. */
export async function promptRemaining(
  draft: Draft,
  service: ServiceInfo,
  defaults: Draft,
  streams: PromptStreams = {},
): Promise<Draft> {
  const known = ownOrganization(service, draft.serviceOrg);
  if (service.catalog !== undefined) {
    log.success(
      `The key works${known === undefined ? '' : `: ${known.name}`}, ${service.catalog.metrics.length} metrics`,
      streams,
    );
  }
  for (const { message, next } of service.errors)
    log.warn(`${message}${next === undefined ? '' : `\n${next}`}`, streams);
  const ask = textPrompt(streams);
  const ownName = known && idFromName(known.name);
  const org = draft.org ?? (await ask('Short name of the organization (its folder)', validateOrgId, ownName, 'acme'));
  const zone = systemTimezone();
  const timezone =
    draft.timezone ?? (await ask('Time zone of periods and schedules', validateTimezone, zone, 'Europe/Zurich'));
  const recipients = 'Recipients of the reports? (addresses, separated by commas)';
  const to = draft.to ?? parseAddresses(await ask(recipients, validateAddresses, undefined, 'lead@acme.example'));
  const allow =
    draft.allow ??
    unwrapAnswer(
      await select<'address' | 'domain'>({
        message: 'Which recipients are allowed for this organization?',
        options: [
          { value: 'address', label: 'only these addresses' },
          { value: 'domain', label: 'all addresses of their domains' },
        ],
        ...streams,
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
        ...streams,
      }),
    );
  const askOptional = async (message: string, validate: Validate, initial: string | undefined, placeholder: string) =>
    (await ask(message, (input) => (input === '' ? undefined : validate(input)), initial, placeholder)) || undefined;
  const server = 'Mail server (empty: SMTP_URL is set elsewhere)';
  const smtpUrl =
    draft.smtpUrl ?? (await askOptional(server, validateSmtpUrl, defaults.smtpUrl, 'smtp://mail.example.com:587'));
  const sender = 'Sender (empty: MAIL_FROM is set elsewhere)';
  const mailFrom =
    draft.mailFrom ?? (await askOptional(sender, validateOwner, defaults.mailFrom, 'reports@acme.example'));
  return { ...draft, org, timezone, to, allow, report, smtpUrl, mailFrom };
}
