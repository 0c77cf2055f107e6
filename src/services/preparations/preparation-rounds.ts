import { randomUUID } from 'node:crypto';
import type { SteadyClock } from '../../base/clock.ts';
import { type DocketError, toDocketError } from '../../base/error.ts';
import type { Log } from '../../base/log.ts';
import { MINUTE_MS, SECOND_MS } from '../../base/time.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { FrozenDefinition } from '../../queue/definitions/definition-store.ts';
import { findPause } from '../../queue/schedules/pauses.ts';
import { reportName } from '../../queue/schedules/report-schedules.ts';
import { createDuePreparations, createTokensFreeAt, type DuePreparation, isPrepared } from './due-preparations.ts';
import { PREPARATION_TTL_MS, type PreparationIndex, type PreparationStatus } from './preparation-index.ts';
import { isRefusal, type PreparePorts, type PrepareResult, prepareSlot } from './prepare-slot.ts';

/** Another process continues a slot whose process has died after this time. */
const CLAIM_TTL_MS = 2 * MINUTE_MS;
/** Delay after a failed call. */
const RETRY_DELAY_MS = 5 * MINUTE_MS;
/** While its calls wait for tokens, a slot is continued in the next rounds. */
const MAX_TOKEN_WAIT_MS = 30 * SECOND_MS;

