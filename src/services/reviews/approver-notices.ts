import { z } from 'zod';
import { runPageUrl } from '../../base/config/public-url.ts';
import { toDocketError } from '../../base/error.ts';
import { asciiLowerCase } from '../../base/text/fold.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { Definition } from '../../definitions/schema/report-definition.ts';
import type { AttemptRecord } from '../../deliver/archive/attempt-log.ts';
import { parseMetadata } from '../../deliver/archive/run-folder/run-metadata.ts';
import {
  type ArchivedState,
  DELIVERY_STATES,
  deliveryId,
  type NewDelivery,
  NOTICE_TARGET,
} from '../../deliver/ledger/ledger.ts';
import { sendNotice } from '../../deliver/notices/notice-sender.ts';
import { buildReviewNotice } from '../../deliver/notices/review-notice.ts';
import type { Reviews } from '../../run/review/load-review.ts';
import type { RunOrder } from '../../run/run-record.ts';
import { noticePorts } from '../deliveries/owner-notices.ts';
import type { Deployment, Sending } from '../deployment/deployment.ts';
import { type DueNotice, dueNotices, type NoticeScope } from './due-notices.ts';

/** A notice that could not be sent for this long is dropped. */
const MAX_NOTICE_AGE_MS = 3 * 86_400_000;

/** What a review's notices are made from. */
export interface NoticeReview extends NoticeScope {
  readonly order: RunOrder;
  readonly definition: NoticeScope['definition'] & Pick<Definition, 'title' | 'locale'>;
  readonly settings: OrgSettings;
}

export type ReviewNotices = ReturnType<typeof createReviewNotices>;

/** Sends notices about reviews to approvers, owners and authors. */
export function createReviewNotices(deployment: Deployment, sending: Sending) {
  const { reviews, ledger, config, clock, log } = deployment;

  const sendOne = async (review: NoticeReview, { key, recipient, at, news }: DueNotice): Promise<boolean> => {
    const { order, definition, settings } = review;
    const { id: run, org, report } = order;
    const id = deliveryId(run, NOTICE_TARGET, `${key} ${asciiLowerCase(recipient)}`);
    const known = await ledger.find(id);
    if (known !== undefined && known.state !== 'pending' && known.state !== 'sending') return true;
    const archived = known === undefined ? await archivedState(reviews, order, id) : undefined;
    const row: NewDelivery = { id, run, org, report, target: NOTICE_TARGET, recipient };
    const content = {
      order,
      definition,
      locale: definition.locale ?? settings.locale,
      organization: settings.name ?? settings.id,
      pageUrl: runPageUrl(config.DOCKET_PUBLIC_URL, run),
      timezone: settings.timezone,
    };
    const { state, detail } = await sendNotice(
      row,
      () => buildReviewNotice(content, news),
      at,
      await noticePorts(deployment, sending, settings, (event) => sending.observe(order, event)),
      { state: archived, recordAttempt: (attempt) => recordAttempt(reviews, order, attempt) },
    );
    if (state === 'refused' || state === 'unknown') {
      log.warn('Notice about a review was not delivered', { run, org, report, state, why: detail ?? '' });
    }
    return state !== 'pending' && state !== 'sending';
  };

  return {
    /**
     * Sends the due notices that were not sent yet. Each notice is a delivery with a ledger row (target `notice`), and
     * the review's archive records its attempts. So it is sent only once, even after Redis was lost.
     * @returns whether nothing is left to send; if not, call it again
     */
    send: async (review: NoticeReview): Promise<boolean> => {
      let settled = true;
      for (const notice of dueNotices(review)) {
        // A notice about an outdated state is useless, and must not keep the review open either. While the review waits
        // for approval, it is open anyway.
        const isCurrent = notice.news.kind === 'approval' || notice.news.kind === 'reminder';
        if (clock.now() - notice.at > MAX_NOTICE_AGE_MS && !isCurrent) continue;
        try {
          settled = (await sendOne(review, notice)) && settled;
        } catch (thrown) {
          settled = false;
          log.warn('Notice about a review failed; will retry', {
            run: review.order.id,
            error: toDocketError(thrown).toJSON(),
          });
        }
      }
      return settled;
    },
  };
}

const NOTICES = 'notices';
const NAME = /^([0-9a-f]+)\.(\d{6})(\.end)?\.json$/;
const attemptSchema: z.ZodType<ArchivedState> = z.object({
  state: z.enum(DELIVERY_STATES),
  epoch: z.int().nonnegative(),
  detail: z.string().nullable(),
});

/**
 * Records `notices/<delivery>.<epoch>.json` when the attempt begins, and `….end.json` with its result. Each is written
 * once.
 */
const recordAttempt = (reviews: Reviews, run: RunOrder, attempt: AttemptRecord): Promise<void> => {
  const { delivery, epoch, state } = attempt;
  const name = `${delivery}.${String(epoch).padStart(6, '0')}${state === 'sending' ? '' : '.end'}.json`;
  return reviews.put(run, `${NOTICES}/${name}`, `${JSON.stringify(attempt)}\n`);
};

/** What the archive knows about a notice; undefined if it was never attempted. */
async function archivedState(reviews: Reviews, run: RunOrder, delivery: string): Promise<ArchivedState | undefined> {
  const files = (await reviews.list(run, NOTICES)).flatMap((name) => {
    const [, id, epoch, end] = NAME.exec(name) ?? [];
    return id === delivery ? [{ name, epoch: Number(epoch), rank: end === undefined ? 0 : 1 }] : [];
  });
  const last = files.sort((one, other) => one.epoch - other.epoch || one.rank - other.rank).at(-1);
  if (last === undefined) return undefined;
  const name = `${NOTICES}/${last.name}`;
  const bytes = await reviews.get(run, name);
  return bytes === undefined ? undefined : parseMetadata(`the review of run ${run.id}`, name, bytes, attemptSchema);
}
