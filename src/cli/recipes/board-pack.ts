import { CURRENT_QUEUE_SECTION, type Recipe, type SectionTemplate } from './recipe.ts';

const SECTIONS: readonly SectionTemplate[] = [
  {
    id: 'scorecard',
    title: 'Scorecard',
    why: 'The most important figures, on the first page. Those with a target in targets.yaml get a status.',
    layout: 'scorecard',
    metrics: [
      'profiles.created',
      'profiles.decided',
      'profiles.approval_rate',
      'profiles.time_to_decision_p50',
      'profiles.time_to_decision_p90',
    ],
    toDate: 'year',
    suggestion: 'compare: [previous_period, previous_year]   # once there is a year before',
    safe: true,
  },
  {
    id: 'onboarding',
    title: 'Onboarding by day',
    why: 'One row a day.',
    metrics: ['profiles.created', 'profiles.decided'],
    granularity: 'day',
    chart: 'line',
    safe: true,
  },
  {
    id: 'groups',
    title: 'Onboarding by group',
    why: 'The groups of your organization, the largest first.',
    metrics: ['profiles.created', 'profiles.decided', 'profiles.approval_rate'],
    dimensions: ['profile.group'],
    order: { by: 'profiles.created', dir: 'desc' },
    chart: 'bar',
    safe: true,
  },
  {
    id: 'risk',
    title: 'Decisions by risk and type',
    why: 'Two dimensions, which is the most: one row for each pair.',
    metrics: ['profiles.decided', 'profiles.approval_rate', 'profiles.time_to_decision_p50'],
    dimensions: ['profile.risk', 'profile.type'],
    safe: true,
  },
  {
    id: 'screening',
    title: 'Screening hits by kind and resolution',
    why: 'Sanctions, PEP and adverse media, and their outcomes.',
    metrics: ['screening.hits', 'screening.profiles_hit'],
    dimensions: ['hit.kind', 'hit.resolution'],
  },
  {
    id: 'transactions',
    title: 'Transaction alerts by week',
    why: 'Weeks begin on Monday; the first and the last count only their days of this month.',
    metrics: ['transaction_alerts.received', 'transaction_alerts.closed', 'transaction_alerts.time_to_decide_p50'],
    granularity: 'week',
  },
  {
    id: 'rfis',
    title: 'Requests for information by group',
    why: 'How many were sent, and how fast they were answered.',
    metrics: ['rfis.sent', 'rfis.answered', 'rfis.response_rate', 'rfis.response_time_p50'],
    dimensions: ['profile.group'],
  },
  CURRENT_QUEUE_SECTION,
];

export const BOARD_PACK: Recipe = {
  name: 'board-pack',
  summary: 'the month before for the board, on the first at seven',
  title: 'Compliance board pack',
  file: 'Board pack',
  schedule: '{ cron: "0 7 1 * *", catch_up: all }        # the first of each month at seven, in the zone of org.yaml',
  period: 'previous_month',
  unit: 'months',
  compare: 'previous_period',
  sections: SECTIONS,
  formats: ['xlsx'],
};

/** The board pack, which waits for a comment and an approval. */
export const APPROVED_PACK: Recipe = {
  ...BOARD_PACK,
  name: 'approved-pack',
  summary: 'the board pack, sent when it is commented and approved',
  sections: BOARD_PACK.sections.map((section, index) => (index === 0 ? { ...section, commented: true } : section)),
  approved: true,
};
