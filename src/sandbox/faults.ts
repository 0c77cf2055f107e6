import { DocketError } from '../base/error.ts';

/** Faults that can occur between a client and the service. */
export const FAULT_KINDS = {
  latency: { value: 'milliseconds', default: 1000, what: 'answers late' },
  throttle: { value: 'seconds', default: 5, what: 'answers 429 with this Retry-After' },
  status: { value: 'a status from 500 to 599', default: 502, what: 'answers this status with an HTML page' },
  echo: { value: null, default: 0, what: 'answers 503 and repeats the headers of the request, its key among them' },
  reset: { value: null, default: 0, what: 'resets the connection' },
  hang: { value: null, default: 0, what: 'never answers' },
  truncate: { value: null, default: 0, what: 'closes the connection in the middle of the body' },
  'content-type': { value: null, default: 0, what: 'answers with an HTML page and status 200' },
  'old-catalog': { value: 'groups', default: 1, what: 'lists so many groups fewer, as before the newest were made' },
  history: {
    value: 'percent',
    default: 5,
    what: 'has so many percent more profiles in all its past, as after late entries',
  },
  clock: { value: 'seconds', default: 300, what: 'has a clock that is wrong by so much, all the time' },
} as const;
export type FaultKind = keyof typeof FAULT_KINDS;

export interface Fault {
  readonly kind: FaultKind;
  /** In the unit of the fault's kind. */
  readonly value?: number;
  /** Probability from 0 to 1. Without it and `count`, the fault always occurs. */
  readonly probability?: number;
  /** The number of requests to affect. */
  readonly count?: number;
  /** Affects only requests whose path contains this. */
  readonly path?: string;
}

const FAULT_PATTERN = /^([a-z-]+)(?:=(-?\d+))?(?::(\d+)(\.\d+)?)?(?:@(\S+))?$/;

/**
 * Parses `KIND[=VALUE][:HOW OFTEN][@PATH]`. HOW OFTEN is a number of requests (`:3`) or, with a decimal point, a
 * probability (`:0.1`); without it, the fault always occurs. Examples: `reset:0.1`, `status=502:3`,
 * `latency=800@/analytics/report/`. Throws `usage.invalid`.
 */
export function parseFault(text: string): Fault {
  const wrong = (expected: string) =>
    new DocketError('usage.invalid', `"${text}" is not a fault.`, {
      where: '--fault',
      expected,
      got: `"${text}"`,
      next: 'Write e.g. --fault reset:0.1, --fault status=502:3 or --fault latency=800@/analytics/report/.',
    });
  const [, name = '', value, whole, decimals, path] = FAULT_PATTERN.exec(text) ?? [];
  const kind = (Object.keys(FAULT_KINDS) as FaultKind[]).find((candidate) => candidate === name);
  if (kind === undefined)
    throw wrong(`KIND[=VALUE][:HOW OFTEN][@PATH], KIND being ${Object.keys(FAULT_KINDS).join(', ')}`);
  const { value: unit } = FAULT_KINDS[kind];
  if (value !== undefined && unit === null) throw wrong(`"${kind}" without a value`);
  if (value !== undefined && kind !== 'clock' && Number(value) < 0) throw wrong(`${unit}, not negative`);
  if (kind === 'status' && value !== undefined && !/^5\d\d$/.test(value)) throw wrong(`${unit}`);
  const probability = decimals === undefined ? undefined : Number(`${whole}${decimals}`);
  if (probability !== undefined && probability > 1) throw wrong('a probability from 0.0 to 1.0');
  if (LASTING.has(kind) && whole !== undefined) throw wrong(`"${kind}" without how often: it holds all the time`);
  return {
    kind,
    ...(value === undefined ? {} : { value: Number(value) }),
    ...(probability === undefined ? {} : { probability }),
    ...(whole === undefined || decimals !== undefined ? {} : { count: Number(whole) }),
    ...(path === undefined ? {} : { path }),
  };
}

/** Faults that change the state of the service, not only some of its responses. */
const LASTING: ReadonlySet<FaultKind> = new Set<FaultKind>(['clock', 'history']);

/** Which requests a kind of fault applies to. */
const appliesTo = (kind: FaultKind, path: string): boolean =>
  kind !== 'old-catalog' || path.endsWith('/analytics/metrics/');

/**
 * Selects the faults for a request and decrements their counts.
 * @param share uniform in [0, 1) and seeded, so that equal requests get equal faults
 */
export function createFaultInjector(initial: readonly Fault[], share: () => number) {
  let active: { readonly fault: Fault; left: number }[] = [];
  const set = (faults: readonly Fault[]) => {
    active = faults.map((fault) => ({ fault, left: fault.count ?? Number.POSITIVE_INFINITY }));
  };
  set(initial);
  const sumFaults = (kind: FaultKind): number =>
    active.reduce((sum, { fault }) => sum + (fault.kind === kind ? (fault.value ?? FAULT_KINDS[kind].default) : 0), 0);
  return {
    set,
    /** How far the service's clock is ahead, in ms. */
    skew: () => sumFaults('clock') * 1000,
    /** The share of profiles that are added to the past; 0.05 is 5 %. */
    lateEntries: () => sumFaults('history') / 100,
    faultsFor: (path: string): readonly Fault[] =>
      active
        .filter((entry) => {
          const { kind, path: only, probability } = entry.fault;
          if (LASTING.has(kind) || entry.left <= 0 || !appliesTo(kind, path) || !path.includes(only ?? ''))
            return false;
          if (probability !== undefined && share() >= probability) return false;
          entry.left--;
          return true;
        })
        .map(({ fault }) => fault),
  };
}
