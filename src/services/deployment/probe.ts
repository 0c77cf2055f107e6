import { toDocketError } from '../../base/error.ts';

/** What a probe found. */
export interface CheckResult {
  readonly state: 'ok' | 'warn' | 'fail';
  /** The cause. Never a secret. */
  readonly detail: string;
  /** What to do; absent for `ok`. */
  readonly remedy?: string;
  /** Set where reports do not go out, or soon will not, whatever their definitions say: the page shows it. */
  readonly problem?: string;
  /** Since when, epoch ms, where it is known. */
  readonly since?: number;
  /** What does not work because of it: a phrase. */
  readonly affects?: string;
  /** Only these organizations see the problem on the page, and none but those who see all if the list is empty. */
  readonly orgs?: readonly string[];
}

/** The result of one check: a line of `docket doctor`. */
export interface Finding extends CheckResult {
  readonly what: string;
}

/** Why reports do not go out, or soon will not. Without `orgs` it is public to every reader of the page. */
export interface DeploymentProblem extends Pick<CheckResult, 'since' | 'affects' | 'orgs'> {
  readonly code: string;
  readonly message: string;
  /** What to do. */
  readonly next: string;
}

/** A check of `/readyz`. `detail` is public. */
export interface HealthCheck {
  readonly name: string;
  readonly ok: boolean;
  readonly detail?: string;
  /** What to do; absent where the name of the check decides. */
  readonly remedy?: string | undefined;
}

export const ok = (detail: string): CheckResult => ({ state: 'ok', detail });
export const warn = (detail: string, remedy: string): CheckResult => ({ state: 'warn', detail, remedy });
export const fail = (detail: string, remedy: string): CheckResult => ({ state: 'fail', detail, remedy });

/** A failed check. */
export function resultOfError(thrown: unknown): CheckResult {
  const { message, got, next } = toDocketError(thrown);
  const detail = got === undefined ? message : `${message.replace(/\.$/, '')} (${got})`;
  return { state: 'fail', detail, ...(next === undefined ? {} : { remedy: next }) };
}

/** Turns a thrown error into a finding, so that the other checks continue. */
export async function runCheck(what: string, look: () => CheckResult | Promise<CheckResult>): Promise<Finding> {
  try {
    return { what, ...(await look()) };
  } catch (thrown) {
    return { what, ...resultOfError(thrown) };
  }
}

/** One finding as text, its remedy on a second line. */
export const formatFinding = ({ what, state, detail, remedy }: Finding): string =>
  `${state.padEnd(4)}  ${what}: ${detail}${remedy === undefined ? '' : `\n      ${remedy}`}`;

/** At most five names. */
export const formatSome = (names: readonly string[]): string =>
  `${names.slice(0, 5).join(', ')}${names.length <= 5 ? '' : ` and ${names.length - 5} more`}`;

/** The problem that a result tells of, with its cause as a sentence. */
export const problemOf = ({ problem, detail, remedy = '', since, affects, orgs }: CheckResult): DeploymentProblem[] =>
  problem === undefined
    ? []
    : [
        {
          code: problem,
          message: `${detail.charAt(0).toUpperCase()}${detail.slice(1).replace(/\.$/, '')}.`,
          next: remedy,
          ...(since === undefined ? {} : { since }),
          ...(affects === undefined ? {} : { affects }),
          ...(orgs === undefined ? {} : { orgs }),
        },
      ];

/** Bytes for people: `1.5 GB`. */
export function formatByteSize(bytes: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB'] as const;
  let value = bytes;
  let index = 0;
  while (value >= 1024 && index < units.length - 1) {
    value /= 1024;
    index += 1;
  }
  return `${index === 0 || value >= 100 ? Math.round(value) : Number(value.toFixed(1))} ${units[index]}`;
}
