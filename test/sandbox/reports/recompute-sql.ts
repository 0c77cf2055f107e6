import { PGlite } from '@electric-sql/pglite';
import { dump } from '../../../src/sandbox/sandbox.ts';

/**
 * The same figures from the dumped events alone, in SQL: written from the metric's descriptions, sharing nothing with
 * the code under test.
 */

/** The rows of a metric, when they count, and how its figure is computed. */
interface Rule {
  readonly from: string;
  /** Column of the instant; null for a current count. */
  readonly at: string | null;
  readonly figure: string;
  readonly where?: string;
}

const median = (from: string, to: string, fraction = 0.5) =>
  `percentile_cont(${fraction}) within group (order by extract(epoch from ${to} - ${from}))`;
const AWAITING = "review_status in ('PR', 'UR', 'RS', 'RR', 'ES')";

const RULES: Readonly<Record<string, Rule>> = {
  'profiles.created': { from: 'profiles', at: 'created', figure: 'count(*)' },
  'profiles.decided': { from: 'profiles', at: 'decided', figure: 'count(*)' },
  'profiles.approval_rate': {
    from: 'profiles',
    at: 'decided',
    figure: "avg(case when decision = 'AP' then 1.0::float8 else 0 end)",
  },
  'profiles.time_to_decision_p50': { from: 'profiles', at: 'decided', figure: median('created', 'decided') },
  'profiles.time_to_decision_p90': { from: 'profiles', at: 'decided', figure: median('created', 'decided', 0.9) },
  'profiles.pending_review': { from: 'profiles', at: null, figure: 'count(*)', where: AWAITING },
  'cohort.completion_rate': {
    from: 'profiles',
    at: 'created',
    figure: 'avg(case when decided is null then 0::float8 else 1 end)',
  },
  'cohort.turnaround_p50': {
    from: 'profiles',
    at: 'created',
    figure: median('created', 'decided'),
    where: 'decided is not null',
  },
  'cohort.turnaround_p90': {
    from: 'profiles',
    at: 'created',
    figure: median('created', 'decided', 0.9),
    where: 'decided is not null',
  },
  'screening.hits': { from: 'hits', at: 'found', figure: 'count(*)' },
  'screening.matches': { from: 'hits', at: 'found', figure: 'count(*)', where: "kind <> 'pep'" },
  'screening.profiles_hit': { from: 'hits', at: 'found', figure: 'count(distinct profile)' },
  'screening.hits_resolved': { from: 'hits', at: 'resolved', figure: 'count(*)' },
  'screening.address_runs': { from: 'runs', at: 'at', figure: 'count(*)' },
  'screening.address_failure_rate': { from: 'runs', at: 'at', figure: 'avg(failed::int::float8)' },
  'blockchain_addresses.added': { from: 'addresses', at: 'added', figure: 'count(*)' },
  'blockchain_addresses.by_risk': {
    from: 'addresses',
    at: 'added',
    figure: 'count(*)',
    where: 'screened is not null',
  },
  'blockchain_addresses.screened': {
    from: 'runs',
    at: 'at',
    figure: 'count(distinct address)',
    where: 'not failed',
  },
  'blockchain_addresses.cannot_be_screened': {
    from: 'addresses',
    at: 'added',
    figure: 'count(*)',
    where: 'not can_be_screened',
  },
  'blockchain_addresses.risk_rose': { from: 'runs', at: 'at', figure: 'count(*)', where: 'rating > previous_rating' },
  'blockchain_addresses.time_to_first_screening_p50': {
    from: 'addresses',
    at: 'added',
    figure: median('added', 'screened'),
    where: 'screened is not null',
  },
  'intake.submissions': { from: 'forms', at: 'submitted', figure: 'count(*)' },
  'intake.invitations_sent': { from: 'forms', at: 'invited', figure: 'count(*)' },
  'intake.completion_rate': {
    from: 'forms',
    at: 'invited',
    figure: 'avg(case when submitted is null then 0::float8 else 1 end)',
  },
  'intake.time_to_submit_p50': { from: 'forms', at: 'submitted', figure: median('invited', 'submitted') },
  'intake.held_duplicates': { from: 'forms', at: 'submitted', figure: 'count(*)', where: 'held' },
  'transaction_alerts.received': { from: 'transactions', at: 'received', figure: 'count(*)' },
  'transaction_alerts.closed': { from: 'transactions', at: 'closed', figure: 'count(*)' },
  'transaction_alerts.time_to_decide_p50': {
    from: 'transactions',
    at: 'closed',
    figure: median('received', 'closed'),
  },
  'transaction_alerts.override_rate': {
    from: 'transactions',
    at: 'closed',
    figure: 'avg((decision <> recommendation)::int::float8)',
  },
  'alerts.created': { from: 'alerts', at: 'created', figure: 'count(*)' },
  'alerts.closed': { from: 'alerts', at: 'closed', figure: 'count(*)' },
  'alerts.time_to_close_p50': { from: 'alerts', at: 'closed', figure: median('created', 'closed') },
  'alerts.open': { from: 'alerts', at: null, figure: 'count(*)', where: 'closed is null' },
  'alerts.unassigned': {
    from: 'alerts',
    at: null,
    figure: 'count(*)',
    where: 'closed is null and assigned is null',
  },
  'rfis.sent': { from: 'rfis', at: 'sent', figure: 'count(*)' },
  'rfis.answered': { from: 'rfis', at: 'answered', figure: 'count(*)' },
  'rfis.response_rate': {
    from: 'rfis',
    at: 'sent',
    figure: 'avg(case when answered is null then 0::float8 else 1 end)',
  },
  'rfis.response_time_p50': { from: 'rfis', at: 'answered', figure: median('sent', 'answered') },
  'rfis.open': { from: 'rfis', at: null, figure: 'count(*)', where: 'answered is null and withdrawn is null' },
  'rfis.overdue': {
    from: 'rfis',
    at: null,
    figure: 'count(*)',
    where: 'answered is null and withdrawn is null and due < :today',
  },
  'reviews.overdue': { from: 'reviews', at: null, figure: 'count(*)', where: 'closed is null and due <= :now' },
};

