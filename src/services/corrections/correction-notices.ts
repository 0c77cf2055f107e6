import { runPageUrl } from '../../base/config/public-url.ts';
import { toSingleLine } from '../../base/text/bidi.ts';
import { asciiLowerCase } from '../../base/text/fold.ts';
import { canonicalAddress } from '../../definitions/allow-lists/recipients.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import { deliveryId, NOTICE_TARGET } from '../../deliver/ledger/ledger.ts';
import { sendNotice } from '../../deliver/notices/notice-sender.ts';
import { command, type Notice, sentence } from '../../deliver/notices/notice-text.ts';
import { messagesFor } from '../../i18n/messages.ts';
import type { FrozenDefinition } from '../../queue/definitions/definition-store.ts';
import { MAX_AUTOMATIC_EDITIONS } from '../../run/corrections/corrected-edition.ts';
import { noticePorts } from '../deliveries/owner-notices.ts';
import type { Deployment, Sending } from '../deployment/deployment.ts';
import type { Correction } from './correction.ts';
import { correctedRecipients } from './correction-view.ts';
import type { Edition } from './editions.ts';

export interface NoticeReason {
  /** Set if Docket has already sent as many automatic corrected editions as it may. */
  readonly isCapped: boolean;
}

/** Notifies the report's owner. True once nothing is left to send. */
export type NotifyCorrection = (
  correction: Correction,
  edition: Edition,
  frozen: FrozenDefinition,
  reason: NoticeReason,
) => Promise<boolean>;

/**
 * Makes a notice that says how many figures have changed and how to decide. It contains no figures, and nobody can
 * decide with it.
 * @param settings has the report's locale
 */
export function buildCorrectionNotice(
  { id, run, material, total, foundAt }: Correction,
  {
    manifest: { title, period },
    recipients,
  }: { readonly manifest: Pick<Edition['manifest'], 'title' | 'period'>; readonly recipients: readonly unknown[] },
  settings: Pick<OrgSettings, 'id' | 'name'> & { readonly locale?: string | undefined },
  pageUrl: string | undefined,
  { isCapped }: NoticeReason = { isCapped: false },
): Notice {
  const { notice } = messagesFor(settings.locale);
  const report = notice.report(toSingleLine(title), period.label);
  return {
    locale: settings.locale,
    subject: `${notice.subjects.correction}: ${title} ${period.label}`,
    organization: settings.name ?? settings.id,
    label: period.label,
    pageUrl,
    lead: notice.changed(material, report, recipients.length),
    groups: [
      {
        heading: notice.untilDecided,
        lines: [
          ...(isCapped ? [sentence(notice.capped(MAX_AUTOMATIC_EDITIONS))] : []),
          sentence(notice.seeChanges),
          command(`corrections show ${id}`, 'text'),
          sentence(notice.sendCorrected),
          command(`corrections send ${id} --reason "..."`, 'text'),
          sentence(notice.dismiss),
          command(`corrections dismiss ${id} --reason "..."`, 'text'),
        ],
      },
    ],
    facts: [
      [notice.facts.report, `${run.org}/${run.report}`],
      [notice.facts.run, run.id],
      [notice.facts.changes, notice.changes(total, material)],
      [notice.facts.found, new Date(foundAt).toISOString()],
    ],
    closing: notice.closings.owner,
  };
}

/**
 * Notifies a report's owner about a correction, once.
 * @returns whether nothing is left to send; if not, call it again
 */
export const createCorrectionNotifier =
  (deployment: Deployment, sending: Sending): NotifyCorrection =>
  async (correction, edition, frozen, reason) => {
    const { run, number, foundAt } = correction;
    const { definition, settings } = frozen;
    const locale = definition.locale ?? settings.locale;
    const recipient = canonicalAddress(definition.owner) ?? definition.owner;
    const id = deliveryId(run.id, NOTICE_TARGET, `correction ${number} ${asciiLowerCase(recipient)}`);
    const { state } = await sendNotice(
      { id, run: run.id, org: run.org, report: run.report, target: NOTICE_TARGET, recipient },
      () =>
        buildCorrectionNotice(
          correction,
          { ...edition, recipients: correctedRecipients(correction, edition) },
          { ...settings, locale },
          runPageUrl(deployment.config.DOCKET_PUBLIC_URL, run.id),
          reason,
        ),
      foundAt,
      await noticePorts(deployment, sending, settings),
    );
    return state !== 'pending' && state !== 'sending';
  };
