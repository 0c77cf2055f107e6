import { errors } from 'undici';
import { DocketError } from '../../base/error.ts';
import { certificateFault } from '../../base/net/certificate-error.ts';
import { ProxyError } from '../../base/net/proxies.ts';

/** All times are in ms. `total` limits a request from dispatch to the last byte. */
export interface RequestTimeouts {
  readonly connect: number;
  readonly headers: number;
  readonly body: number;
  readonly total: number;
}

const TIMEOUT_CODES: ReadonlySet<string> = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
]);

/**
 * Makes `api.timeout` or `api.unreachable` from a failed request. undici's errors contain hosts and codes, never
 * headers.
 */
export function networkError(
  cause: unknown,
  request: {
    /** `METHOD path`. */
    readonly where: string;
    readonly origin: string;
    readonly deadlinePassed: boolean;
    readonly timeouts: RequestTimeouts;
  },
): DocketError {
  const { where, origin, deadlinePassed, timeouts } = request;
  if (cause instanceof ProxyError) {
    return new DocketError('api.unreachable', cause.message, { where, got: cause.code, next: cause.next, cause });
  }
  const code = findErrorCode(cause);
  if (deadlinePassed || TIMEOUT_CODES.has(code)) {
    return new DocketError('api.timeout', 'The service did not respond in time.', {
      where,
      expected: `a response within ${timeouts.total} ms (connection ${timeouts.connect}, headers ${timeouts.headers}, body idle ${timeouts.body})`,
      got: deadlinePassed ? 'none' : code,
      next: 'Try again later; check the network between this machine and the service.',
      cause,
    });
  }
  const fault = certificateFault(code);
  if (fault !== undefined) {
    return new DocketError('api.unreachable', `The certificate of the service ${fault.what}.`, {
      where,
      expected: `a valid certificate for ${origin}`,
      got: code,
      next: fault.next,
      cause,
    });
  }
  const disconnected = cause instanceof errors.SocketError || code === 'ECONNRESET' || code === 'EPIPE';
  return new DocketError(
    'api.unreachable',
    disconnected ? 'The connection to the service was lost.' : 'The service cannot be reached.',
    {
      where,
      expected: `a service at ${origin}`,
      got: code,
      next: 'Check COMPLIANCE_API_URL, the network and the name resolution.',
      cause,
    },
  );
}

const NOT_SENT_CODES: ReadonlySet<string> = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'PROXY_REFUSED',
  'PROXY_UNREACHABLE',
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);

/** Whether the request failed before it was sent, so that the service has not counted it. */
export const requestNotSent = (error: DocketError): boolean => NOT_SENT_CODES.has(findErrorCode(error.cause));

/**
 * The first code in the chain of causes. When connections to several addresses are refused, the code is one level down.
 */
function findErrorCode(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return findErrorCode(error.errors[0]);
  if (error instanceof Error) {
    if ('code' in error && typeof error.code === 'string') return error.code;
    if (error.cause !== undefined) return findErrorCode(error.cause);
    return error.name;
  }
  return 'an unknown failure';
}