export const RECOMPUTED = Object.keys(RULES);

/** Columns of the dimensions, the same names in every table. */
const DIMENSIONS: Readonly<Record<string, string>> = {
  'profile.type': 'type',
  'profile.group': '"group"',
  'profile.review_status': 'review_status',
  'profile.relationship_status': 'relationship_status',
  'profile.risk': 'risk',
  'profile.creation_source': 'creation_source',
  'review.age': 'review_age',
  'alert.type': 'alert_type',
  'alert.status': 'alert_status',
  'hit.kind': 'kind',
  'hit.resolution': 'resolution',
};

const TABLES = `
  create table statuses as
    select (e->>'profile')::int as profile, at, (e->>'nth')::int as nth, e->>'status' as status
    from events where e->>'event' = 'profile.status_changed';
  create index on statuses (profile);

  create table profiles as
    with latest as (
      select distinct on (profile) profile, status, at from statuses order by profile, nth desc
    ), decisions as (
      select distinct on (profile) profile, status, at from statuses where status in ('AP', 'DE') order by profile, nth
    ), approvals as (
      select distinct profile from statuses where status = 'AP'
    )
    select (e->>'profile')::int as profile, events.at as created, e->>'type' as type, e->>'group' as "group",
      e->>'risk' as risk, e->>'creation_source' as creation_source,
      latest.status as review_status, decisions.at as decided, decisions.status as decision,
      case latest.status
        when 'AP' then 'active' when 'DE' then 'rejected' when 'AR' then 'ended'
        else case
          when approvals.profile is not null then 'under_review'
          else 'prospect' end
      end as relationship_status,
      case
        when :now - latest.at < interval '3 days' then '0_2'
        when :now - latest.at < interval '8 days' then '3_7'
        when :now - latest.at < interval '15 days' then '8_14'
        else '15_plus'
      end as review_age
    from events
    join latest on latest.profile = (e->>'profile')::int
    left join decisions on decisions.profile = (e->>'profile')::int
    left join approvals on approvals.profile = (e->>'profile')::int
    where e->>'event' = 'profile.created';
  create unique index on profiles (profile);

  create view owners as
    select profile, type, "group", risk, creation_source, review_status, relationship_status, review_age from profiles;

  create table reviews as
    select owners.*, o.at as opened, (o.e->>'due_at')::timestamptz as due, c.at as closed
    from events o join owners on owners.profile = (o.e->>'profile')::int
    left join events c on c.e->>'event' = 'review.decided' and c.e->'review' = o.e->'review'
    where o.e->>'event' = 'review.opened';

  create table hits as
    select owners.*, o.at as found, o.e->>'kind' as kind, c.at as resolved,
      coalesce(c.e->>'resolution', 'unresolved') as resolution
    from events o join owners on owners.profile = (o.e->>'profile')::int
    left join events c on c.e->>'event' = 'hit.resolved' and c.e->'hit' = o.e->'hit'
    where o.e->>'event' = 'hit.found';

  create table alerts as
    select owners.*, o.at as created, o.e->>'type' as alert_type, a.at as assigned, c.at as closed,
      coalesce(c.e->>'status', case when a.at is null then 'open' else 'in_progress' end) as alert_status
    from events o join owners on owners.profile = (o.e->>'profile')::int
    left join events a on a.e->>'event' = 'alert.assigned' and a.e->'alert' = o.e->'alert'
    left join events c on c.e->>'event' = 'alert.closed' and c.e->'alert' = o.e->'alert'
    where o.e->>'event' = 'alert.created';

  create table rfis as
    select owners.*, o.at as sent, (o.e->>'due_at')::timestamptz as due, a.at as answered, w.at as withdrawn
    from events o join owners on owners.profile = (o.e->>'profile')::int
    left join events a on a.e->>'event' = 'rfi.answered' and a.e->'rfi' = o.e->'rfi'
    left join events w on w.e->>'event' = 'rfi.withdrawn' and w.e->'rfi' = o.e->'rfi'
    where o.e->>'event' = 'rfi.sent';

  create table runs as
    with rated as (
      select (e->>'run')::int as run, (e->>'address')::int as address, at, (e->>'failed')::boolean as failed,
        array_position(array['low', 'medium', 'high', 'severe'], e->>'risk') as rating
      from events where e->>'event' = 'address.screened'
    ), compared as (
      select run, lag(rating) over (partition by address order by at, run) as previous_rating
      from rated where not failed
    ), holders as (
      select (e->>'address')::int as address, (e->>'profile')::int as profile
      from events where e->>'event' = 'address.added'
    )
    select owners.*, rated.address, at, failed, rating, previous_rating
    from rated join holders using (address) join owners on owners.profile = holders.profile
    left join compared using (run);

  create table addresses as
    with first as (
      select address, min(at) as screened from runs where not failed group by address
    ), added as (
      select (e->>'address')::int as address, (e->>'profile')::int as profile, at as added,
        (e->>'can_be_screened')::boolean as can_be_screened
      from events where e->>'event' = 'address.added'
    )
    select owners.*, added, can_be_screened, first.screened
    from added join owners using (profile) left join first using (address);

  create table forms as
    select o.e->>'group' as "group", o.at as invited, c.at as submitted, (c.e->>'held')::boolean as held
    from events o left join events c on c.e->>'event' = 'intake.submitted' and c.e->'form' = o.e->'form'
    where o.e->>'event' = 'intake.invited';

  create table transactions as
    select owners.*, o.at as received, o.e->>'recommendation' as recommendation, c.at as closed,
      c.e->>'decision' as decision
    from events o join owners on owners.profile = (o.e->>'profile')::int
    left join events c on c.e->>'event' = 'transaction_alert.closed'
      and c.e->'transaction_alert' = o.e->'transaction_alert'
    where o.e->>'event' = 'transaction_alert.received';
`;

