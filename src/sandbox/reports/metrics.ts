import { valueCode } from '../generator/fact-tables.ts';
import {
  allOf,
  equals,
  hasHappened,
  type MetricDefinition,
  metricBuilder,
  not,
  onEarlierDay,
} from './metric-definition.ts';
import type { DimensionId, Snapshot } from './snapshot.ts';

/** Dimensions of profiles. */
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
/**
 * Addresses and transactions belong to a profile, forms only to a group. `profile.type` does not apply to them (§2.7).
 */
const HELD: readonly DimensionId[] = ['profile.group', 'profile.risk'];
const FORM: readonly DimensionId[] = ['profile.group'];

const AWAITING = (['PR', 'UR', 'RS', 'RR', 'ES'] as const).map((status) => valueCode('status', status));
const awaiting = ({ status }: Snapshot) => {
  const codes = new Set(AWAITING);
  return (row: number) => codes.has(status[row] ?? -1);
};

// For each area: which rows its metrics count, how they can be grouped, and the feature they need.
const profile = metricBuilder('profiles', PROFILE);
const queued = metricBuilder('profiles', [...PROFILE, 'review.age']);
const review = metricBuilder('reviews', [...PROFILE, 'review.age']);
const hit = metricBuilder('hits', HIT);
const run = metricBuilder('runs', HELD, 'blockchain');
const address = metricBuilder('addresses', HELD, 'blockchain');
const form = metricBuilder('forms', FORM, 'intake');
const transaction = metricBuilder('transactions', HELD, 'transactions');
const alert = metricBuilder('alerts', ALERT);
const rfi = metricBuilder('rfis', RFI);

