import { createHash } from 'node:crypto';
import type { ReportResponse } from '../contract/report.ts';
import { canonical } from '../plan/call.ts';
import type { ReportCall } from '../plan/plan.ts';
import type { StoredAnswer } from './response-store.ts';

/** An answer that other runs may use. */
export interface SharedAnswer extends StoredAnswer {
  readonly body: ReportResponse;
  /** The run that asked. */
  readonly askedBy: string;
}

/**
 * What an answer must be to be used: computed at most `maxAgeMs` ago, or asked for after the run began to want it, which
 * is as good as having asked itself.
 */
export interface Wish {
  readonly maxAgeMs: number;
  /** For how long (ms) the run has wanted it. */
  readonly wantedMs: number;
  /** Names the run's call, the same when the run was resumed: what its former self was asking is its own to ask again. */
  readonly holder: string;
}

export type Found =
  | { readonly kind: 'answered'; readonly answer: SharedAnswer }
  /** Another run's call is on its way, for so long (ms) at most: then its worker is taken for dead. */
  | { readonly kind: 'asking'; readonly forMs: number }
  | { readonly kind: 'nobody' };

/** The right to make the call, and the instant it was given, by the store's own clock. */
export interface Claim {
  readonly holder: string;
  readonly asked: number;
}

/**
 * Answers of calls that several runs want, each kept for a while, and who is asking now: one at a time a question.
 *
 * An answer's age counts from its claim, which no answer of the service's own can be older than, and from `behindMs`
 * before it where the service had computed it earlier. So nothing is ever taken for fresher than it is, whatever the
 * clocks of the workers say and however long one of them was frozen. Of two answers the one computed later stays.
 * Throws `redis.unreachable`.
 */
export interface SharedAnswers {
  look(question: string, wish: Wish): Promise<Found>;
  /** As `look`; where nobody asks, the caller does from now on, until it lands or releases, or for `forMs`. */
  claim(
    question: string,
    wish: Wish,
    forMs: number,
  ): Promise<Found | { readonly kind: 'claimed'; readonly claim: Claim }>;
  /**
   * The answer has come. It may be kept for nobody where there is no room for it.
   * @param behindMs how long before the claim the service had computed it
   * @param keepMs how long it is kept
   */
  land(question: string, claim: Claim, answer: SharedAnswer, behindMs: number, keepMs: number): Promise<void>;
  /** There is none: another may ask. */
  release(question: string, claim: Claim): Promise<void>;
}

/** The fingerprint of the API key with which a question is asked: what its name begins with. */
export const apiKeyOf = (question: string): string => question.split(':', 1)[0] ?? question;

/**
 * Names a question as one organization of Docket asks it with one key of the service. Two of Docket's organizations
 * never meet, not even with the same key: whose figures they may see is said in their files, not here.
 */
export const questionOf = (
  { org, request }: Pick<ReportCall, 'org' | 'request'>,
  by: { readonly tenant: string; readonly service: string; readonly key: string; readonly registryVersion: number },
): string =>
  `${by.key}:${createHash('sha256')
    .update(canonical([by.tenant, by.service, by.key, by.registryVersion, org, request]))
    .digest('hex')}`;
