import type { PROBLEM_CODES } from '../contract/problem.ts';

/** Codes of specification §7, and our own for errors that it does not define. */
export type SandboxProblemCode = keyof typeof PROBLEM_CODES | 'not_found' | 'method_not_allowed';

/** One entry of a 422's `errors` (specification §7). `pointer` is a JSON pointer into the request body. */
export interface ValidationProblem {
  readonly pointer: string;
  readonly code: 'invalid' | 'required' | 'unknown' | 'too_many' | 'duplicate';
  readonly detail: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** Thrown to respond to a request with a problem. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  readonly status: 401 | 403 | 404 | 405 | 422 | 429;
  readonly code: SandboxProblemCode;
  readonly errors: readonly ValidationProblem[] | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: ProblemError['status'],
    code: SandboxProblemCode,
    detail: string,
    more: { readonly errors?: readonly ValidationProblem[]; readonly headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(detail);
    this.status = status;
    this.code = code;
    this.errors = more.errors;
    this.headers = more.headers ?? {};
  }
}

export const notFound = (detail: string) => new ProblemError(404, 'not_found', detail);
export const forbidden = (detail: string) => new ProblemError(403, 'permission_denied', detail);