export interface PreparationRoundPorts {
  readonly index: PreparationIndex;
  /** The reports in this process's files. */
  readonly reports: () => readonly FrozenDefinition[];
  /** The digest of each report's active version. */
  readonly activeDigests: () => Promise<ReadonlyMap<string, string>>;
  /** Pauses by `<org>` and `<org>/<report>`. */
  readonly paused: () => Promise<ReadonlyMap<string, unknown>>;
  /** Fingerprint of an organization's API key; undefined if it cannot be resolved. */
  readonly keyOf: (org: string) => Promise<string | undefined>;
  /** The settings of a report's organization, with the current API key and access control. */
  readonly settingsNow: (frozen: OrgSettings) => OrgSettings;
  /** An organization's ports. Their response store keeps responses for `ttlMs`. */
  readonly buildPreparePorts: (settings: OrgSettings, ttlMs: number) => Promise<PreparePorts>;
  readonly clock: SteadyClock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

export type PreparationRounds = ReturnType<typeof createPreparationRounds>;

/** Makes calls for the next slots before their runs begin. A failing slot is logged, and does not stop the others. */
export function createPreparationRounds(ports: PreparationRoundPorts) {
  const { index, clock, log, signal } = ports;
  const processId = randomUUID();
  const findDue = createDuePreparations();
  const tokensFreeAt = createTokensFreeAt();
  /** By run, if an attempt could not even begin: when to try again, epoch ms. */
  const retryAt = new Map<string, number>();
  /** Organizations whose key has calls to make for a slot. */
  let busy: ReadonlySet<string> = new Set();

  const find = async (now: number): Promise<readonly DuePreparation[]> => {
    const reports = ports.reports();
    const due = reports.some(isPrepared) ? findDue(reports, now) : [];
    if (due.length === 0) return [];
    const [digests, pauses] = await Promise.all([ports.activeDigests(), ports.paused()]);
    return due.filter(({ report }) => {
      const { org, report: id, digest } = report.definition;
      return digests.get(reportName(report)) === digest && findPause(pauses, org, id) === undefined;
    });
  };

  const loadKeys = async (reports: readonly FrozenDefinition[]): Promise<ReadonlyMap<string, string>> => {
    const orgs = [...new Set(reports.map(({ definition }) => definition.org))];
    const keys = await Promise.all(orgs.map(async (org) => [org, await ports.keyOf(org)] as const));
    return new Map(keys.flatMap(([org, key]) => (key === undefined ? [] : [[org, key] as const])));
  };

  /** Whether calls for the slot are due now, judging by what another round or process found. */
  const isOpen = ({ run, report }: DuePreparation, key: string, status: PreparationStatus | undefined, now: number) => {
    if ((retryAt.get(run) ?? 0) > now) return false;
    if (status === undefined || status.digest !== report.definition.digest || status.key !== key) return true;
    return !status.complete && status.next <= now;
  };

  /** @returns whether its key has no token left */
  const prepare = async (due: DuePreparation, key: string, until: number): Promise<boolean> => {
    const { report, run, slot, begins } = due;
    const { org, report: id, digest } = report.definition;
    if (!(await index.claim(run, processId, CLAIM_TTL_MS))) return false;
    const settings = ports.settingsNow(report.settings);
    const slotPorts = await ports.buildPreparePorts(settings, begins - clock.now() + PREPARATION_TTL_MS);
    // Checked again: the key may have been replaced since the round began.
    if (slotPorts.key !== key) return false;
    const result = await prepareSlot(due, slotPorts, { settings, until, signal });
    if (signal.aborted) return true;
    const { calls, prepared, since, state } = result;
    const refused = await reportFailures(due, key, result);
    const soon = Math.min(result.at, clock.now() + MAX_TOKEN_WAIT_MS);
    const next = result.failures.length > 0 ? clock.now() + RETRY_DELAY_MS : state === 'waiting' ? soon : result.at;
    await index.put(run, {
      ...{ org, report: id, slot, begins, key, digest, calls, prepared, since, next },
      complete: state === 'complete' || state === 'full',
    });
    if (state === 'complete' || state === 'full') {
      await index.release(run, processId);
      log.info(state === 'full' ? 'Slot prepared in part: no room for more answers' : 'Slot prepared', {
        ...{ run, org, report: id, slot: new Date(slot).toISOString(), event: 'preparation.done' },
        ...{ count: prepared, of: calls },
      });
    }
    return refused || state === 'waiting';
  };

  /** A refused key is reported once a day by one process, and pauses nothing. */
  const reportFailures = async (
    { report, run, slot }: DuePreparation,
    key: string,
    { failures }: PrepareResult,
  ): Promise<boolean> => {
    const refusal = failures.find(({ code }) => isRefusal(code));
    if (refusal !== undefined && !(await index.reportRefusal(key))) return true;
    const error: DocketError | undefined = refusal ?? failures[0];
    if (error === undefined) return false;
    const { org, report: id } = report.definition;
    log.warn('Calls could not be made before the slot; its run makes them', {
      ...{ run, org, report: id, slot: new Date(slot).toISOString(), event: 'preparation.failed', key },
      error: error.toJSON(),
    });
    return refusal !== undefined;
  };

  return {
    /** Whether a slot on this organization's key has calls to make, as of the last round. Corrections wait for them. */
    isDue: (org: string): boolean => busy.has(org),
    /** Runs one round, slot by slot. Call it every few seconds, in any number of processes. */
    round: async (): Promise<void> => {
      const now = clock.now();
      const found = await find(now);
      if (found.length === 0) {
        busy = new Set();
        return;
      }
      const reports = ports.reports();
      const [keys, statuses] = await Promise.all([loadKeys(reports), index.statuses()]);
      const over = [...statuses].filter(([, { begins }]) => begins < now - PREPARATION_TTL_MS).map(([run]) => run);
      await index.remove(over);
      const open = found.flatMap((due) => {
        const key = keys.get(due.report.definition.org);
        return key !== undefined && isOpen(due, key, statuses.get(due.run), now) ? [{ due, key }] : [];
      });
      const busyKeys = new Set(open.map(({ key }) => key));
      busy = new Set([...keys].filter(([, key]) => busyKeys.has(key)).map(([org]) => org));
      const waiting = new Set<string>();
      for (const { due, key } of open) {
        if (signal.aborted) return;
        if (waiting.has(key)) continue;
        const ofKey = reports.filter(({ definition }) => keys.get(definition.org) === key);
        const windowMs = findLongestWindow(ofKey);
        const until = tokensFreeAt(ofKey, clock.now(), windowMs);
        if (until <= clock.now()) continue;
        try {
          if (await prepare(due, key, until)) waiting.add(key);
        } catch (thrown) {
          if (signal.aborted) return;
          retryAt.set(due.run, clock.now() + RETRY_DELAY_MS);
          await reportFailures(due, key, failedResult(toDocketError(thrown)));
        }
      }
      for (const [run, at] of retryAt) if (at < now) retryAt.delete(run);
    },
  };
}

const failedResult = (error: DocketError): PrepareResult => ({
  calls: 0,
  prepared: 0,
  since: null,
  state: 'waiting',
  at: 0,
  failures: [error],
});

/** A key's window: the longest among the organizations that share it. */
const findLongestWindow = (reports: readonly FrozenDefinition[]): number =>
  Math.max(...reports.map(({ settings }) => (settings.budget?.window ?? MINUTE_MS / 1000) * 1000));
