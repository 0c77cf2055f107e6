import { describe, expect, it } from 'vitest';
import { CODES, type FactTables, NEVER } from '../../../src/sandbox/generator/fact-tables.ts';
import { firstDay, generateHistory } from '../../../src/sandbox/generator/history.ts';
import { ORGANIZATIONS } from '../../../src/sandbox/generator/organizations.ts';
import { dump } from '../../../src/sandbox/sandbox.ts';

const NOW = Date.parse('2026-04-08T08:30:00Z');
const DAY = 86_400_000;
const [acme, northwind, lakeside, blank] = ORGANIZATIONS as [(typeof ORGANIZATIONS)[0], ...typeof ORGANIZATIONS];
const { facts } = generateHistory(acme, 1, NOW, NOW + DAY);

describe('the generated history', () => {
  it('covers at least 24 months of every organization but the new one', () => {
    for (const spec of [acme, northwind, lakeside]) {
      const history = generateHistory(spec!, 1, NOW, NOW + DAY);
      const start = firstDay(spec!, NOW) * DAY;
      expect(NOW - start).toBeGreaterThanOrEqual(24 * 30.4 * DAY);
      expect((history.facts.profiles.created[0] ?? NEVER) - start).toBeLessThan(7 * DAY);
    }
    expect(generateHistory(blank!, 1, NOW, NOW + DAY).facts.profiles.created).toHaveLength(0);
    expect(firstDay(acme, NOW) * DAY).toBe(Date.parse('2023-10-01T00:00:00Z'));
  });

  it('is the same for the same seed, and different for another seed', () => {
    expect(generateHistory(lakeside!, 5, NOW, NOW)).toEqual(generateHistory(lakeside!, 5, NOW, NOW));
    expect(generateHistory(lakeside!, 5, NOW, NOW).facts.profiles).not.toEqual(
      generateHistory(lakeside!, 6, NOW, NOW).facts.profiles,
    );
  });

  it('differs only in the groups when some profiles have none', () => {
    const { profiles, forms, ...others } = generateHistory(northwind!, 3, NOW, NOW).facts;
    const {
      profiles: some,
      forms: invited,
      ...same
    } = generateHistory({ ...northwind!, ungrouped: 0.3 }, 3, NOW, NOW).facts;
    expect(same).toEqual(others);
    const none = northwind!.groups.length;
    for (const [before, after] of [
      [profiles.group, some.group],
      [forms.group, invited.group],
    ] as const) {
      expect([...after].filter((group, row) => group !== none && group !== before[row])).toEqual([]);
      expect(after.filter((group) => group === none).length / after.length).toBeCloseTo(0.3, 1);
    }
    expect({ ...some, group: profiles.group }).toEqual(profiles);
  });

  it('does not change when more of the future is generated', () => {
    const near = generateHistory(northwind!, 3, NOW, NOW);
    const far = generateHistory(northwind!, 3, NOW, NOW + 90 * DAY);
    for (const [name, table] of Object.entries(near.facts)) {
      if (name === 'changes') continue;
      const [first] = Object.keys(table);
      const longer = far.facts[name as keyof FactTables] as unknown as Record<string, Float64Array>;
      const shorter = table as unknown as Record<string, Float64Array>;
      const rows = shorter[first!]!.filter((at) => at <= NOW).length;
      expect(longer[first!]!.filter((at) => at <= NOW)).toHaveLength(rows);
      for (const column of Object.keys(table)) {
        // The start of the changes of a profile moves, because profiles before it have a longer future.
        if (column === 'changes') continue;
        const past = (values: Float64Array) =>
          [...values.slice(0, rows)].map((value) => (column !== 'profile' && value > NOW ? NEVER : value));
        expect(past(longer[column]!).join() === past(shorter[column]!).join(), `${name}.${column}`).toBe(true);
      }
    }
  });

  it('has fewer new profiles at weekends, and grows', () => {
    const created = [...facts.profiles.created].filter((at) => at <= NOW);
    const weekends = created.filter((at) => [0, 6].includes(new Date(at).getUTCDay())).length;
    expect(weekends / created.length).toBeGreaterThan(0.02);
    expect(weekends / created.length).toBeLessThan(0.12);
    const within = (from: string, to: string) =>
      created.filter((at) => at >= Date.parse(from) && at < Date.parse(to)).length;
    expect(within('2025-10-01', '2026-04-01')).toBeGreaterThan(1.3 * within('2023-10-01', '2024-04-01'));
  });

  it('has whole seconds, and a plausible order of events', () => {
    const ordered = (name: string, early: Float64Array, late: Float64Array) => {
      for (const [row, at] of early.entries()) {
        const next = late[row] ?? NEVER;
        if (at === NEVER && next === NEVER) continue;
        if (at % 1000 !== 0 || (next !== NEVER && next % 1000 !== 0)) throw new Error(`${name} ${row}: not whole`);
        if (at > next) throw new Error(`${name} ${row}: ${at} after ${next}`);
      }
    };
    const { profiles, reviews, hits, alerts, rfis, addresses, forms, transactions } = facts;
    ordered('decided', profiles.created, profiles.decided);
    ordered('review', reviews.opened, reviews.decided);
    ordered('hit', hits.found, hits.resolved);
    ordered('assigned', alerts.created, alerts.assigned);
    ordered('closed', alerts.assigned, alerts.closed);
    ordered('answered', rfis.sent, rfis.answered);
    ordered('screened', addresses.added, addresses.screened);
    ordered('submitted', forms.invited, forms.submitted);
    ordered('decided', transactions.received, transactions.closed);
    for (const [row, profile] of hits.profile.entries()) {
      expect(hits.found[row]).toBeGreaterThanOrEqual(profiles.created[profile] ?? NEVER);
    }
    for (const row of profiles.created.keys()) {
      const [first = 0, next = 0] = profiles.changes.slice(row, row + 2);
      const ats = facts.changes.at.slice(first, next);
      if (ats[0] !== profiles.created[row]) throw new Error(`profile ${row} begins with no status`);
      if (ats.some((at, nth) => nth > 0 && at < (ats[nth - 1] ?? 0))) throw new Error(`profile ${row} goes back`);
    }
  });

  it('has a profile for every form that was submitted and not held', () => {
    const intake = CODES.source.indexOf('intake_form');
    const made = [...facts.profiles.created].filter((_, row) => facts.profiles.source[row] === intake);
    const submitted = [...facts.forms.submitted].filter((at, row) => at < NOW + DAY && facts.forms.held[row] === 0);
    expect(made).toEqual(submitted.sort((a, b) => a - b));
  });

  it('has no records of features that an organization does not use', () => {
    const few = generateHistory(lakeside!, 1, NOW, NOW).facts;
    for (const table of [few.addresses.added, few.runs.at, few.forms.invited, few.transactions.received]) {
      expect(table).toHaveLength(0);
    }
    const kinds = generateHistory(northwind!, 1, NOW, NOW).facts.hits.kind;
    expect([...kinds]).not.toContain(CODES.hitKind.indexOf('adverse_media'));
  });
});

