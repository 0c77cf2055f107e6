import { area, both, is, type MetricDeclaration, not, onEarlierDay, past } from './declare.ts';
import { code } from './facts.ts';
import type { DimensionId, View } from './view.ts';

/** What a profile can be grouped and filtered by. */
const PROFILE: readonly DimensionId[] = [
  'profile.type',
  'profile.group',
  'profile.review_status',
  'profile.relationship_status',
  'profile.risk',
  'profile.creation_source',
];
const HIT: readonly DimensionId[] = ['profile.type', 'profile.group', 'profile.risk', 'hit.kind', 'hit.resolution'];
const ALERT: readonly DimensionId[] = ['profile.type', 'profile.group', 'profile.risk', 'alert.type', 'alert.status'];
const RFI: readonly DimensionId[] = ['profile.type', 'profile.group', 'profile.risk', 'profile.review_status'];
/** Addresses and transactions belong to a profile; forms only to a group. None of them is narrowed by `profile.type` (§2.7). */
const HELD: readonly DimensionId[] = ['profile.group', 'profile.risk'];
const FORM: readonly DimensionId[] = ['profile.group'];

const AWAITING = (['PR', 'UR', 'RS', 'RR', 'ES'] as const).map((status) => code('status', status));
const awaiting = ({ status }: View) => {
  const codes = new Set(AWAITING);
  return (row: number) => codes.has(status[row] ?? -1);
};

// Which rows the metrics of an area count, what they can be grouped by, and the feature they belong to.
const profile = area('profiles', PROFILE);
const queued = area('profiles', [...PROFILE, 'review.age']);
const review = area('reviews', [...PROFILE, 'review.age']);
const hit = area('hits', HIT);
const run = area('runs', HELD, 'blockchain');
const address = area('addresses', HELD, 'blockchain');
const form = area('forms', FORM, 'intake');
const transaction = area('transactions', HELD, 'transactions');
const alert = area('alerts', ALERT);
const rfi = area('rfis', RFI);