export interface SqlQuestion {
  readonly metric: string;
  readonly from: string;
  readonly to: string;
  readonly timezone: string;
  readonly granularity?: string | undefined;
  readonly dimensions: readonly string[];
  readonly filters: readonly { readonly dimension: string; readonly op: string; readonly values: readonly string[] }[];
}

export interface SqlRow {
  readonly bucket: string | null;
  readonly group: readonly (string | null)[];
  readonly value: number | null;
}

/** Loads the dump of one organization. */
export async function recomputer(options: { seed: number; now: number; organization: number; ungrouped: number }) {
  const db = await PGlite.create();
  await db.exec("set timezone = 'UTC'; create table lines (line text);");
  const { seed, organization, ungrouped } = options;
  const quoted = [...dump({ seed, now: options.now, organizations: [organization], ungrouped })].map(
    (line) => `"${line.trimEnd().replaceAll('"', '""')}"\n`,
  );
  await db.query("copy lines from '/dev/blob' with (format csv)", [], { blob: new Blob(quoted) });
  const now = `timestamptz '${new Date(options.now).toISOString()}'`;
  await db.exec(`
    create table events as
      select (line::jsonb->>'at')::timestamptz as at, line::jsonb as e from lines;
    create index on events ((e->>'event'));
    analyze events;
  `);
  await db.exec(TABLES.replaceAll(':now', now));

  return {
    async ask(question: SqlQuestion): Promise<SqlRow[]> {
      const rule = RULES[question.metric];
      if (rule === undefined) throw new Error(`no rule for ${question.metric}`);
      const zone = `'${question.timezone}'`;
      const dimensions = question.dimensions.map((id) => DIMENSIONS[id] ?? '');
      const conditions = [
        rule.where?.replaceAll(':now', now).replaceAll(':today', `date_trunc('day', ${now}, ${zone})`),
        rule.at === null ? undefined : `${rule.at} >= (timestamp '${question.from}' at time zone ${zone})`,
        rule.at === null
          ? undefined
          : `${rule.at} < ((timestamp '${question.to}' + interval '1 day') at time zone ${zone})`,
        ...question.filters.map(({ dimension, op, values }) => {
          const column = DIMENSIONS[dimension];
          const among = `${column} in (${values.map((value) => `'${value}'`).join()})`;
          // In SQL a comparison with null is neither true nor false. Here null is none of the values.
          return op === 'not_in' ? `(${column} is null or not ${among})` : among;
        }),
      ].filter((condition) => condition !== undefined);
      const bucket =
        question.granularity === undefined || rule.at === null
          ? 'null'
          : `to_char(date_trunc('${question.granularity}', ${rule.at} at time zone ${zone}), 'YYYY-MM-DD')`;
      const columns = [`${bucket} as bucket`, ...dimensions.map((column, nth) => `${column} as d${nth}`)];
      const groups = [...(bucket === 'null' ? [] : ['bucket']), ...dimensions.map((_, nth) => `d${nth}`)];
      const { rows } = await db.query<Record<string, string | number | null>>(
        `select ${columns.join()}, (${rule.figure})::float8 as value from ${rule.from}
         where ${['true', ...conditions].join(' and ')}
         ${groups.length === 0 ? '' : `group by ${groups.join()}`}`,
      );
      return rows.map((row) => ({
        bucket: row.bucket === null ? null : String(row.bucket),
        group: dimensions.map((_, nth) => (row[`d${nth}`] === null ? null : String(row[`d${nth}`]))),
        value: row.value === null ? null : Number(row.value),
      }));
    },
    close: () => db.close(),
  };
}