describe('the dump', () => {
  it('is NDJSON in order of time, and has nothing from the future', () => {
    const lines = [...dump({ seed: 1, now: NOW, organizations: [103] })];
    const events = lines.map((line) => JSON.parse(line) as { at: string; event: string; organization: number });
    expect(events.length).toBeGreaterThan(5000);
    expect(lines.every((line) => line.endsWith('\n'))).toBe(true);
    const ats = events.map(({ at }) => at);
    expect(ats).toEqual([...ats].sort());
    expect(Date.parse(ats.at(-1) ?? '')).toBeLessThanOrEqual(NOW);
    expect(new Set(events.map(({ organization }) => organization))).toEqual(new Set([103]));
    expect(new Set(events.map(({ event }) => event))).toEqual(
      new Set([
        'profile.created',
        'profile.status_changed',
        'review.opened',
        'review.decided',
        'hit.found',
        'hit.resolved',
        'alert.created',
        'alert.assigned',
        'alert.closed',
        'rfi.sent',
        'rfi.answered',
        'rfi.withdrawn',
      ]),
    );
  });

  it('is the same each time, and has all organizations with records by default', () => {
    const options = { seed: 2, now: Date.parse('2024-01-10T00:00:00Z') };
    const all = [...dump(options)];
    // Half a million lines: comparing them one by one would take seconds.
    expect(all.join('\n') === [...dump(options)].join('\n')).toBe(true);
    expect(new Set(all.map((line) => JSON.parse(line).organization))).toEqual(new Set([101, 102, 103]));
  });
});
