/** The different slots of the independent library `cron` (not croner), and why ours are right. */
interface Peer {
  readonly slots: readonly string[];
  readonly why: string;
}

/** A row of the table. Instants are in UTC, to the minute. */
export interface Row {
  readonly cron: string;
  readonly zone: string;
  readonly after: string;
  readonly slots: readonly string[];
  readonly peer?: Peer;
}

const HALF = 'it treats every change as one of an hour and returns instants at which the clock shows another minute';
const TWICE = 'a repeated fixed time runs twice, or at its second occurrence';
const EARLY = 'it runs when the clock shows 02:00 for the second time, an hour before 03:00';
const STUCK = 'it gets stuck: after the change it returns the instant that it started from';
const EXTRA = 'hourly slots are no longer hourly: 53 minutes apart, then 7';
const STEPS = 'it omits the second 02:00, although a wildcard should match every occurrence';

/**
 * Written by hand from these rules: a time in the gap runs once, at the first instant after it. A repeated time of day
 * runs once, at its first occurrence. An interval runs at every occurrence.
 * Berlin 2026: 29 March 02:00 → 03:00 (01:00Z), 25 October 03:00 → 02:00 (01:00Z).
 * New York 2026: 8 March 02:00 → 03:00 (07:00Z), 1 November 02:00 → 01:00 (06:00Z).
 * Lord Howe 2026: 5 April 02:00 → 01:30 (15:00Z of the 4th), 4 October 02:00 → 02:30 (15:30Z of the 3rd).
 * Cairo 2026: 24 April 00:00 → 01:00 (22:00Z of the 23rd).
 */
