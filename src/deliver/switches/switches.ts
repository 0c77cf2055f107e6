import { z } from 'zod';
import { DocketError } from '../../base/error.ts';
import { DAY_MS, epochMsSchema, isoInstant } from '../../base/time.ts';

/** `stop`: nothing is delivered. `hold`: nothing is deleted and nothing expires (legal hold). */
export const SWITCH_KINDS = ['stop', 'hold'] as const;
export type SwitchKind = (typeof SWITCH_KINDS)[number];

const switchSchema = z.object({
  kind: z.enum(SWITCH_KINDS),
  /** Null: applies to everything. */
  org: z.string().nullable(),
  by: z.string(),
  reason: z.string(),
  since: epochMsSchema,
});
/** A stop or a legal hold that is on. */
export type Switch = Readonly<z.infer<typeof switchSchema>>;
export type SwitchTarget = Pick<Switch, 'kind' | 'org'>;

export const switchStateSchema = z.object({
  /** Increases with each change. */
  version: z.int().nonnegative(),
  switches: z.array(switchSchema).readonly(),
  /** Released stops: their time does not count towards `deadline` and `within`. */
  past: z.array(z.object({ org: z.string().nullable(), from: epochMsSchema, to: epochMsSchema })).readonly(),
  /** The change that made this version, for people who read the archive. */
  change: z
    .object({ what: z.enum(['set', 'released']), by: z.string(), reason: z.string(), at: epochMsSchema })
    .nullable(),
});
/** All switches that are on, as one version in the archive. */
export type SwitchState = Readonly<z.infer<typeof switchStateSchema>>;

export const NO_SWITCHES: SwitchState = { version: 0, switches: [], past: [], change: null };

/** Longer than any deadline of a run or an approval. */
const PAST_KEPT_MS = 400 * DAY_MS;

const isSame = (one: SwitchTarget, other: SwitchTarget): boolean => one.kind === other.kind && one.org === other.org;

/** The switch that applies to an organization, or to everything; undefined if none is on. */
export const findSwitch = ({ switches }: SwitchState, kind: SwitchKind, org: string): Switch | undefined =>
  switches.find((each) => each.kind === kind && each.org === null) ??
  switches.find((each) => each.kind === kind && each.org === org);

/** Adds a switch. A switch that is already on keeps its author and reason. */
export function withSwitch(state: SwitchState, added: Switch): SwitchState {
  if (state.switches.some((each) => isSame(each, added))) return state;
  const { by, reason, since: at } = added;
  return {
    ...state,
    version: state.version + 1,
    switches: [...state.switches, added],
    change: { what: 'set', by, reason, at },
  };
}

/** Removes a switch. Returns the same state if it is off. @param at epoch ms */
export function withoutSwitch(
  state: SwitchState,
  target: SwitchTarget,
  { by, reason }: { readonly by: string; readonly reason: string },
  at: number,
): SwitchState {
  const removed = state.switches.find((each) => isSame(each, target));
  if (removed === undefined) return state;
  const ended = removed.kind === 'stop' ? [{ org: removed.org, from: removed.since, to: at }] : [];
  return {
    version: state.version + 1,
    switches: state.switches.filter((each) => each !== removed),
    past: [...state.past.filter(({ to }) => at - to < PAST_KEPT_MS), ...ended],
    change: { what: 'released', by, reason, at },
  };
}

/** For how many ms between `from` and `to` an organization's deliveries were stopped. Overlapping stops count once. */
export function stoppedMs({ switches, past }: SwitchState, org: string, from: number, to: number): number {
  const current = switches.flatMap((each) =>
    each.kind === 'stop' ? [{ org: each.org, from: each.since, to: Number.POSITIVE_INFINITY }] : [],
  );
  const intervals = [...past, ...current]
    .filter((each) => each.org === null || each.org === org)
    .sort((one, other) => one.from - other.from);
  let [sum, counted] = [0, from];
  for (const each of intervals) {
    const [start, end] = [Math.max(each.from, counted), Math.min(each.to, to)];
    if (end <= start) continue;
    sum += end - start;
    counted = end;
  }
  return sum;
}

/** What a switch applies to: `everything`, or the organization. */
export const switchScope = ({ org }: Pick<Switch, 'org'>): string => org ?? 'everything';

const STOPPED = 'Deliveries are stopped';

/** One sentence that says what a run waits for. */
export const stopSentence = ({ org, by, reason, since }: Switch): string =>
  `${STOPPED} for ${switchScope({ org })} since ${isoInstant(since)} by ${by}: ${reason}`;

/** Whether a run waits for the release of a stop, judging by the reason for its wait. */
export const waitsForRelease = (why: string | undefined): boolean => why?.startsWith(STOPPED) === true;

/** Thrown before a delivery begins. */
export const stoppedError = (stop: Switch): DocketError =>
  new DocketError('delivery.stopped', `${stopSentence(stop)}.`, {
    expected: 'no stop',
    next: '`docket stop` lists stops and what waits for their release. With `--no-deliver` the files are made and not sent.',
  });
