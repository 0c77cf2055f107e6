import type { Readable, Writable } from 'node:stream';
import { type CANCEL_SYMBOL, isCancel, log, note, select, text } from '@clack/prompts';
import { DocketError } from '../../base/error.ts';
import type { SecretRef } from '../../base/secret.ts';
import {
  addressesFault,
  howToSet,
  idOf,
  isSet,
  keyEnvFault,
  keyFileFault,
  type Look,
  orgFault,
  ownerFault,
  smtpFault,
  urlFault,
  zoneFault,
} from './answers.ts';
import { type Draft, machineZone, ownOrganization, readAddresses } from './draft.ts';
import type { Seen } from './service.ts';

/** Where questions are put and answered; the terminal when absent. */
export interface Desk {
  readonly input?: Readable;
  readonly output?: Writable;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** What the person said, or `run.cancelled` for Ctrl-C and Escape, which no signal comes of while a question stands. */
function said<Value extends string | number>(answer: Value | typeof CANCEL_SYMBOL): Value {
  if (!isCancel(answer)) return answer;
  throw new DocketError('run.cancelled', 'Stopped; nothing was written.');
}

async function line(
  message: string,
  look: Look,
  first: string | undefined,
  desk: Desk,
  hint?: string,
): Promise<string> {
  const answer = await text({
    message,
    ...(hint === undefined ? {} : { placeholder: hint }),
    ...(first === undefined ? {} : { initialValue: first }),
    validate: (given) => look(given?.trim() ?? ''),
    ...desk,
  });
  return said(answer).trim();
}

/** The service and where its key is. What the draft has is not asked; what the environment has is offered. */
export async function askPlace(draft: Draft, offered: Draft, env: Environment, desk: Desk = {}): Promise<Draft> {
  const url =
    draft.url ?? (await line('URL of the Compliance Service', urlFault, offered.url, desk, 'https://api.example.com'));
  const key = draft.key ?? (await askKey(offered.key, desk));
  if (!(await isSet(key, env))) {
    note(`${howToSet(key)}`, 'The key is not there yet. Set it, now or later, with:', desk);
  }
  return { ...draft, url, key };
}

async function askKey(offered: SecretRef | undefined, desk: Desk): Promise<SecretRef> {
  const kind = said(
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
    return { file: await line('Path of the file', keyFileFault, undefined, desk, '/run/secrets/api-key') };
  const first = offered !== undefined && 'env' in offered ? offered.env : 'COMPLIANCE_API_KEY';
  return { env: await line('Name of the variable', keyEnvFault, first, desk) };
}

/** Which organization it is about: asked only where the key reaches several. */
export async function askOrganization(draft: Draft, seen: Seen, desk: Desk = {}): Promise<Draft> {
  const { organizations = [] } = seen;
  if (draft.serviceOrg !== undefined || organizations.length < 2) return draft;
  const serviceOrg = said(
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
export async function askRest(draft: Draft, seen: Seen, offered: Draft, desk: Desk = {}): Promise<Draft> {
  const known = ownOrganization(seen, draft.serviceOrg);
  if (seen.catalog !== undefined) {
    log.success(
      `The key works${known === undefined ? '' : `: ${known.name}`}, ${seen.catalog.metrics.length} metrics`,
      desk,
    );
  }
  for (const { message, next } of seen.faults) log.warn(`${message}${next === undefined ? '' : `\n${next}`}`, desk);
  const org =
    draft.org ??
    (await line('Short name of the organization (its folder)', orgFault, known && idOf(known.name), desk, 'acme'));
  const timezone =
    draft.timezone ??
    (await line('Time zone of periods and schedules', zoneFault, machineZone(), desk, 'Europe/Zurich'));
  const to =
    draft.to ??
    readAddresses(
      await line(
        'Who gets the reports? (addresses, with commas)',
        addressesFault,
        undefined,
        desk,
        'lead@acme.example',
      ),
    );
  const allow =
    draft.allow ??
    said(
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
    said(
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
    optional(
      await line(
        'Mail server (empty: SMTP_URL is set elsewhere)',
        orEmpty(smtpFault),
        offered.smtpUrl,
        desk,
        'smtp://mail.example.com:587',
      ),
    );
  const mailFrom =
    draft.mailFrom ??
    optional(
      await line(
        'Sender (empty: MAIL_FROM is set elsewhere)',
        orEmpty(ownerFault),
        offered.mailFrom,
        desk,
        'reports@acme.example',
      ),
    );
  return { ...draft, org, timezone, to, allow, report, smtpUrl, mailFrom };
}

const orEmpty =
  (look: Look): Look =>
  (given) =>
    given === '' ? undefined : look(given);

const optional = (given: string): string | undefined => (given === '' ? undefined : given);
