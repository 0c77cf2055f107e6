import type { PROBLEM_CODES } from '../contract/problem.ts';

/** Codes of the table in specification §7, and those we chose where it shows none. */
export type RefusalCode = keyof typeof PROBLEM_CODES | 'not_found' | 'method_not_allowed';

/** One entry of a 422's `errors` (specification §7). `pointer` is a JSON pointer into the request body. */
export interface Fault422 {
  readonly pointer: string;
  readonly code: 'invalid' | 'required' | 'unknown' | 'too_many' | 'duplicate';
  readonly detail: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** A request that is answered with a problem. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: 401 | 403 | 404 | 405 | 422 | 429;
  readonly code: RefusalCode;
  readonly errors: readonly Fault422[] | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: Refusal['status'],
    code: RefusalCode,
    detail: string,
    more: { readonly errors?: readonly Fault422[]; readonly headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(detail);
    this.status = status;
    this.code = code;
    this.errors = more.errors;
    this.headers = more.headers ?? {};
  }
}

export const notFound = (detail: string) => new Refusal(404, 'not_found', detail);
export const forbidden = (detail: string) => new Refusal(403, 'permission_denied', detail);
