import { both, is, type MetricDeclaration, metric, not, past } from './declare.ts';
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

/** All metrics of specification §2.6: the catalog and the computation both read this table. */
export const METRICS: readonly MetricDeclaration[] = [
  // Profiles
  metric(
    'profiles',
    {
      id: 'profiles.created',
      label: 'Profiles created',
      description: 'Profiles by the time of their creation. Related parties are not counted.',
      time_field: 'created',
      aggregation: 'count',
      dimensions: PROFILE,
    },
    { at: 'created' },
  ),
  metric(
    'profiles',
    {
      id: 'profiles.decided',
      label: 'Profiles decided',
      description: 'Profiles by the time of their first decision, Approved or Declined.',
      time_field: 'first decision',
      aggregation: 'count',
      dimensions: PROFILE,
    },
    { at: 'decided' },
  ),
  metric(
    'profiles',
    {
      id: 'profiles.approval_rate',
      label: 'Approval rate',
      description: 'Share of the decided profiles whose first decision was Approved.',
      time_field: 'first decision',
      aggregation: 'share',
      dimensions: PROFILE,
    },
    { at: 'decided', part: ({ approved }) => is(approved, 1) },
  ),
  ...(['p50', 'p90'] as const).map((aggregation) =>
    metric(
      'profiles',
      {
        id: `profiles.time_to_decision_${aggregation}`,
        label: aggregation === 'p50' ? 'Median time to decision' : 'Time to decision, 90th percentile',
        description: 'Seconds from creation to the first decision, of the profiles decided in the bucket.',
        time_field: 'first decision',
        aggregation,
        dimensions: PROFILE,
      },
      { at: 'decided', seconds: { from: 'created', to: 'decided' } },
    ),
  ),
  metric(
    'profiles',
    {
      id: 'profiles.pending_review',
      label: 'Profiles awaiting a decision',
      description: 'Profiles now in Pending Review, Under Review, RFI Sent, RFI Responded or Escalated.',
      time_field: 'now',
      aggregation: 'count',
      dimensions: [...PROFILE, 'review.age'],
    },
    { where: ({ created }, view) => both(past(created, view), awaiting(view)) },
  ),

  // Cohorts
  metric(
    'profiles',
    {
      id: 'cohort.completion_rate',
      label: 'Completion rate by arrival',
      description: 'Of the profiles received in the bucket, the share decided so far.',
      time_field: 'created',
      aggregation: 'share',
      dimensions: PROFILE,
    },
    { at: 'created', part: ({ decided }, view) => past(decided, view) },
  ),
  ...(['p50', 'p90'] as const).map((aggregation) =>
    metric(
      'profiles',
      {
        id: `cohort.turnaround_${aggregation}`,
        label: aggregation === 'p50' ? 'Median turnaround by arrival' : 'Turnaround by arrival, 90th percentile',
        description: 'Seconds to the first decision, of the profiles received in the bucket and decided so far.',
        time_field: 'created',
        aggregation,
        dimensions: PROFILE,
      },
      {
        at: 'created',
        where: ({ decided }, view) => past(decided, view),
        seconds: { from: 'created', to: 'decided' },
      },
    ),
  ),

  // Screening
  metric(
    'hits',
    {
      id: 'screening.hits',
      label: 'Screening hits',
      description: 'Hits against sanctions, PEP and adverse media lists, by the time they were found.',
      time_field: 'created',
      aggregation: 'count',
      dimensions: HIT,
    },
    { at: 'found' },
  ),
  metric(
    'hits',
    {
      id: 'screening.profiles_hit',
      label: 'Profiles with hits',
      description: 'Different profiles for which a hit was found in the bucket.',
      time_field: 'created',
      aggregation: 'distinct',
      dimensions: HIT,
    },
    { at: 'found', key: 'profile' },
  ),
  metric(
    'hits',
    {
      id: 'screening.hits_resolved',
      label: 'Hits resolved',
      description: 'Hits by the time they were resolved.',
      time_field: 'closed',
      aggregation: 'count',
      dimensions: HIT,
    },
    { at: 'resolved' },
  ),
  metric(
    'runs',
    {
      id: 'screening.address_runs',
      label: 'Address screening runs',
      description: 'Screening runs of blockchain addresses, failed ones included.',
      time_field: 'created',
      aggregation: 'count',
      dimensions: HELD,
      feature: 'blockchain',
    },
    { at: 'at' },
  ),
  metric(
    'runs',
    {
      id: 'screening.address_failure_rate',
      label: 'Address screening failure rate',
      description: 'Share of the screening runs of blockchain addresses that failed.',
      time_field: 'created',
      aggregation: 'share',
      dimensions: HELD,
      feature: 'blockchain',
    },
    { at: 'at', part: ({ failed }) => is(failed, 1) },
  ),

  // Blockchain addresses
  metric(
    'addresses',
    {
      id: 'blockchain_addresses.added',
      label: 'Addresses added',
      description: 'Blockchain addresses by the time they were added.',
      time_field: 'created',
      aggregation: 'count',
      dimensions: HELD,
      feature: 'blockchain',
    },
    { at: 'added' },
  ),
  metric(
    'addresses',
    {
      id: 'blockchain_addresses.by_risk',
      label: 'Rated addresses by risk',
      description:
        'Blockchain addresses added in the bucket that have been rated since; group by profile.risk for the risk of their holders.',
      time_field: 'created',
      aggregation: 'count',
      dimensions: HELD,
      feature: 'blockchain',
    },
    { at: 'added', where: ({ screened }, view) => past(screened, view) },
  ),
  metric(
    'runs',
    {
      id: 'blockchain_addresses.screened',
      label: 'Addresses screened',
      description: 'Different blockchain addresses with a screening run in the bucket that succeeded.',
      time_field: 'created',
      aggregation: 'distinct',
      dimensions: HELD,
      feature: 'blockchain',
    },
    { at: 'at', where: ({ failed }) => is(failed, 0), key: 'address' },
  ),
  metric(
    'addresses',
    {
      id: 'blockchain_addresses.cannot_be_screened',
      label: 'Addresses that cannot be screened',
      description: 'Blockchain addresses added in the bucket on a network that no provider screens.',
      time_field: 'created',
      aggregation: 'count',
      dimensions: HELD,
      feature: 'blockchain',
    },
    { at: 'added', where: ({ screenable }) => is(screenable, 0) },
  ),
  metric(
    'runs',
    {
      id: 'blockchain_addresses.risk_rose',
      label: 'Address risk increases',
      description: 'Screening runs that rated a blockchain address higher than its run before.',
      time_field: 'created',
      aggregation: 'count',
      dimensions: HELD,
      feature: 'blockchain',
    },
    { at: 'at', where: ({ rose }) => is(rose, 1) },
  ),
  metric(
    'addresses',
    {
      id: 'blockchain_addresses.time_to_first_screening_p50',
      label: 'Median time to first screening',
      description:
        'Seconds from adding to the first screening that succeeded, of the blockchain addresses added in the bucket and screened since.',
      time_field: 'created',
      aggregation: 'p50',
      dimensions: HELD,
      feature: 'blockchain',
    },
    {
      at: 'added',
      where: ({ screened }, view) => past(screened, view),
      seconds: { from: 'added', to: 'screened' },
    },
  ),

  // Intake forms
  metric(
    'forms',
    {
      id: 'intake.submissions',
      label: 'Intake submissions',
      description: 'Intake forms by the time they were submitted, held ones included.',
      time_field: 'created',
      aggregation: 'count',
      dimensions: FORM,
      feature: 'intake',
    },
    { at: 'submitted' },
  ),
  metric(
    'forms',
    {
      id: 'intake.invitations_sent',
      label: 'Intake invitations sent',
      description: 'Invitations to an intake form by the time they were sent.',
      time_field: 'created',
      aggregation: 'count',
      dimensions: FORM,
      feature: 'intake',
    },
    { at: 'invited' },
  ),
  metric(
    'forms',
    {
      id: 'intake.completion_rate',
      label: 'Intake completion rate',
      description: 'Of the invitations sent in the bucket, the share submitted so far.',
      time_field: 'created',
      aggregation: 'share',
      dimensions: FORM,
      feature: 'intake',
    },
    { at: 'invited', part: ({ submitted }, view) => past(submitted, view) },
  ),
  metric(
    'forms',
    {
      id: 'intake.time_to_submit_p50',
      label: 'Median time to submit',
      description: 'Seconds from the invitation to the submission, of the forms submitted in the bucket.',
      time_field: 'created',
      aggregation: 'p50',
      dimensions: FORM,
      feature: 'intake',
    },
    { at: 'submitted', seconds: { from: 'invited', to: 'submitted' } },
  ),
  metric(
    'forms',
    {
      id: 'intake.held_duplicates',
      label: 'Submissions held as duplicates',
      description: 'Submissions held as a possible duplicate, by the time they were submitted.',
      time_field: 'created',
      aggregation: 'count',
      dimensions: FORM,
      feature: 'intake',
    },
    { at: 'submitted', where: ({ held }) => is(held, 1) },
  ),

  // Transaction alerts
  metric(
    'transactions',
    {
      id: 'transaction_alerts.received',
      label: 'Transaction alerts received',
      description: 'Transaction alerts by the time they were received.',
      time_field: 'created',
      aggregation: 'count',
      dimensions: HELD,
      feature: 'transactions',
    },
    { at: 'received' },
  ),
  metric(
    'transactions',
    {
      id: 'transaction_alerts.closed',
      label: 'Transaction alerts closed',
      description: 'Transaction alerts by the time they were decided.',
      time_field: 'closed',
      aggregation: 'count',
      dimensions: HELD,
      feature: 'transactions',
    },
    { at: 'closed' },
  ),
  metric(
    'transactions',
    {
      id: 'transaction_alerts.time_to_decide_p50',
      label: 'Median time to decide a transaction alert',
      description: 'Seconds from receipt to decision, of the transaction alerts decided in the bucket.',
      time_field: 'closed',
      aggregation: 'p50',
      dimensions: HELD,
      feature: 'transactions',
    },
    { at: 'closed', seconds: { from: 'received', to: 'closed' } },
  ),
  metric(
    'transactions',
    {
      id: 'transaction_alerts.override_rate',
      label: 'Override rate',
      description:
        'Share of the transaction alerts decided in the bucket that were decided against the recommendation.',
      time_field: 'closed',
      aggregation: 'share',
      dimensions: HELD,
      feature: 'transactions',
    },
    {
      at: 'closed',
      part:
        ({ recommended, decided }) =>
        (row) =>
          recommended[row] !== decided[row],
    },
  ),

  // Alerts
  metric(
    'alerts',
    {
      id: 'alerts.created',
      label: 'Alerts created',
      description: 'Alerts by the time of their creation.',
      time_field: 'created',
      aggregation: 'count',
      dimensions: ALERT,
    },
    { at: 'created' },
  ),
  metric(
    'alerts',
    {
      id: 'alerts.closed',
      label: 'Alerts closed',
      description: 'Alerts by the time they were closed or dismissed.',
      time_field: 'closed',
      aggregation: 'count',
      dimensions: ALERT,
    },
    { at: 'closed' },
  ),
  metric(
    'alerts',
    {
      id: 'alerts.time_to_close_p50',
      label: 'Median time to close an alert',
      description: 'Seconds from creation to closing, of the alerts closed or dismissed in the bucket.',
      time_field: 'closed',
      aggregation: 'p50',
      dimensions: ALERT,
    },
    { at: 'closed', seconds: { from: 'created', to: 'closed' } },
  ),
  metric(
    'alerts',
    {
      id: 'alerts.open',
      label: 'Open alerts',
      description: 'Alerts now neither closed nor dismissed.',
      time_field: 'now',
      aggregation: 'count',
      dimensions: ALERT,
    },
    { where: ({ created, closed }, view) => both(past(created, view), not(past(closed, view))) },
  ),

  // RFIs
  metric(
    'rfis',
    {
      id: 'rfis.sent',
      label: 'RFIs sent',
      description: 'Requests for information by the time they were sent.',
      time_field: 'created',
      aggregation: 'count',
      dimensions: RFI,
    },
    { at: 'sent' },
  ),
  metric(
    'rfis',
    {
      id: 'rfis.answered',
      label: 'RFIs answered',
      description: 'Requests for information by the time they were answered.',
      time_field: 'closed',
      aggregation: 'count',
      dimensions: RFI,
    },
    { at: 'answered' },
  ),
  metric(
    'rfis',
    {
      id: 'rfis.response_rate',
      label: 'RFI response rate',
      description: 'Of the requests for information sent in the bucket, the share answered so far.',
      time_field: 'created',
      aggregation: 'share',
      dimensions: RFI,
    },
    { at: 'sent', part: ({ answered }, view) => past(answered, view) },
  ),
  metric(
    'rfis',
    {
      id: 'rfis.response_time_p50',
      label: 'Median RFI response time',
      description: 'Seconds from sending to the answer, of the requests for information answered in the bucket.',
      time_field: 'closed',
      aggregation: 'p50',
      dimensions: RFI,
    },
    { at: 'answered', seconds: { from: 'sent', to: 'answered' } },
  ),
  metric(
    'rfis',
    {
      id: 'rfis.open',
      label: 'Open RFIs',
      description: 'Requests for information now neither answered nor withdrawn.',
      time_field: 'now',
      aggregation: 'count',
      dimensions: RFI,
    },
    {
      where: ({ sent, answered, withdrawn }, view) =>
        both(past(sent, view), not(past(answered, view)), not(past(withdrawn, view))),
    },
  ),
  metric(
    'rfis',
    {
      id: 'rfis.overdue',
      label: 'Overdue RFIs',
      description: 'Requests for information now open and past the day they were due.',
      time_field: 'now',
      aggregation: 'count',
      dimensions: RFI,
    },
    {
      where: ({ due, answered, withdrawn }, view) =>
        both(past(due, view), not(past(answered, view)), not(past(withdrawn, view))),
    },
  ),

  // Workload and SLAs
  metric(
    'alerts',
    {
      id: 'alerts.unassigned',
      label: 'Unassigned alerts',
      description: 'Open alerts that nobody has taken yet.',
      time_field: 'now',
      aggregation: 'count',
      dimensions: ALERT,
    },
    {
      where: ({ created, assigned, closed }, view) =>
        both(past(created, view), not(past(assigned, view)), not(past(closed, view))),
    },
  ),
  metric(
    'reviews',
    {
      id: 'reviews.overdue',
      label: 'Overdue reviews',
      description: 'Reviews now open and past the time by which they were due: 10, 7, 5 or 3 days by risk.',
      time_field: 'now',
      aggregation: 'count',
      dimensions: [...PROFILE, 'review.age'],
    },
    { where: ({ due, decided }, view) => both(past(due, view), not(past(decided, view))) },
  ),
];

/** A metric whose meaning changed: kept for those who still read it, and named by its successor (specification §9). */
export const REPLACED: readonly MetricDeclaration[] = [
  metric(
    'hits',
    {
      id: 'screening.matches',
      label: 'Screening matches',
      description: 'Hits against sanctions and adverse media lists, without PEP. Replaced by screening.hits.',
      time_field: 'created',
      aggregation: 'count',
      dimensions: HIT,
      replaced: { afterDays: 365, by: 'screening.hits' },
    },
    {
      at: 'found',
      where:
        ({ kind }) =>
        (row) =>
          kind[row] !== code('hitKind', 'pep'),
    },
  ),
];
