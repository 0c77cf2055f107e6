import { resolve4, resolveMx } from 'node:dns/promises';
import { secretSource } from '../../base/secret.ts';
import { signsFor } from '../../base/smtp-variables.ts';
import { deploymentSmtp, mailServerOf } from '../../compose/mail.ts';
import type { Surroundings } from '../../compose/ports.ts';
import type { Jobs } from '../../define/load.ts';
import { canonicalAddress } from '../../define/recipients.ts';
import { readDkimKey } from '../../deliver/dkim.ts';
import { probeMail } from '../../deliver/probe.ts';
import { examine, type Finding, fail, ok, type Verdict, warn } from './finding.ts';

/** What a handshake has shown. */
export interface Handshake {
  /** In words, without a secret. */
  readonly said: string;
  readonly encrypted: boolean;
  readonly host: string;
}

export function judgeHandshake({ said, encrypted, host }: Handshake): Verdict {
  if (encrypted) return ok(`${said}, over TLS`);
  if (/^(localhost|127(\.\d+){3}|::1)$/.test(host)) return ok(`${said}, without TLS on this machine`);
  return warn(
    `${said}, without TLS: whoever is in between can read the reports`,
    'Use smtps://, or smtp://…?tls=required where the server has STARTTLS.',
  );
}

/** What DNS knows of the sender's domain; undefined: it could not be asked. */
export type Domain = { readonly receives: boolean } | undefined;

export function judgeSender(from: string | undefined, domain: Domain, signs: string | undefined): Verdict {
  if (from === undefined) return fail('MAIL_FROM is not set', 'Set it to the address that reports come from.');
  const plain = canonicalAddress(from);
  if (plain === undefined) {
    return fail('MAIL_FROM is no plain address', 'Write it as name@domain.example, without a display name.');
  }
  if (signs !== undefined && !signsFor(signs, plain)) {
    return warn(
      `${plain}, but DKIM signs for ${signs}: its mail leaves unsigned`,
      'Use a sender of the domain that is signed for, or a key of the sender’s domain.',
    );
  }
  if (domain !== undefined && !domain.receives) {
    return warn(
      `${plain}, whose domain has neither a mail server nor an address in DNS`,
      'Correct MAIL_FROM: bounces have nowhere to go, and many receivers refuse such a sender.',
    );
  }
  return ok(plain);
}

/** Names that nobody can register (RFC 2606, RFC 6761): there is nothing to look up. */
const RESERVED = /(^|\.)(example|test|invalid|localhost|local|internal|example\.(com|net|org))$/;

/** Whether anything receives mail for the domain. */
export async function lookUpDomain(domain: string): Promise<Domain> {
  if (RESERVED.test(domain)) return undefined;
  const found = async (look: () => Promise<readonly unknown[]>): Promise<boolean | undefined> => {
    try {
      return (await look()).length > 0;
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined;
      return code === 'ENOTFOUND' || code === 'ENODATA' ? false : undefined;
    }
  };
  const answers = [await found(() => resolveMx(domain)), await found(() => resolve4(domain))];
  if (answers.includes(true)) return { receives: true };
  return answers.includes(undefined) ? undefined : { receives: false };
}

/** Every mail server that a delivery would use, once; the senders and the keys that sign. */
export async function examineMail(jobs: Jobs, around: Surroundings): Promise<Finding[]> {
  const { config, env } = around;
  const mailing = new Set(
    [...jobs.reports.values()].filter(({ deliveries }) => deliveries.some(({ email }) => email)).map(({ org }) => org),
  );
  const orgs = [...jobs.orgs.values()];
  const own = orgs.filter(({ id, smtp }) => mailing.has(id) && smtp?.url !== undefined);
  const handshake = async (settings: Parameters<typeof mailServerOf>[0]): Promise<Verdict> => {
    const server = await mailServerOf(settings, around);
    if (server === undefined) {
      return fail(
        'SMTP_URL is not set',
        'Set it: reports have e-mail deliveries. `docket sandbox --mail` is a stand-in.',
      );
    }
    return judgeHandshake(await probeMail(server.url, server.options));
  };
  const findings: Finding[] = [];
  if (own.length < mailing.size) findings.push(await examine('Mail server (SMTP_URL)', () => handshake({})));
  const { dkim } = deploymentSmtp(config);
  if (orgs.some(({ id, smtp }) => mailing.has(id) && smtp?.from === undefined)) {
    const from = config.MAIL_FROM;
    const domain =
      from === undefined ? undefined : await lookUpDomain(from.slice(from.lastIndexOf('@') + 1).toLowerCase());
    findings.push({ what: 'Sender (MAIL_FROM)', ...judgeSender(from, domain, dkim?.domain) });
  }
  if (dkim !== undefined) {
    findings.push(
      await examine('DKIM key (SMTP_DKIM_KEY_FILE)', async () => {
        readDkimKey(await secretSource(env)(dkim.key), 'SMTP_DKIM_KEY_FILE');
        return ok(`signs for ${dkim.domain}`);
      }),
    );
  }
  for (const { id, smtp } of orgs) {
    const signature = smtp?.dkim;
    if (signature === undefined) continue;
    findings.push(
      await examine(`DKIM key of ${id}`, async () => {
        readDkimKey(await secretSource(env)(signature.key), `the smtp.dkim of ${id}`);
        return ok(`signs for ${signature.domain}`);
      }),
    );
  }
  for (const settings of own) findings.push(await examine(`Mail server of ${settings.id}`, () => handshake(settings)));
  return findings;
}
