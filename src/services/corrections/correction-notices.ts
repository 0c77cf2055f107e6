import type { Clock } from '../../base/clock.ts';
import { runPageUrl } from '../../base/config/public-url.ts';
import { toSingleLine } from '../../base/text/bidi.ts';
import { asciiLowerCase } from '../../base/text/fold.ts';
import { canonicalAddress } from '../../definitions/allow-lists/recipients.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { CircuitBreaker } from '../../deliver/circuit/circuit-breaker.ts';
import { deliveryId, type Ledger, NOTICE_TARGET } from '../../deliver/ledger/ledger.ts';
import { sendNotice } from '../../deliver/notices/notice-sender.ts';
import { command, type Notice, sentence } from '../../deliver/notices/notice-text.ts';
import type { MailRoute } from '../../deliver/targets/target.ts';
import type { FrozenDefinition } from '../../queue/definitions/definition-store.ts';
import { MAX_AUTOMATIC_EDITIONS } from './automatic-editions.ts';
import type { Correction } from './correction.ts';
import type { Edition } from './editions.ts';

const ATTEMPT_TIMEOUT_MS = 60_000;

export interface CorrectionNoticePorts {
  /** The current mail server of the organization. */
  readonly mailOf: (frozen: FrozenDefinition) => Promise<MailRoute | undefined>;
  readonly ledger: Ledger;
  readonly circuit?: CircuitBreaker | undefined;
  readonly publicUrl?: string | undefined;
  readonly clock: Clock;
}

export interface NoticeReason {
  /** Docket has sent as many corrected editions by itself as it may. */
  readonly isCapped: boolean;
}

/** Tells the owner of the report; true once there is nothing left to send. */
export type NotifyCorrection = (
  correction: Correction,
  edition: Edition,
  frozen: FrozenDefinition,
  reason: NoticeReason,
) => Promise<boolean>;

/** How many figures have changed, and how to decide. It has no figures, and nothing in it decides anything. */
export function buildCorrectionNotice(
  { id, run, material, total, foundAt }: Correction,
  {
    manifest: { title, period },
    recipients,
  }: { readonly manifest: Pick<Edition['manifest'], 'title' | 'period'>; readonly recipients: readonly unknown[] },
  settings: Pick<OrgSettings, 'id' | 'name'>,
  pageUrl: string | undefined,
  { isCapped }: NoticeReason = { isCapped: false },
): Notice {
  const figures = material === 1 ? '1 figure' : `${material} figures`;
  return {
    subject: `Figures changed: ${title} ${period.label}`,
    organization: settings.name ?? settings.id,
    label: period.label,
    pageUrl,
    lead: `The service has changed ${figures} of "${toSingleLine(title)}" for ${period.label} since it was delivered to ${recipients.length === 1 ? '1 recipient' : `${recipients.length} recipients`}.`,
    groups: [
      {
        heading: 'Nothing is sent until somebody decides:',
        lines: [
          ...(isCapped
            ? [
                sentence(
                  `Docket has sent ${MAX_AUTOMATIC_EDITIONS} corrected editions for this period by itself, and sends no more: the service may be changing its figures back and forth.`,
                ),
              ]
            : []),
          sentence('See what has changed, and who would receive a corrected edition:'),
          command(`corrections show ${id}`, 'text'),
          sentence('Send the corrected edition:'),
          command(`corrections send ${id} --reason "..."`, 'text'),
          sentence('Or keep the delivered one:'),
          command(`corrections dismiss ${id} --reason "..."`, 'text'),
        ],
      },
    ],
    facts: [
      ['Report', `${run.org}/${run.report}`],
      ['Run', run.id],
      ['Changes', total === material ? String(total) : `${total}, ${material} of them material`],
      ['Found', new Date(foundAt).toISOString()],
    ],
    closing: 'You receive this message once, as the owner of the report.',
  };
}

/**
 * Tells the owner of a report about a correction, once.
 * @returns whether nothing is left to send; otherwise call it again
 */
export const createCorrectionNotifier =
  ({ mailOf, ledger, circuit, publicUrl, clock }: CorrectionNoticePorts): NotifyCorrection =>
  async (correction, edition, frozen, reason) => {
    const { run, number, foundAt } = correction;
    const { definition, settings } = frozen;
    const recipient = canonicalAddress(definition.owner) ?? definition.owner;
    const id = deliveryId(run.id, NOTICE_TARGET, `correction ${number} ${asciiLowerCase(recipient)}`);
    const { state } = await sendNotice(
      { id, run: run.id, org: run.org, report: run.report, target: NOTICE_TARGET, recipient },
      () => buildCorrectionNotice(correction, edition, settings, runPageUrl(publicUrl, run.id), reason),
      foundAt,
      {
        mail: await mailOf(frozen),
        ledger,
        circuit,
        clock,
        signal: AbortSignal.timeout(ATTEMPT_TIMEOUT_MS),
        observe: () => {},
      },
    );
    return state !== 'pending' && state !== 'sending';
  };
