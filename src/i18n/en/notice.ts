import { englishCounter, type LocaleFormatters } from '../formatters.ts';

const approvals = (need: number): string => (need === 1 ? 'approval' : `the approval of ${need} people`);

/** The sentences of notices to owners and approvers, and of links in place of attachments. None contains a figure. */
export const notice = (to: LocaleFormatters) => {
  const counted = englishCounter(to);
  return {
    /** The beginning of the subject. */
    subjects: {
      failed: 'Failed',
      held: 'Held',
      wrong_figures: 'Wrong figures',
      partial: 'Partly delivered',
      denied: 'Sent to nobody',
      comments: 'Comments needed',
      incomplete: 'Held',
      approval: 'Approval needed',
      reminder: 'Reminder, approval needed',
      recipient: 'Approval of a recipient needed',
      rejected: 'Rejected',
      cancelled: 'Cancelled',
      correction: 'Figures changed',
      late: 'Late',
    },
    /** The beginning of the first sentence. One of `leads`, or of the functions after it, completes it. */
    report: (title: string, period: string) => `"${title}" for ${period}`,
    leads: {
      failed: 'failed. It is not retried automatically.',
      held: 'was created and is held. Nothing was sent.',
      wrong_figures: 'has figures that cannot be right. It was not stopped.',
      partial: 'was created, but not delivered to everyone.',
      denied: 'was created and sent to nobody.',
      comments: 'was created and waits for comments. Nothing was sent.',
      incomplete: 'was created and is held because its figures are incomplete. Nothing was sent.',
      cancelled: 'was cancelled. Nothing was sent.',
      late: 'is late and has not been sent. It continues by itself.',
    },
    waits: (need: number) => `waits for ${approvals(need)}. Nothing was sent.`,
    stillWaits: (need: number) => `still waits for ${approvals(need)}. Nothing was sent.`,
    recipientAdded: (name: string, address: string) =>
      `was delivered. ${name} wants to send it to ${address} as well, which needs approval. Nothing was sent there.`,
    rejectedBy: (name: string) => `was rejected by ${name}. Nothing was sent.`,
    /** @param report from `report` */
    changed: (figures: number, report: string, recipients: number) =>
      `The service has changed ${counted(figures, 'figure')} of ${report} since it was delivered to ${counted(recipients, 'recipient')}.`,

    /** Shown above a message of Docket, which is in English. */
    error: 'Reason:',
    errorLines: { where: 'where', expected: 'expected', got: 'got', next: 'what to do' },
    /** Shown above the reason that a person gave. */
    reason: 'Reason:',
    notDelivered: 'Not delivered:',
    retryDeliveries: 'To retry these deliveries only, with the same files:',
    uncertain: 'Delivery uncertain:',
    askRecipients:
      'Docket does not send these again by itself, because they may have arrived. Ask the recipients. Confirm what arrived:',
    resendOthers: 'Send the others again, one by one:',
    decideAll: 'Or confirm that all of them arrived:',
    delivered: 'Delivered:',
    nothingDelivered: 'Nothing was delivered.',
    writeComment: 'To write a comment:',
    release: 'To send it as it is:',
    retry: 'To retry after the cause is fixed:',
    missingComments: 'Sections that need a comment:',
    writeOne: 'To write one:',
    writeOnPage: 'Write them on that page, or with:',
    accept: 'To accept them as they are:',
    /** @param until in words; undefined: without an end */
    deputyOf: (approver: string, by: string, until: string | undefined) =>
      `${by} has named you the deputy of ${approver}${until === undefined ? '' : ` until ${until}`}:`,
    decideBy: 'Please decide by:',
    deadlineWas: 'The deadline was:',
    fetchedAgain: 'Its figures are fetched again, and the report is reviewed again.',
    runAgainCorrected: 'To create the report again, once the cause is fixed:',
    runAgain: 'To create the report again:',
    look: 'To see what waits:',
    lookOnPage: 'The files are on that page. In a terminal:',
    notApproved: (days: number) => `Not approved within ${counted(days, 'business day')}.`,
    untilDecided: 'Nothing is sent until somebody decides:',
    capped: (editions: number) =>
      `Docket has sent ${editions} corrected editions for this period by itself, and sends no more: the service may be changing its figures back and forth.`,
    seeChanges: 'See what has changed, and who would receive a corrected edition:',
    sendCorrected: 'Send the corrected edition:',
    dismiss: 'Or keep the delivered one:',

    /** Names of facts. A colon follows. */
    facts: { report: 'Report', run: 'Run', slot: 'Slot', changes: 'Changes', found: 'Found' },
    changes: (total: number, material: number) =>
      total === material ? String(total) : `${total}, ${material} of them material`,
    onPage: 'The run on the page of Docket:',
    closings: {
      owner: 'You receive this message once, as the owner of the report.',
      approver: 'You receive this message because you may approve the report. Sign in to approve or reject it.',
      author: 'You receive this message because you own or triggered the report.',
    },
    /** In the format tokens of Luxon. */
    dayFormat: 'cccc d LLLL yyyy',
    timeFormat: 'cccc d LLLL yyyy, HH:mm',
    endOf: (day: string) => `the end of ${day}`,

    /** @param until e.g. `2026-11-20 10:00 UTC`; undefined for links without an end */
    fileLinks: (until: string | undefined) =>
      `The files are too large for an e-mail and are not attached. Download them here${until === undefined ? '' : ` until ${until}, for anyone who has this e-mail`}:`,
  };
};