/** All metrics of specification §2.6. The catalog and the computation both read this table. */
export const METRICS: readonly MetricDefinition[] = [
  profile.count('profiles.created', 'Profiles created', {
    description: 'Profiles by the time of their creation. Related parties are not counted.',
    time: ['created', 'created'],
  }),
  profile.count('profiles.decided', 'Profiles decided', {
    description: 'Profiles by the time of their first decision, Approved or Declined.',
    time: ['first decision', 'decided'],
  }),
  profile.share('profiles.approval_rate', 'Approval rate', {
    description: 'Share of the decided profiles whose first decision was Approved.',
    time: ['first decision', 'decided'],
    part: ({ approved }) => equals(approved, 1),
  }),
  profile.p50('profiles.time_to_decision_p50', 'Median time to decision', {
    description: 'Seconds from creation to the first decision, of the profiles decided in the bucket.',
    time: ['first decision', 'decided'],
    seconds: { from: 'created', to: 'decided' },
  }),
  profile.p90('profiles.time_to_decision_p90', 'Time to decision, 90th percentile', {
    description: 'Seconds from creation to the first decision, of the profiles decided in the bucket.',
    time: ['first decision', 'decided'],
    seconds: { from: 'created', to: 'decided' },
  }),
  queued.count('profiles.pending_review', 'Profiles awaiting a decision', {
    description: 'Profiles now in Pending Review, Under Review, RFI Sent, RFI Responded or Escalated.',
    time: ['now'],
    where: ({ created }, view) => allOf(hasHappened(created, view), awaiting(view)),
  }),

  profile.share('cohort.completion_rate', 'Completion rate by arrival', {
    description: 'Of the profiles received in the bucket, the share decided so far.',
    time: ['created', 'created'],
    part: ({ decided }, view) => hasHappened(decided, view),
  }),
  profile.p50('cohort.turnaround_p50', 'Median turnaround by arrival', {
    description: 'Seconds to the first decision, of the profiles received in the bucket and decided so far.',
    time: ['created', 'created'],
    where: ({ decided }, view) => hasHappened(decided, view),
    seconds: { from: 'created', to: 'decided' },
  }),
  profile.p90('cohort.turnaround_p90', 'Turnaround by arrival, 90th percentile', {
    description: 'Seconds to the first decision, of the profiles received in the bucket and decided so far.',
    time: ['created', 'created'],
    where: ({ decided }, view) => hasHappened(decided, view),
    seconds: { from: 'created', to: 'decided' },
  }),

  hit.count('screening.hits', 'Screening hits', {
    description: 'Hits against sanctions, PEP and adverse media lists, by the time they were found.',
    time: ['created', 'found'],
  }),
  hit.distinct('screening.profiles_hit', 'Profiles with hits', {
    description: 'Different profiles for which a hit was found in the bucket.',
    time: ['created', 'found'],
    key: 'profile',
  }),
  hit.count('screening.hits_resolved', 'Hits resolved', {
    description: 'Hits by the time they were resolved.',
    time: ['closed', 'resolved'],
  }),
  run.count('screening.address_runs', 'Address screening runs', {
    description: 'Screening runs of blockchain addresses, failed ones included.',
    time: ['created', 'at'],
  }),
  run.share('screening.address_failure_rate', 'Address screening failure rate', {
    description: 'Share of the screening runs of blockchain addresses that failed.',
    time: ['created', 'at'],
    part: ({ failed }) => equals(failed, 1),
  }),

  address.count('blockchain_addresses.added', 'Addresses added', {
    description: 'Blockchain addresses by the time they were added.',
    time: ['created', 'added'],
  }),
  address.count('blockchain_addresses.by_risk', 'Rated addresses by risk', {
    description:
      'Blockchain addresses added in the bucket that have been rated since; group by profile.risk for the risk of their holders.',
    time: ['created', 'added'],
    where: ({ screened }, view) => hasHappened(screened, view),
  }),
  run.distinct('blockchain_addresses.screened', 'Addresses screened', {
    description: 'Different blockchain addresses with a screening run in the bucket that succeeded.',
    time: ['created', 'at'],
    where: ({ failed }) => equals(failed, 0),
    key: 'address',
  }),
  address.count('blockchain_addresses.cannot_be_screened', 'Addresses that cannot be screened', {
    description: 'Blockchain addresses added in the bucket on a network that no provider screens.',
    time: ['created', 'added'],
    where: ({ screenable }) => equals(screenable, 0),
  }),
  run.count('blockchain_addresses.risk_rose', 'Address risk increases', {
    description: 'Screening runs that rated a blockchain address higher than its run before.',
    time: ['created', 'at'],
    where: ({ rose }) => equals(rose, 1),
  }),
  address.p50('blockchain_addresses.time_to_first_screening_p50', 'Median time to first screening', {
    description:
      'Seconds from adding to the first screening that succeeded, of the blockchain addresses added in the bucket and screened since.',
    time: ['created', 'added'],
    where: ({ screened }, view) => hasHappened(screened, view),
    seconds: { from: 'added', to: 'screened' },
  }),

  form.count('intake.submissions', 'Intake submissions', {
    description: 'Intake forms by the time they were submitted, held ones included.',
    time: ['created', 'submitted'],
  }),
  form.count('intake.invitations_sent', 'Intake invitations sent', {
    description: 'Invitations to an intake form by the time they were sent.',
    time: ['created', 'invited'],
  }),
  form.share('intake.completion_rate', 'Intake completion rate', {
    description: 'Of the invitations sent in the bucket, the share submitted so far.',
    time: ['created', 'invited'],
    part: ({ submitted }, view) => hasHappened(submitted, view),
  }),
  form.p50('intake.time_to_submit_p50', 'Median time to submit', {
    description: 'Seconds from the invitation to the submission, of the forms submitted in the bucket.',
    time: ['created', 'submitted'],
    seconds: { from: 'invited', to: 'submitted' },
  }),
  form.count('intake.held_duplicates', 'Submissions held as duplicates', {
    description: 'Submissions held as a possible duplicate, by the time they were submitted.',
    time: ['created', 'submitted'],
    where: ({ held }) => equals(held, 1),
  }),

  transaction.count('transaction_alerts.received', 'Transaction alerts received', {
    description: 'Transaction alerts by the time they were received.',
    time: ['created', 'received'],
  }),
  transaction.count('transaction_alerts.closed', 'Transaction alerts closed', {
    description: 'Transaction alerts by the time they were decided.',
    time: ['closed', 'closed'],
  }),
  transaction.p50('transaction_alerts.time_to_decide_p50', 'Median time to decide a transaction alert', {
    description: 'Seconds from receipt to decision, of the transaction alerts decided in the bucket.',
    time: ['closed', 'closed'],
    seconds: { from: 'received', to: 'closed' },
  }),
  transaction.share('transaction_alerts.override_rate', 'Override rate', {
    description: 'Share of the transaction alerts decided in the bucket that were decided against the recommendation.',
    time: ['closed', 'closed'],
    part:
      ({ recommended, decided }) =>
      (row) =>
        recommended[row] !== decided[row],
  }),

  alert.count('alerts.created', 'Alerts created', {
    description: 'Alerts by the time of their creation.',
    time: ['created', 'created'],
  }),
  alert.count('alerts.closed', 'Alerts closed', {
    description: 'Alerts by the time they were closed or dismissed.',
    time: ['closed', 'closed'],
  }),
  alert.p50('alerts.time_to_close_p50', 'Median time to close an alert', {
    description: 'Seconds from creation to closing, of the alerts closed or dismissed in the bucket.',
    time: ['closed', 'closed'],
    seconds: { from: 'created', to: 'closed' },
  }),
  alert.count('alerts.open', 'Open alerts', {
    description: 'Alerts now neither closed nor dismissed.',
    time: ['now'],
    where: ({ created, closed }, view) => allOf(hasHappened(created, view), not(hasHappened(closed, view))),
  }),

  rfi.count('rfis.sent', 'RFIs sent', {
    description: 'Requests for information by the time they were sent.',
    time: ['created', 'sent'],
  }),
  rfi.count('rfis.answered', 'RFIs answered', {
    description: 'Requests for information by the time they were answered.',
    time: ['closed', 'answered'],
  }),
  rfi.share('rfis.response_rate', 'RFI response rate', {
    description: 'Of the requests for information sent in the bucket, the share answered so far.',
    time: ['created', 'sent'],
    part: ({ answered }, view) => hasHappened(answered, view),
  }),
  rfi.p50('rfis.response_time_p50', 'Median RFI response time', {
    description: 'Seconds from sending to the answer, of the requests for information answered in the bucket.',
    time: ['closed', 'answered'],
    seconds: { from: 'sent', to: 'answered' },
  }),
  rfi.count('rfis.open', 'Open RFIs', {
    description: 'Requests for information now neither answered nor withdrawn.',
    time: ['now'],
    where: ({ sent, answered, withdrawn }, view) =>
      allOf(hasHappened(sent, view), not(hasHappened(answered, view)), not(hasHappened(withdrawn, view))),
  }),
  rfi.count('rfis.overdue', 'Overdue RFIs', {
    description: 'Requests for information now open and past the day they were due.',
    time: ['now'],
    where: ({ due, answered, withdrawn }, view) =>
      allOf(onEarlierDay(due, view), not(hasHappened(answered, view)), not(hasHappened(withdrawn, view))),
  }),

  // Workload and SLAs
  alert.count('alerts.unassigned', 'Unassigned alerts', {
    description: 'Open alerts that nobody has taken yet.',
    time: ['now'],
    where: ({ created, assigned, closed }, view) =>
      allOf(hasHappened(created, view), not(hasHappened(assigned, view)), not(hasHappened(closed, view))),
  }),
  review.count('reviews.overdue', 'Overdue reviews', {
    description: 'Reviews now open and past the time by which they were due: 10, 7, 5 or 3 days by risk.',
    time: ['now'],
    where: ({ due, decided }, view) => allOf(hasHappened(due, view), not(hasHappened(decided, view))),
  }),
];

/** A metric whose meaning changed. Existing readers still have it, and its successor replaces it (specification §9). */
export const REPLACED: readonly MetricDefinition[] = [
  hit.count('screening.matches', 'Screening matches', {
    description: 'Hits against sanctions and adverse media lists, without PEP. Replaced by screening.hits.',
    time: ['created', 'found'],
    replaced: { afterDays: 365, by: 'screening.hits' },
    where:
      ({ kind }) =>
      (row) =>
        kind[row] !== valueCode('hitKind', 'pep'),
  }),
];
