import { toDocketError } from '../../base/error.ts';

/** The result of a probe. */
export interface CheckResult {
  readonly state: 'ok' | 'warn' | 'fail';
  /** The cause. Never contains a secret. */
  readonly detail: string;
  /** What to do. Absent for `ok`. */
  readonly remedy?: string;
  /** Set if reports do not go out, or soon will not, whatever their definitions say. The page shows it. */
  readonly problem?: string;
  /** Since when, epoch ms, if known. */
  readonly since?: number;
  /** What does not work because of it, as a phrase. */
  readonly affects?: string;
  /**
   * Only these organizations see the problem on the page. If the list is empty, only readers who see all organizations
   * do.
   */
  readonly orgs?: readonly string[];
}

/** The result of one check: a line of `docket doctor`. */
export interface Finding extends CheckResult {
  readonly what: string;
}

/** Why reports do not go out, or soon will not. Without `orgs`, every reader of the page can see it. */
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
  /** What to do. Absent if the check's name determines it. */
  readonly remedy?: string | undefined;
}

export const ok = (detail: string): CheckResult => ({ state: 'ok', detail });
export const warn = (detail: string, remedy: string): CheckResult => ({ state: 'warn', detail, remedy });
export const fail = (detail: string, remedy: string): CheckResult => ({ state: 'fail', detail, remedy });

/** The result of a failed check. */
export function resultOfError(thrown: unknown): CheckResult {
  const { message, got, next } = toDocketError(thrown);
  const detail = got === undefined ? message : `${message.replace(/\.$/, '')} (${got})`;
  return { state: 'fail', detail, ...(next === undefined ? {} : { remedy: next }) };
}

/** Runs a check, and turns a thrown error into a finding, so that other checks continue. */
export async function runCheck(what: string, look: () => CheckResult | Promise<CheckResult>): Promise<Finding> {
  try {
    return { what, ...(await look()) };
  } catch (thrown) {
    return { what, ...resultOfError(thrown) };
  }
}

/** One finding as text, with its remedy on a second line. */
export const formatFinding = ({ what, state, detail, remedy }: Finding): string =>
  `${state.padEnd(4)}  ${what}: ${detail}${remedy === undefined ? '' : `\n      ${remedy}`}`;

/** Lists at most five of the names. */
export const formatSome = (names: readonly string[]): string =>
  `${names.slice(0, 5).join(', ')}${names.length <= 5 ? '' : ` and ${names.length - 5} more`}`;

/** The problem that a result describes, with its cause as a sentence. */
export const toProblems = ({ problem, detail, remedy = '', since, affects, orgs }: CheckResult): DeploymentProblem[] =>
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
