import { DocketError, wordsOf } from '../base/error.ts';
import { foreignText, type Redact } from '../base/redactor.ts';
import { ForbiddenAddress } from './guarded-lookup.ts';
import { oneLine } from './one-line.ts';

/** What a failure of the store means for the object that was on its way. */
export interface S3Failure {
  /**
   * - `taken`: something stands under the key already (the condition of the PUT)
   * - `unconditional`: the store does not know the condition
   * - `refused`: a definite no to this object
   * - `later`: this object may be tried again
   * - `down`: the store, or who we are there, has to be put right first; other objects need not try
   */
  readonly kind: 'taken' | 'unconditional' | 'refused' | 'later' | 'down';
  readonly status: number | undefined;
  /** S3's own code, e.g. `AccessDenied`, or the class of a failure of the network. */
  readonly code: string;
  /** For the ledger, without secrets. */
  readonly said: string;
}

/** Whether the failure passes by itself: the network, or what the store says of this moment. */
export const passes = ({ kind, status }: Pick<S3Failure, 'kind' | 'status'>): boolean =>
  kind === 'later' || (kind === 'down' && status === undefined);

/** 400 with these is about the session or the way, not about the object. */
const PASSING: ReadonlySet<string> = new Set([
  'RequestTimeout',
  'BadDigest',
  'IncompleteBody',
  'XAmzContentSHA256Mismatch',
]);
const SESSION: ReadonlySet<string> = new Set([
  'AuthorizationHeaderMalformed',
  'ExpiredToken',
  'IllegalLocationConstraintException',
  'InvalidToken',
  'TokenRefreshRequired',
]);

/** Of any other form it is no code, but a text. */
const CODE = /^[A-Za-z][\w.-]{0,99}$/;

const property = (of: unknown, name: string): unknown =>
  typeof of === 'object' && of !== null ? Reflect.get(of, name) : undefined;

function kindOf(status: number | undefined, code: string): S3Failure['kind'] {
  if (status === undefined) return 'down';
  if (status === 412) return 'taken';
  if (status === 501) return 'unconditional';
  if (status === 408 || status === 409 || status === 429 || status >= 500) return 'later';
  if (status === 401 || status === 403 || status === 404 || status < 400) return 'down';
  if (PASSING.has(code)) return 'later';
  return SESSION.has(code) ? 'down' : 'refused';
}

/**
 * Reads what the SDK threw. Its errors carry the request with the signature, the answer with the text that was signed
 * and the id of the key: of all that only code, status and sentence are used, and what is a secret of ours is taken out.
 */
export function readS3Failure(error: unknown, redact: Redact): S3Failure {
  const reported = property(property(error, '$metadata'), 'httpStatusCode');
  const status = typeof reported === 'number' ? reported : undefined;
  const name = property(error, 'code') ?? property(error, 'name');
  const code = typeof name === 'string' && CODE.test(name) && redact(name) === name ? name : 'Error';
  // The file on our own disk is what is wrong, not the store.
  if (error instanceof DocketError) return { kind: 'later', status, code: error.code, said: error.message };
  if (error instanceof ForbiddenAddress) return { kind: 'refused', status, code, said: oneLine(error.message) };
  const words = foreignText(wordsOf(error), redact);
  const sentence = [code === 'UnknownError' ? '' : code, words === 'UnknownError' || words === code ? '' : words];
  const said = [status === undefined ? '' : `HTTP ${status}`, ...sentence].filter((part) => part !== '').join(' ');
  return { kind: kindOf(status, code), status, code, said: oneLine(said) };
}
