import { z } from 'zod';
import { asciiLowerCase } from '../text/fold.ts';
import { senderAddress } from './mail-sender.ts';

const token = (what: string) => z.string().regex(/^[^\s\p{Cc}]{1,320}$/u, { error: what });
const file = (what: string) => z.string().min(1, { error: `the path of a file with ${what}` });
const HOST = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/;
const SELECTOR = /^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$/;

const isTokenUrl = (text: string): boolean => {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return protocol === 'https:' && username === '' && password === '';
};

/** OAuth 2 login to the deployment's mail server, and DKIM signatures. Their secrets are in files. */
export const smtpVariables = {
  SMTP_OAUTH2_USER: token('the mailbox to log in to').optional(),
  SMTP_OAUTH2_TOKEN_URL: z
    .string()
    .refine(isTokenUrl, { error: 'a URL, https://…, without user and password' })
    .optional(),
  SMTP_OAUTH2_CLIENT_ID: token('the id of the client at the token server').optional(),
  SMTP_OAUTH2_CLIENT_SECRET_FILE: file("the client's secret").optional(),
  SMTP_OAUTH2_REFRESH_TOKEN_FILE: file('a refresh token').optional(),
  SMTP_OAUTH2_SCOPE: z
    .string()
    .regex(/^[\x21-\x7e]+( [\x21-\x7e]+)*$/, { error: 'scopes separated by one space' })
    .optional(),
  SMTP_DKIM_DOMAIN: z.string().regex(HOST, { error: 'a domain such as acme.example, in lower case' }).optional(),
  SMTP_DKIM_SELECTOR: z.string().regex(SELECTOR, { error: 'the selector of the key' }).optional(),
  SMTP_DKIM_KEY_FILE: file('an RSA private key in PEM form').optional(),
};

/** Whether the domain's signature is DKIM-aligned with this sender: it is the same domain or a parent. */
export function signsFor(domain: string, sender: string): boolean {
  const host = asciiLowerCase(sender.slice(sender.lastIndexOf('@') + 1));
  return host === domain || host.endsWith(`.${domain}`);
}

type Variables = Readonly<Record<string, string | undefined>>;

/** Finds errors in combinations of variables, formatted as by `readConfig`: an incomplete login must not be ignored. */
export function smtpDiagnostics(values: Variables): string[] {
  return [...groupDiagnostics(values), ...senderDiagnostics(values)];
}

function groupDiagnostics(values: Variables): string[] {
  const missing = (prefix: string, needed: readonly string[]): string[] => {
    const some = Object.keys(values).find((name) => name.startsWith(prefix));
    if (some === undefined) return [];
    return needed
      .filter((names) => !names.split(' or ').some((name) => values[name] !== undefined))
      .map((names) => `${names}: expected a value, since ${some} is set; got nothing`);
  };
  return [
    ...missing('SMTP_OAUTH2_', [
      'SMTP_URL',
      'SMTP_OAUTH2_USER',
      'SMTP_OAUTH2_TOKEN_URL',
      'SMTP_OAUTH2_CLIENT_ID',
      'SMTP_OAUTH2_CLIENT_SECRET_FILE or SMTP_OAUTH2_REFRESH_TOKEN_FILE',
    ]),
    ...missing('SMTP_DKIM_', ['SMTP_DKIM_DOMAIN', 'SMTP_DKIM_SELECTOR', 'SMTP_DKIM_KEY_FILE']),
  ];
}

function senderDiagnostics({ SMTP_DKIM_DOMAIN: domain, MAIL_FROM: from }: Variables): string[] {
  if (domain === undefined || from === undefined || signsFor(domain, senderAddress(from))) return [];
  return [
    `SMTP_DKIM_DOMAIN: expected the domain of MAIL_FROM or a parent of it, got "${domain}" with MAIL_FROM "${from}"`,
  ];
}
