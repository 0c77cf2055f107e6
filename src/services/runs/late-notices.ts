import { runPageUrl } from '../../base/config/public-url.ts';
import { toDocketError } from '../../base/error.ts';
import { toSingleLine } from '../../base/text/bidi.ts';
import { asciiLowerCase } from '../../base/text/fold.ts';
import { DAY_MS } from '../../base/time.ts';
import { canonicalAddress } from '../../definitions/allow-lists/recipients.ts';
import type { Definition } from '../../definitions/schema/report-definition.ts';
import { deliveryId, NOTICE_TARGET } from '../../deliver/ledger/ledger.ts';
import { sendNotice } from '../../deliver/notices/notice-sender.ts';
import { command, type Notice, noticeFacts } from '../../deliver/notices/notice-text.ts';
import { messagesFor } from '../../i18n/messages.ts';
import type { FrozenDefinition } from '../../queue/definitions/definition-store.ts';
import type { RedisClient } from '../../redis/client.ts';
import { mapRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';
import { lateAt } from '../../run/lateness.ts';
import type { RunRecord } from '../../run/run-record.ts';
import { loadFrozenDefinition } from '../definitions/frozen-definition.ts';
import { noticePorts } from '../deliveries/owner-notices.ts';
import type { Deployment, Sending } from '../deployment/deployment.ts';
import { findLateRuns } from './late-runs.ts';

/** Ensures one notice per report and day among all processes. */
export type LateNoticeClaims = ReturnType<typeof redisLateNoticeClaims>;

/** Keeps the claims in Redis. Throws `redis.unreachable`. */
export function redisLateNoticeClaims(redis: RedisClient, { prefix }: { readonly prefix: string }) {
  const keys = redisKeys(prefix);
  const mapped = mapRedisErrors(redis);
  return {
    /** @param report `org/report` @param day YYYY-MM-DD */
    claim: mapped(
      async (report: string, day: string): Promise<boolean> =>
        (await redis.set(keys.lateNotice(report, day), '1', 'PX', 2 * DAY_MS, 'NX')) === 'OK',
    ),
    /** Releases the claim if the notice was not sent, so that another round tries again. */
    release: mapped(
      async (report: string, day: string): Promise<void> => void (await redis.del(keys.lateNotice(report, day))),
    ),
  };
}

/**
 * Notifies owners that a report is late, once per report and day, however many of its slots are late. Call it every
 * minute.
 */
export function createLateNotices(
  deployment: Deployment,
  sending: Sending,
  reports: () => Iterable<Definition>,
  claims: LateNoticeClaims,
): () => Promise<void> {
  const { clock, log } = deployment;
  return async () => {
    // A report's oldest slot first, because the notice is about that one.
    const late = [...(await findLateRuns(deployment, reports()))].sort((one, other) =>
      one.slot < other.slot ? -1 : 1,
    );
    const day = new Date(clock.now()).toISOString().slice(0, 10);
    for (const record of late) {
      const report = `${record.org}/${record.report}`;
      if (!(await claims.claim(report, day))) continue;
      const isSettled = await notify(record, deployment, sending).catch((thrown: unknown) => {
        log.warn('Owner notice failed; will retry', { run: record.id, error: toDocketError(thrown).toJSON() });
        return false;
      });
      if (!isSettled) await claims.release(report, day);
      else {
        const { id: run, org, report: name, slot } = record;
        log.warn('A scheduled run is late', { run, org, report: name, slot, event: 'run.late', state: record.state });
      }
    }
  };
}

/** @returns whether nothing is left to send */
async function notify(record: RunRecord, deployment: Deployment, sending: Sending): Promise<boolean> {
  const { definitions, config, clock } = deployment;
  const { id: run, org, report } = record;
  const frozen = await loadFrozenDefinition(record, definitions);
  const recipient = canonicalAddress(frozen.definition.owner) ?? frozen.definition.owner;
  const id = deliveryId(run, NOTICE_TARGET, `late ${asciiLowerCase(recipient)}`);
  const { state } = await sendNotice(
    { id, run, org, report, target: NOTICE_TARGET, recipient },
    () => lateNotice(record, frozen, runPageUrl(config.DOCKET_PUBLIC_URL, run)),
    lateAt(record) ?? clock.now(),
    await noticePorts(deployment, sending, frozen.settings),
  );
  return state !== 'pending' && state !== 'sending';
}

/** Makes the notice. It contains no figures, and nobody can decide anything with it. */
function lateNotice(
  record: RunRecord,
  { definition, settings }: FrozenDefinition,
  pageUrl: string | undefined,
): Notice {
  const locale = definition.locale ?? settings.locale;
  const { notice } = messagesFor(locale);
  const { label } = record.period;
  return {
    locale,
    subject: `${notice.subjects.late}: ${definition.title} ${label}`,
    organization: settings.name ?? settings.id,
    label,
    pageUrl,
    lead: `${notice.report(toSingleLine(definition.title), label)} ${notice.leads.late}`,
    groups: [
      {
        heading: pageUrl === undefined ? notice.look : notice.lookOnPage,
        lines: [command(`runs show ${record.id}`), command('budget', 'text')],
      },
    ],
    facts: noticeFacts(record, notice),
    closing: notice.closings.owner,
  };
}
