import { z } from 'zod';

const word = (what: string) => z.string().regex(/^[^\s\p{Cc}]{1,320}$/u, { error: what });
const file = (what: string) => z.string().min(1, { error: `the path of a file with ${what}` });
const HOST = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/;
const SELECTOR = /^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$/;

const isTokenUrl = (text: string): boolean => {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return protocol === 'https:' && username === '' && password === '';
};

/** How the deployment's mail server is logged into by token, and how its mail is signed. Secrets are in files. */
export const smtpVariables = {
  SMTP_OAUTH2_USER: word('the mailbox that is logged into').optional(),
  SMTP_OAUTH2_TOKEN_URL: z
    .string()
    .refine(isTokenUrl, { error: 'a URL, https://…, without user and password' })
    .optional(),
  SMTP_OAUTH2_CLIENT_ID: word('the id of the client at the token server').optional(),
  SMTP_OAUTH2_CLIENT_SECRET_FILE: file("the client's secret").optional(),
  SMTP_OAUTH2_REFRESH_TOKEN_FILE: file('a refresh token').optional(),
  SMTP_OAUTH2_SCOPE: z
    .string()
    .regex(/^[\x21-\x7e]+( [\x21-\x7e]+)*$/, { error: 'scopes, with one space between two' })
    .optional(),
  SMTP_DKIM_DOMAIN: z.string().regex(HOST, { error: 'a domain such as acme.example, in lower case' }).optional(),
  SMTP_DKIM_SELECTOR: z.string().regex(SELECTOR, { error: 'the selector of the key' }).optional(),
  SMTP_DKIM_KEY_FILE: file('an RSA private key in PEM form').optional(),
};

/** Whether a signature for the domain speaks for this sender: receivers look for the same domain, or one above it. */
export function signsFor(domain: string, sender: string): boolean {
  const host = sender.slice(sender.lastIndexOf('@') + 1).toLowerCase();
  return host === domain || host.endsWith(`.${domain}`);
}

type Given = Readonly<Record<string, string | undefined>>;

/** What is wrong with the variables together, a line each as `readConfig` says them: a half-told login would be none. */
export function smtpFaults(given: Given): string[] {
  return [...groupFaults(given), ...senderFaults(given)];
}

function groupFaults(given: Given): string[] {
  const missing = (prefix: string, needed: readonly string[]): string[] => {
    const some = Object.keys(given).find((name) => name.startsWith(prefix));
    if (some === undefined) return [];
    return needed
      .filter((names) => !names.split(' or ').some((name) => given[name] !== undefined))
      .map((names) => `${names}: expected a value beside ${some}, got nothing`);
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

function senderFaults({ SMTP_DKIM_DOMAIN: domain, MAIL_FROM: from }: Given): string[] {
  if (domain === undefined || from === undefined || signsFor(domain, from)) return [];
  return [`SMTP_DKIM_DOMAIN: expected the domain of MAIL_FROM or one above it, got "${domain}" beside "${from}"`];
}