/** All metrics of specification §2.6: the catalog and the computation both read this table. */
export const METRICS: readonly MetricDeclaration[] = [
  // Profiles
  profile('profiles.created', 'Profiles created', {
    description: 'Profiles by the time of their creation. Related parties are not counted.',
    aggregation: 'count',
    time_field: 'created',
    at: 'created',
  }),
  profile('profiles.decided', 'Profiles decided', {
    description: 'Profiles by the time of their first decision, Approved or Declined.',
    aggregation: 'count',
    time_field: 'first decision',
    at: 'decided',
  }),
  profile('profiles.approval_rate', 'Approval rate', {
    description: 'Share of the decided profiles whose first decision was Approved.',
    aggregation: 'share',
    time_field: 'first decision',
    at: 'decided',
    part: ({ approved }) => is(approved, 1),
  }),
  profile('profiles.time_to_decision_p50', 'Median time to decision', {
    description: 'Seconds from creation to the first decision, of the profiles decided in the bucket.',
    aggregation: 'p50',
    time_field: 'first decision',
    at: 'decided',
    seconds: { from: 'created', to: 'decided' },
  }),
  profile('profiles.time_to_decision_p90', 'Time to decision, 90th percentile', {
    description: 'Seconds from creation to the first decision, of the profiles decided in the bucket.',
    aggregation: 'p90',
    time_field: 'first decision',
    at: 'decided',
    seconds: { from: 'created', to: 'decided' },
  }),
  queued('profiles.pending_review', 'Profiles awaiting a decision', {
    description: 'Profiles now in Pending Review, Under Review, RFI Sent, RFI Responded or Escalated.',
    aggregation: 'count',
    time_field: 'now',
    where: ({ created }, view) => both(past(created, view), awaiting(view)),
  }),

  // Cohorts
  profile('cohort.completion_rate', 'Completion rate by arrival', {
    description: 'Of the profiles received in the bucket, the share decided so far.',
    aggregation: 'share',
    time_field: 'created',
    at: 'created',
    part: ({ decided }, view) => past(decided, view),
  }),
  profile('cohort.turnaround_p50', 'Median turnaround by arrival', {
    description: 'Seconds to the first decision, of the profiles received in the bucket and decided so far.',
    aggregation: 'p50',
    time_field: 'created',
    at: 'created',
    where: ({ decided }, view) => past(decided, view),
    seconds: { from: 'created', to: 'decided' },
  }),
  profile('cohort.turnaround_p90', 'Turnaround by arrival, 90th percentile', {
    description: 'Seconds to the first decision, of the profiles received in the bucket and decided so far.',
    aggregation: 'p90',
    time_field: 'created',
    at: 'created',
    where: ({ decided }, view) => past(decided, view),
    seconds: { from: 'created', to: 'decided' },
  }),

  // Screening
  hit('screening.hits', 'Screening hits', {
    description: 'Hits against sanctions, PEP and adverse media lists, by the time they were found.',
    aggregation: 'count',
    time_field: 'created',
    at: 'found',
  }),
  hit('screening.profiles_hit', 'Profiles with hits', {
    description: 'Different profiles for which a hit was found in the bucket.',
    aggregation: 'distinct',
    time_field: 'created',
    at: 'found',
    key: 'profile',
  }),
  hit('screening.hits_resolved', 'Hits resolved', {
    description: 'Hits by the time they were resolved.',
    aggregation: 'count',
    time_field: 'closed',
    at: 'resolved',
  }),
  run('screening.address_runs', 'Address screening runs', {
    description: 'Screening runs of blockchain addresses, failed ones included.',
    aggregation: 'count',
    time_field: 'created',
    at: 'at',
  }),
  run('screening.address_failure_rate', 'Address screening failure rate', {
    description: 'Share of the screening runs of blockchain addresses that failed.',
    aggregation: 'share',
    time_field: 'created',
    at: 'at',
    part: ({ failed }) => is(failed, 1),
  }),

  // Blockchain addresses
  address('blockchain_addresses.added', 'Addresses added', {
    description: 'Blockchain addresses by the time they were added.',
    aggregation: 'count',
    time_field: 'created',
    at: 'added',
  }),
  address('blockchain_addresses.by_risk', 'Rated addresses by risk', {
    description:
      'Blockchain addresses added in the bucket that have been rated since; group by profile.risk for the risk of their holders.',
    aggregation: 'count',
    time_field: 'created',
    at: 'added',
    where: ({ screened }, view) => past(screened, view),
  }),
  run('blockchain_addresses.screened', 'Addresses screened', {
    description: 'Different blockchain addresses with a screening run in the bucket that succeeded.',
    aggregation: 'distinct',
    time_field: 'created',
    at: 'at',
    where: ({ failed }) => is(failed, 0),
    key: 'address',
  }),
  address('blockchain_addresses.cannot_be_screened', 'Addresses that cannot be screened', {
    description: 'Blockchain addresses added in the bucket on a network that no provider screens.',
    aggregation: 'count',
    time_field: 'created',
    at: 'added',
    where: ({ screenable }) => is(screenable, 0),
  }),
  run('blockchain_addresses.risk_rose', 'Address risk increases', {
    description: 'Screening runs that rated a blockchain address higher than its run before.',
    aggregation: 'count',
    time_field: 'created',
    at: 'at',
    where: ({ rose }) => is(rose, 1),
  }),
  address('blockchain_addresses.time_to_first_screening_p50', 'Median time to first screening', {
    description:
      'Seconds from adding to the first screening that succeeded, of the blockchain addresses added in the bucket and screened since.',
    aggregation: 'p50',
    time_field: 'created',
    at: 'added',
    where: ({ screened }, view) => past(screened, view),
    seconds: { from: 'added', to: 'screened' },
  }),

  // Intake forms
  form('intake.submissions', 'Intake submissions', {
    description: 'Intake forms by the time they were submitted, held ones included.',
    aggregation: 'count',
    time_field: 'created',
    at: 'submitted',
  }),
  form('intake.invitations_sent', 'Intake invitations sent', {
    description: 'Invitations to an intake form by the time they were sent.',
    aggregation: 'count',
    time_field: 'created',
    at: 'invited',
  }),
  form('intake.completion_rate', 'Intake completion rate', {
    description: 'Of the invitations sent in the bucket, the share submitted so far.',
    aggregation: 'share',
    time_field: 'created',
    at: 'invited',
    part: ({ submitted }, view) => past(submitted, view),
  }),
  form('intake.time_to_submit_p50', 'Median time to submit', {
    description: 'Seconds from the invitation to the submission, of the forms submitted in the bucket.',
    aggregation: 'p50',
    time_field: 'created',
    at: 'submitted',
    seconds: { from: 'invited', to: 'submitted' },
  }),
  form('intake.held_duplicates', 'Submissions held as duplicates', {
    description: 'Submissions held as a possible duplicate, by the time they were submitted.',
    aggregation: 'count',
    time_field: 'created',
    at: 'submitted',
    where: ({ held }) => is(held, 1),
  }),

  // Transaction alerts
  transaction('transaction_alerts.received', 'Transaction alerts received', {
    description: 'Transaction alerts by the time they were received.',
    aggregation: 'count',
    time_field: 'created',
    at: 'received',
  }),
  transaction('transaction_alerts.closed', 'Transaction alerts closed', {
    description: 'Transaction alerts by the time they were decided.',
    aggregation: 'count',
    time_field: 'closed',
    at: 'closed',
  }),
  transaction('transaction_alerts.time_to_decide_p50', 'Median time to decide a transaction alert', {
    description: 'Seconds from receipt to decision, of the transaction alerts decided in the bucket.',
    aggregation: 'p50',
    time_field: 'closed',
    at: 'closed',
    seconds: { from: 'received', to: 'closed' },
  }),
  transaction('transaction_alerts.override_rate', 'Override rate', {
    description: 'Share of the transaction alerts decided in the bucket that were decided against the recommendation.',
    aggregation: 'share',
    time_field: 'closed',
    at: 'closed',
    part:
      ({ recommended, decided }) =>
      (row) =>
        recommended[row] !== decided[row],
  }),

  // Alerts
  alert('alerts.created', 'Alerts created', {
    description: 'Alerts by the time of their creation.',
    aggregation: 'count',
    time_field: 'created',
    at: 'created',
  }),
  alert('alerts.closed', 'Alerts closed', {
    description: 'Alerts by the time they were closed or dismissed.',
    aggregation: 'count',
    time_field: 'closed',
    at: 'closed',
  }),
  alert('alerts.time_to_close_p50', 'Median time to close an alert', {
    description: 'Seconds from creation to closing, of the alerts closed or dismissed in the bucket.',
    aggregation: 'p50',
    time_field: 'closed',
    at: 'closed',
    seconds: { from: 'created', to: 'closed' },
  }),
  alert('alerts.open', 'Open alerts', {
    description: 'Alerts now neither closed nor dismissed.',
    aggregation: 'count',
    time_field: 'now',
    where: ({ created, closed }, view) => both(past(created, view), not(past(closed, view))),
  }),

  // RFIs
  rfi('rfis.sent', 'RFIs sent', {
    description: 'Requests for information by the time they were sent.',
    aggregation: 'count',
    time_field: 'created',
    at: 'sent',
  }),
  rfi('rfis.answered', 'RFIs answered', {
    description: 'Requests for information by the time they were answered.',
    aggregation: 'count',
    time_field: 'closed',
    at: 'answered',
  }),
  rfi('rfis.response_rate', 'RFI response rate', {
    description: 'Of the requests for information sent in the bucket, the share answered so far.',
    aggregation: 'share',
    time_field: 'created',
    at: 'sent',
    part: ({ answered }, view) => past(answered, view),
  }),
  rfi('rfis.response_time_p50', 'Median RFI response time', {
    description: 'Seconds from sending to the answer, of the requests for information answered in the bucket.',
    aggregation: 'p50',
    time_field: 'closed',
    at: 'answered',
    seconds: { from: 'sent', to: 'answered' },
  }),
  rfi('rfis.open', 'Open RFIs', {
    description: 'Requests for information now neither answered nor withdrawn.',
    aggregation: 'count',
    time_field: 'now',
    where: ({ sent, answered, withdrawn }, view) =>
      both(past(sent, view), not(past(answered, view)), not(past(withdrawn, view))),
  }),
  rfi('rfis.overdue', 'Overdue RFIs', {
    description: 'Requests for information now open and past the day they were due.',
    aggregation: 'count',
    time_field: 'now',
    where: ({ due, answered, withdrawn }, view) =>
      both(onEarlierDay(due, view), not(past(answered, view)), not(past(withdrawn, view))),
  }),

  // Workload and SLAs
  alert('alerts.unassigned', 'Unassigned alerts', {
    description: 'Open alerts that nobody has taken yet.',
    aggregation: 'count',
    time_field: 'now',
    where: ({ created, assigned, closed }, view) =>
      both(past(created, view), not(past(assigned, view)), not(past(closed, view))),
  }),
  review('reviews.overdue', 'Overdue reviews', {
    description: 'Reviews now open and past the time by which they were due: 10, 7, 5 or 3 days by risk.',
    aggregation: 'count',
    time_field: 'now',
    where: ({ due, decided }, view) => both(past(due, view), not(past(decided, view))),
  }),
];

/** A metric whose meaning changed: kept for those who still read it, and named by its successor (specification §9). */
export const REPLACED: readonly MetricDeclaration[] = [
  hit('screening.matches', 'Screening matches', {
    description: 'Hits against sanctions and adverse media lists, without PEP. Replaced by screening.hits.',
    aggregation: 'count',
    time_field: 'created',
    replaced: { afterDays: 365, by: 'screening.hits' },
    at: 'found',
    where:
      ({ kind }) =>
      (row) =>
        kind[row] !== code('hitKind', 'pep'),
  }),
];