export const TABLE: readonly Row[] = [
  // The gap, as times of day.
  {
    cron: '30 2 * * *',
    zone: 'Europe/Berlin',
    after: '2026-03-28T12:00Z',
    slots: ['2026-03-29T01:00Z', '2026-03-30T00:30Z'],
  },
  {
    cron: '0 2 * * *',
    zone: 'Europe/Berlin',
    after: '2026-03-28T12:00Z',
    slots: ['2026-03-29T01:00Z', '2026-03-30T00:00Z'],
  },
  {
    cron: '59 2 * * SUN',
    zone: 'Europe/Berlin',
    after: '2026-03-28T12:00Z',
    slots: ['2026-03-29T01:00Z', '2026-04-05T00:59Z'],
  },
  {
    cron: '0,30 2 * * *',
    zone: 'Europe/Berlin',
    after: '2026-03-28T12:00Z',
    slots: ['2026-03-29T01:00Z', '2026-03-30T00:00Z', '2026-03-30T00:30Z'],
  },
  {
    cron: '*/15 2 * * *',
    zone: 'Europe/Berlin',
    after: '2026-03-28T12:00Z',
    slots: ['2026-03-29T01:00Z', '2026-03-30T00:00Z', '2026-03-30T00:15Z'],
  },
  {
    cron: '30 2,14 * * *',
    zone: 'Europe/Berlin',
    after: '2026-03-28T13:31Z',
    slots: ['2026-03-29T01:00Z', '2026-03-29T12:30Z', '2026-03-30T00:30Z'],
  },
  {
    cron: '0 3 * * *',
    zone: 'Europe/Berlin',
    after: '2026-03-28T12:00Z',
    slots: ['2026-03-29T01:00Z', '2026-03-30T01:00Z'],
  },
  {
    cron: '0 2-3 * * *',
    zone: 'Europe/Berlin',
    after: '2026-03-28T12:00Z',
    slots: ['2026-03-29T01:00Z', '2026-03-30T00:00Z', '2026-03-30T01:00Z'],
  },
  {
    cron: '30 2 8 3 *',
    zone: 'America/New_York',
    after: '2026-03-01T12:00Z',
    slots: ['2026-03-08T07:00Z', '2027-03-08T07:30Z'],
  },
  {
    cron: '15 2 * * *',
    zone: 'Australia/Lord_Howe',
    after: '2026-10-03T12:00Z',
    slots: ['2026-10-03T15:30Z', '2026-10-04T15:15Z'],
    peer: { slots: ['2026-10-03T15:15Z', '2026-10-03T15:45Z'], why: HALF },
  },
  {
    cron: '45 2 * * *',
    zone: 'Australia/Lord_Howe',
    after: '2026-10-03T12:00Z',
    slots: ['2026-10-03T15:45Z', '2026-10-04T15:45Z'],
    peer: { slots: ['2026-10-03T15:15Z', '2026-10-03T15:45Z'], why: HALF },
  },
  {
    cron: '@daily',
    zone: 'Africa/Cairo',
    after: '2026-04-23T12:00Z',
    slots: ['2026-04-23T22:00Z', '2026-04-24T21:00Z'],
  },
  // The gap, as intervals.
  {
    cron: '0 * * * *',
    zone: 'Europe/Berlin',
    after: '2026-03-28T23:30Z',
    slots: ['2026-03-29T00:00Z', '2026-03-29T01:00Z', '2026-03-29T02:00Z'],
  },
  {
    cron: '*/30 * * * *',
    zone: 'America/New_York',
    after: '2026-03-08T06:00Z',
    slots: ['2026-03-08T06:30Z', '2026-03-08T07:00Z', '2026-03-08T07:30Z'],
  },
  {
    cron: '0 */2 * * *',
    zone: 'Europe/Berlin',
    after: '2026-03-28T22:30Z',
    slots: ['2026-03-28T23:00Z', '2026-03-29T01:00Z', '2026-03-29T02:00Z'],
  },
  {
    cron: '@hourly',
    zone: 'Australia/Lord_Howe',
    after: '2026-10-03T14:00Z',
    slots: ['2026-10-03T14:30Z', '2026-10-03T15:30Z', '2026-10-03T16:00Z'],
    peer: { slots: ['2026-10-03T14:30Z', '2026-10-03T15:00Z', '2026-10-03T15:30Z'], why: HALF },
  },
  // The overlap, as times of day.
  {
    cron: '30 2 * * *',
    zone: 'Europe/Berlin',
    after: '2026-10-24T12:00Z',
    slots: ['2026-10-25T00:30Z', '2026-10-26T01:30Z'],
  },
  {
    cron: '*/30 2 * * *',
    zone: 'Europe/Berlin',
    after: '2026-10-24T12:00Z',
    slots: ['2026-10-25T00:00Z', '2026-10-25T00:30Z', '2026-10-26T01:00Z'],
  },
  {
    cron: '30 1-3 * * *',
    zone: 'Europe/Berlin',
    after: '2026-10-24T12:00Z',
    slots: ['2026-10-24T23:30Z', '2026-10-25T00:30Z', '2026-10-25T02:30Z'],
    peer: { slots: ['2026-10-24T23:30Z', '2026-10-25T00:30Z', '2026-10-25T01:30Z'], why: TWICE },
  },
  {
    cron: '30 1 * * *',
    zone: 'America/New_York',
    after: '2026-10-31T12:00Z',
    slots: ['2026-11-01T05:30Z', '2026-11-02T06:30Z'],
  },
  {
    cron: '45 1 * * *',
    zone: 'Australia/Lord_Howe',
    after: '2026-04-04T12:00Z',
    slots: ['2026-04-04T14:45Z', '2026-04-05T15:15Z'],
  },
  {
    cron: '0 3 * * *',
    zone: 'Europe/Berlin',
    after: '2026-10-24T12:00Z',
    slots: ['2026-10-25T02:00Z', '2026-10-26T02:00Z'],
    peer: { slots: ['2026-10-25T01:00Z', '2026-10-25T02:00Z'], why: EARLY },
  },
  // The overlap, as intervals.
  {
    cron: '0 * * * *',
    zone: 'Europe/Berlin',
    after: '2026-10-24T23:30Z',
    slots: ['2026-10-25T00:00Z', '2026-10-25T01:00Z', '2026-10-25T02:00Z'],
  },
  {
    cron: '0 0-23 * * *',
    zone: 'Europe/Berlin',
    after: '2026-10-24T23:30Z',
    slots: ['2026-10-25T00:00Z', '2026-10-25T01:00Z', '2026-10-25T02:00Z'],
  },
  {
    cron: '@hourly',
    zone: 'America/New_York',
    after: '2026-11-01T04:30Z',
    slots: ['2026-11-01T05:00Z', '2026-11-01T06:00Z', '2026-11-01T07:00Z'],
  },
  {
    cron: '*/15 * * * *',
    zone: 'Australia/Lord_Howe',
    after: '2026-04-04T14:40Z',
    slots: ['2026-04-04T14:45Z', '2026-04-04T15:00Z', '2026-04-04T15:15Z', '2026-04-04T15:30Z'],
    peer: { slots: ['2026-04-04T14:45Z', '2026-04-04T15:00Z'], why: STUCK },
  },
  // Odd minutes, lists and steps over the gap.
  {
    cron: '7 * * * *',
    zone: 'Europe/Berlin',
    after: '2026-03-28T23:30Z',
    slots: ['2026-03-29T00:07Z', '2026-03-29T01:07Z', '2026-03-29T02:07Z'],
    peer: { slots: ['2026-03-29T00:07Z', '2026-03-29T01:00Z', '2026-03-29T01:07Z'], why: EXTRA },
  },
  {
    cron: '7 * * * *',
    zone: 'Australia/Lord_Howe',
    after: '2026-10-03T14:00Z',
    slots: ['2026-10-03T14:37Z', '2026-10-03T15:37Z', '2026-10-03T16:07Z'],
    peer: { slots: ['2026-10-03T14:37Z', '2026-10-03T15:07Z', '2026-10-03T15:37Z'], why: HALF },
  },
  {
    cron: '*/20 1-3 * * *',
    zone: 'Europe/Berlin',
    after: '2026-03-29T00:00Z',
    slots: ['2026-03-29T00:20Z', '2026-03-29T00:40Z', '2026-03-29T01:00Z', '2026-03-29T01:20Z'],
  },
  {
    cron: '15 1,2,3 * * *',
    zone: 'America/New_York',
    after: '2026-03-08T06:00Z',
    slots: ['2026-03-08T06:15Z', '2026-03-08T07:00Z', '2026-03-08T07:15Z'],
  },
  // Odd minutes, lists and steps over the overlap.
  {
    cron: '7 * * * *',
    zone: 'Australia/Lord_Howe',
    after: '2026-04-04T13:30Z',
    slots: ['2026-04-04T14:07Z', '2026-04-04T15:37Z', '2026-04-04T16:37Z'],
    peer: { slots: ['2026-04-04T14:07Z', '2026-04-04T15:07Z', '2026-04-04T15:37Z'], why: HALF },
  },
  {
    cron: '40 * * * *',
    zone: 'Australia/Lord_Howe',
    after: '2026-04-04T14:00Z',
    slots: ['2026-04-04T14:40Z', '2026-04-04T15:10Z', '2026-04-04T16:10Z'],
  },
  {
    cron: '0 */2 * * *',
    zone: 'Europe/Berlin',
    after: '2026-10-24T21:30Z',
    slots: ['2026-10-24T22:00Z', '2026-10-25T00:00Z', '2026-10-25T01:00Z', '2026-10-25T03:00Z'],
    peer: { slots: ['2026-10-24T22:00Z', '2026-10-25T00:00Z', '2026-10-25T03:00Z', '2026-10-25T05:00Z'], why: STEPS },
  },
  {
    cron: '0,30 1 * * *',
    zone: 'America/New_York',
    after: '2026-10-31T12:00Z',
    slots: ['2026-11-01T05:00Z', '2026-11-01T05:30Z', '2026-11-02T06:00Z'],
  },
  {
    cron: '*/30 1 * * *',
    zone: 'America/New_York',
    after: '2026-10-31T12:00Z',
    slots: ['2026-11-01T05:00Z', '2026-11-01T05:30Z', '2026-11-02T06:00Z'],
  },
  // Zones without changes of clocks, among them the one where each day starts first.
  {
    cron: '30 2 * * *',
    zone: 'Pacific/Kiritimati',
    after: '2026-03-28T12:00Z',
    slots: ['2026-03-28T12:30Z', '2026-03-29T12:30Z'],
  },
  {
    cron: '@daily',
    zone: 'Pacific/Kiritimati',
    after: '2026-12-30T12:00Z',
    slots: ['2026-12-31T10:00Z', '2027-01-01T10:00Z'],
  },
  {
    cron: '0 8 * * MON',
    zone: 'Pacific/Kiritimati',
    after: '2026-11-21T12:00Z',
    slots: ['2026-11-22T18:00Z', '2026-11-29T18:00Z'],
  },
  {
    cron: '30 2 * * *',
    zone: 'Asia/Tokyo',
    after: '2026-03-28T12:00Z',
    slots: ['2026-03-28T17:30Z', '2026-03-29T17:30Z'],
  },
  {
    cron: '0 * * * *',
    zone: 'Asia/Kathmandu',
    after: '2026-10-25T00:00Z',
    slots: ['2026-10-25T00:15Z', '2026-10-25T01:15Z'],
  },
  // Between the two occurrences of a repeated time.
  { cron: '30 2 * * *', zone: 'Europe/Berlin', after: '2026-10-25T00:45Z', slots: ['2026-10-26T01:30Z'] },
  {
    cron: '30 2 * * *',
    zone: 'Europe/Berlin',
    after: '2026-10-25T01:15Z',
    slots: ['2026-10-26T01:30Z'],
    peer: { slots: ['2026-10-25T01:30Z'], why: TWICE },
  },
  // The calendar.
  {
    cron: '0 8 * * MON',
    zone: 'Europe/Zurich',
    after: '2026-11-20T12:00Z',
    slots: ['2026-11-23T07:00Z', '2026-11-30T07:00Z'],
  },
  {
    cron: '0 7 1 * *',
    zone: 'Europe/Zurich',
    after: '2026-11-20T12:00Z',
    slots: ['2026-12-01T06:00Z', '2027-01-01T06:00Z'],
  },
  {
    cron: '0 7 31 * *',
    zone: 'UTC',
    after: '2026-11-20T12:00Z',
    slots: ['2026-12-31T07:00Z', '2027-01-31T07:00Z', '2027-03-31T07:00Z'],
  },
  { cron: '0 7 29 2 *', zone: 'UTC', after: '2026-11-20T12:00Z', slots: ['2028-02-29T07:00Z', '2032-02-29T07:00Z'] },
  { cron: '@weekly', zone: 'UTC', after: '2026-11-20T12:00Z', slots: ['2026-11-22T00:00Z', '2026-11-29T00:00Z'] },
  { cron: '@monthly', zone: 'UTC', after: '2026-11-20T12:00Z', slots: ['2026-12-01T00:00Z'] },
  { cron: '@yearly', zone: 'UTC', after: '2026-11-20T12:00Z', slots: ['2027-01-01T00:00Z'] },
];
