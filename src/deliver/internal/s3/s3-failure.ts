import { DocketError, errorMessage } from '../../../base/error.ts';
import { withCertificateAdvice } from '../../../base/net/certificate-error.ts';
import { type Redact, redactUntrusted } from '../../../base/secrets/redactor.ts';
import { oneLine } from '../../../base/text/bidi.ts';
import { ForbiddenAddress } from '../address-guard.ts';

/** A failure of the store, and its consequence for the object. */
export interface S3Failure {
  /**
   * - `taken`: the key exists (the condition of the PUT)
   * - `unconditional`: the store does not support the condition
   * - `refused`: a definite refusal of this object
   * - `later`: this object may be retried
   * - `down`: the store or the credentials fail; skip other objects
   */
  readonly kind: 'taken' | 'unconditional' | 'refused' | 'later' | 'down';
  readonly status: number | undefined;
  /** S3's code, e.g. `AccessDenied`, or the code of a network error. */
  readonly code: string;
  /** A text for the ledger, without secrets. */
  readonly detail: string;
}

/** Whether a retry may succeed without any change: after a network error or a temporary error of the store. */
export const isTransient = ({ kind, status }: Pick<S3Failure, 'kind' | 'status'>): boolean =>
  kind === 'later' || (kind === 'down' && status === undefined);

/** Codes with status 400 that concern the transfer or the session, not the object. */
const TRANSIENT_CODES: ReadonlySet<string> = new Set([
  'RequestTimeout',
  'BadDigest',
  'IncompleteBody',
  'XAmzContentSHA256Mismatch',
]);
const SESSION_CODES: ReadonlySet<string> = new Set([
  'AuthorizationHeaderMalformed',
  'ExpiredToken',
  'IllegalLocationConstraintException',
  'InvalidToken',
  'TokenRefreshRequired',
]);

/** Anything else is text, not a code. */
const CODE_FORMAT = /^[A-Za-z][\w.-]{0,99}$/;

const property = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;

function classifyFailure(status: number | undefined, code: string): S3Failure['kind'] {
  if (status === undefined) return 'down';
  if (status === 412) return 'taken';
  if (status === 501) return 'unconditional';
  if (status === 408 || status === 409 || status === 429 || status >= 500) return 'later';
  if (status === 401 || status === 403 || status === 404 || status < 400) return 'down';
  if (TRANSIENT_CODES.has(code)) return 'later';
  return SESSION_CODES.has(code) ? 'down' : 'refused';
}

/**
 * Classifies an error of the SDK. Such errors contain the signed request, the response and the key id, so only the
 * code, the status and the redacted message are used.
 */
export function classifyS3Error(error: unknown, redact: Redact): S3Failure {
  const reported = property(property(error, '$metadata'), 'httpStatusCode');
  const status = typeof reported === 'number' ? reported : undefined;
  const name = property(error, 'code') ?? property(error, 'name');
  const code = typeof name === 'string' && CODE_FORMAT.test(name) && redact(name) === name ? name : 'Error';
  // The local file is at fault, not the store.
  if (error instanceof DocketError) return { kind: 'later', status, code: error.code, detail: error.message };
  if (error instanceof ForbiddenAddress) return { kind: 'refused', status, code, detail: oneLine(error.message) };
  const message = redactUntrusted(withCertificateAdvice(errorMessage(error)), redact);
  const detail = [
    status === undefined ? '' : `HTTP ${status}`,
    code === 'UnknownError' ? '' : code,
    message === 'UnknownError' || message === code ? '' : message,
  ]
    .filter((part) => part !== '')
    .join(' ');
  return { kind: classifyFailure(status, code), status, code, detail: oneLine(detail) };
}
