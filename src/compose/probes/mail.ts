import { resolve4, resolveMx } from 'node:dns/promises';
import { senderAddress } from '../../base/config/mail-sender.ts';
import { signsFor } from '../../base/config/smtp-variables.ts';
import { isErrno } from '../../base/errno.ts';
import { secretSource } from '../../base/secrets/secret.ts';
import { asciiLowerCase } from '../../base/text/fold.ts';
import { canonicalAddress } from '../../definitions/allow-lists/recipients.ts';
import { resolveTarget } from '../../definitions/schema/kinds.ts';
import { parseDkimKey } from '../../deliver/targets/email/dkim.ts';
import { deploymentSmtp, resolveMailServer } from '../../deliver/targets/email/mail-routes.ts';
import { probeSmtp, type SmtpProbe } from '../../deliver/targets/email/smtp/smtp-probe.ts';
import { TARGETS } from '../../deliver/targets/registry.ts';
import { type CheckResult, type Finding, fail, ok, runCheck, warn } from '../../services/deployment/probe.ts';
import type { Examination } from './probe-context.ts';

export function evaluateHandshake({ detail, encrypted, host }: SmtpProbe): CheckResult {
  if (encrypted) return ok(`${detail}, over TLS`);
  if (/^(localhost|127(\.\d+){3}|::1)$/.test(host)) return ok(`${detail}, without TLS on this machine`);
  return warn(
    `${detail}, without TLS: anybody on the network path can read the reports`,
    'Use smtps://, or smtp://…?tls=required if the server supports STARTTLS.',
  );
}

/** Whether DNS has a mail server or an address for the sender's domain. Undefined: DNS failed. */
export type DomainLookup = { readonly receives: boolean } | undefined;

export function evaluateSender(from: string | undefined, domain: DomainLookup, signs: string | undefined): CheckResult {
  if (from === undefined) return fail('MAIL_FROM is not set', 'Set it to the sender address of reports.');
  const plain = canonicalAddress(senderAddress(from));
  if (plain === undefined) {
    return fail(
      'MAIL_FROM is no plain address',
      'Write it as name@domain.example or Display name <name@domain.example>.',
    );
  }
  if (signs !== undefined && !signsFor(signs, plain)) {
    return warn(
      `${plain}, but DKIM signs for ${signs}: its mail is not signed`,
      'Use a sender of that domain, or a key of the sender’s domain.',
    );
  }
  if (domain !== undefined && !domain.receives) {
    return warn(
      `${plain}, whose domain has neither a mail server nor an address in DNS`,
      'Correct MAIL_FROM: bounces cannot be delivered, and many servers reject such a sender.',
    );
  }
  return ok(plain);
}

/** Reserved names, which are not in DNS (RFC 2606, RFC 6761). */
const RESERVED_DOMAINS = /(^|\.)(example|test|invalid|localhost|local|internal|example\.(com|net|org))$/;

/** Whether the domain can receive mail. Undefined if DNS failed. */
export async function lookUpDomain(domain: string): Promise<DomainLookup> {
  if (RESERVED_DOMAINS.test(domain)) return undefined;
  const found = async (look: () => Promise<readonly unknown[]>): Promise<boolean | undefined> => {
    try {
      return (await look()).length > 0;
    } catch (error) {
      return isErrno(error, 'ENOTFOUND', 'ENODATA') ? false : undefined;
    }
  };
  const answers = [await found(() => resolveMx(domain)), await found(() => resolve4(domain))];
  if (answers.includes(true)) return { receives: true };
  return answers.includes(undefined) ? undefined : { receives: false };
}

/** Checks every mail server of the deliveries once, and the senders and DKIM keys. */
export async function checkMailServers({ jobs, context }: Pick<Examination, 'jobs' | 'context'>): Promise<Finding[]> {
  const { config, env } = context;
  const mailing = new Set(
    [...jobs.reports.values()]
      .filter(({ deliveries }) => deliveries.some((each) => resolveTarget(each, TARGETS).target.usesMailServer))
      .map(({ org }) => org),
  );
  const orgs = [...jobs.orgs.values()];
  const own = orgs.filter(({ id, smtp }) => mailing.has(id) && smtp?.url !== undefined);
  const handshake = async (settings: Parameters<typeof resolveMailServer>[0]): Promise<CheckResult> => {
    const server = await resolveMailServer(settings, context);
    if (server === undefined) {
      return fail(
        'SMTP_URL is not set',
        'Set it: reports have e-mail deliveries. `docket sandbox --mail` is a substitute for trials.',
      );
    }
    return evaluateHandshake(await probeSmtp(server.url, server.options));
  };
  const findings: Finding[] = [];
  if (own.length < mailing.size) findings.push(await runCheck('Mail server (SMTP_URL)', () => handshake({})));
  const { dkim } = deploymentSmtp(config);
  if (orgs.some(({ id, smtp }) => mailing.has(id) && smtp?.from === undefined)) {
    const from = config.MAIL_FROM === undefined ? undefined : senderAddress(config.MAIL_FROM);
    const domain =
      from === undefined ? undefined : await lookUpDomain(asciiLowerCase(from.slice(from.lastIndexOf('@') + 1)));
    findings.push({ what: 'Sender (MAIL_FROM)', ...evaluateSender(from, domain, dkim?.domain) });
  }
  const dkimCheck = (what: string, { key, domain }: NonNullable<typeof dkim>, where: string) =>
    runCheck(what, async () => {
      parseDkimKey(await secretSource(env)(key), where);
      return ok(`signs for ${domain}`);
    });
  if (dkim !== undefined) {
    findings.push(await dkimCheck('DKIM key (SMTP_DKIM_KEY_FILE)', dkim, 'SMTP_DKIM_KEY_FILE'));
  }
  for (const { id, smtp } of orgs) {
    if (smtp?.dkim) findings.push(await dkimCheck(`DKIM key of ${id}`, smtp.dkim, `the smtp.dkim of ${id}`));
  }
  for (const settings of own) findings.push(await runCheck(`Mail server of ${settings.id}`, () => handshake(settings)));
  return findings;
}
