import { DocketError, errorSentence } from '../../base/error.ts';
import { isPrivateHost, normalizeHost } from '../../base/net/private-address.ts';
import type { Redact } from '../../base/secrets/redactor.ts';
import type { SecretRef, SecretSource } from '../../base/secrets/secret.ts';
import { describeValue } from '../../definitions/diagnostics/diagnostic.ts';
import type { DiagnosticText } from '../../definitions/schema/kinds.ts';
import type { AttemptResult } from '../attempt.ts';
import type { DestinationGuard } from '../destination-guard.ts';
import { isTargetRefusal } from './target.ts';

/** Where a target posts to. */
export interface PostUrl {
  /** A reference if the URL is secret; then the host is not shown either. */
  readonly url: string | SecretRef;
  /** For people, e.g. `webhook of ACME_HOOK`. */
  readonly name: string;
}

const ALLOW_PRIVATE_HINT = 'if it is right, write "allow_private: true" into org.yaml';

/**
 * The error for a URL that only organizations with `allow_private` may use. Judges the URL alone; the delivery also
 * checks the address that it connects to.
 * @param what `a webhook`
 */
export function urlDiagnostic(what: string, url: string): DiagnosticText | undefined {
  const { protocol, hostname, origin } = new URL(url);
  const located = { got: describeValue(origin), next: ALLOW_PRIVATE_HINT };
  if (isPrivateHost(normalizeHost(hostname))) {
    return { message: `${what} to a private address`, expected: 'an address on the public internet', ...located };
  }
  if (protocol === 'https:') return undefined;
  return { expected: `https: what ${what} tells is read on the way otherwise`, ...located };
}

/** Reads the URL, which may be secret. Throws `config.secret_missing`, `config.invalid`. */
export async function readPostUrl({ url, name }: PostUrl, secrets: SecretSource): Promise<URL> {
  const text = typeof url === 'string' ? url : (await secrets(url)).reveal();
  if (URL.canParse(text)) {
    const parsed = new URL(text);
    const { protocol, username, password } = parsed;
    if (['https:', 'http:'].includes(protocol) && username === '' && password === '') return parsed;
  }
  throw new DocketError('config.invalid', `The URL of the ${name} is invalid.`, {
    expected: 'a URL, https://…, without user and password',
    got: 'a text in another form (not shown)',
    next: 'Correct the value that the reference names.',
  });
}

/**
 * Checks a URL against the organization's `allow_private` and `destinations`. For URLs that the definition's check
 * cannot see, because they are secret or come from a server. Throws `deliver.target_refused`.
 * @param what `webhook`
 */
export function assertUsable(
  url: URL,
  what: string,
  { allowPrivate, guard, isSecret }: UrlRules & { readonly isSecret: boolean },
): void {
  const diagnostic = allowPrivate ? undefined : urlDiagnostic(`a ${what}`, url.href);
  if (diagnostic !== undefined) {
    throw new DocketError('deliver.target_refused', `The ${what} is not an allowed destination.`, {
      expected: diagnostic.expected,
      got: diagnostic.got,
      next: `${diagnostic.next}.`,
    });
  }
  guard.assertHost(url.hostname, isSecret ? 'another host (not shown)' : url.hostname);
}

export interface UrlRules {
  readonly allowPrivate: boolean;
  readonly guard: Pick<DestinationGuard, 'assertHost'>;
}

/** Values of a query, such as a signature, and parts of a path that are at least this long may be repeated alone. */
const MIN_VALUE_LENGTH = 8;
const MIN_SEGMENT_LENGTH = 16;

/**
 * Makes a redactor for a secret URL. Receivers may repeat it in an error: its path or its query, however short, or a
 * part of them, as it is or decoded.
 */
export function urlRedactor(url: URL, isSecret: boolean, { redactor }: SecretSource): Redact {
  if (!isSecret) return redactor.redact;
  const values = url.search.split(/[?&=]/).filter(({ length }) => length >= MIN_VALUE_LENGTH);
  const segments = url.pathname.split('/').filter(({ length }) => length >= MIN_SEGMENT_LENGTH);
  const decoded = [...url.searchParams.values()].filter(({ length }) => length >= MIN_VALUE_LENGTH);
  const whole = [url.href, url.pathname + url.search, url.pathname, url.search].filter((part) => part.length > 1);
  const secretParts = [...whole, ...values, ...decoded, ...segments];
  return (text) => secretParts.reduce((rest, part) => rest.replaceAll(part, '[secret]'), redactor.redact(text));
}

/** The result of an attempt that ended before anything was sent. */
export function preparationResult(error: unknown): AttemptResult {
  if (!(error instanceof DocketError)) return { state: 'pending', detail: String(error), targetDown: true };
  const { message, got, next } = error;
  const detail = errorSentence({ message, got, next, expected: undefined });
  return isTargetRefusal(error) ? { state: 'refused', detail } : { state: 'pending', detail, targetDown: true };
}
