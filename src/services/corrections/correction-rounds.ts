import { randomUUID } from 'node:crypto';
import { type DocketError, toDocketError } from '../../base/error.ts';
import type { Log } from '../../base/log.ts';
import { MINUTE_MS } from '../../base/time.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { CorrectionsSpec } from '../../definitions/schema/review.ts';
import type { WatchedRun } from '../../deliver/archive/corrections/correction-archive.ts';
import { type CorrectionEvent, MAX_STORED_CHANGES } from '../../deliver/archive/corrections/correction-event.ts';
import type { EditionComparison } from '../../run/corrections/compare-editions.ts';
import type { PackEdition } from '../../run/corrections/edition-figures.ts';
import type { RunRecord, RunStore } from '../../run/run-record.ts';
import type { Deployment } from '../deployment/deployment.ts';
import { isAutomaticCapped } from './automatic-editions.ts';
import { type CheckPorts, checkEdition, watchedSections } from './check-edition.ts';
import { type Correction, DOCKET, ENDED_STATES, foldCorrections } from './correction.ts';
import type { NotifyCorrection } from './correction-notices.ts';
import type { CorrectionService } from './correction-service.ts';
import { type Edition, frozenOfEdition, loadEdition, loadFigures } from './editions.ts';
import { type CorrectionSummary, nextCheckAt, type WatchIndex } from './watch-index.ts';

/** How often the archive is listed. Changes in between are found at the next listing. */
const LIST_INTERVAL_MS = 5 * MINUTE_MS;
/** Another process continues a check whose process has died after this time. */
const CLAIM_TTL_MS = 10 * MINUTE_MS;
/** Delay after a failed check. */
const RETRY_DELAY_MS = 15 * MINUTE_MS;

export interface CorrectionWatch extends Deployment {
  readonly service: CorrectionService;
  readonly index: WatchIndex;
  /** An organization's ports: API key, budget, responses. Access control is the current one. */
  readonly buildCheckPorts: (frozen: OrgSettings) => Promise<CheckPorts>;
  readonly notify: NotifyCorrection;
  /**
   * Whether calls with an organization's key are to be made before a slot. The watch then takes no token. Default: no.
   */
  readonly isPreparing?: (org: string) => boolean;
  readonly signal: AbortSignal;
}

/** A watched edition in memory, without its figures. */
interface Watched {
  readonly edition: Edition;
  readonly spec: CorrectionsSpec;
  readonly deliveredAt: number;
}

/**
 * Creates the round: it compares the figures of the editions whose turn it is, and carries out what was found. Call it
 * every minute, in any number of processes. A failing edition is logged, and does not stop the others.
 */
export function createCorrectionRounds(ports: CorrectionWatch): () => Promise<void> {
  const { corrections, index, orgs, clock, log, signal } = ports;
  const processId = randomUUID();
  let watched: readonly Watched[] = [];
  let listedAt = Number.NEGATIVE_INFINITY;
  /**
   * Editions that need nothing more, by run, with the number of their last event. They are only read again after a new
   * event.
   */
  const over = new Map<string, number>();
  /** The settings by SHA-256 of the figures. The figures themselves are too large to keep. */
  const specs = new Map<string, CorrectionsSpec>();
  const loadSpec = async (edition: Edition): Promise<CorrectionsSpec> => {
    const { hash = '' } = edition;
    const spec = specs.get(hash) ?? (await loadFigures(edition, corrections)).corrections;
    specs.set(hash, spec);
    return spec;
  };
  /** By run: earliest time of the next check, epoch ms. */
  const notBefore = new Map<string, number>();

  const guarded = async (run: WatchedRun['run'], work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (thrown) {
      if (signal.aborted) return;
      const error = toDocketError(thrown);
      notBefore.set(run.id, clock.now() + RETRY_DELAY_MS);
      logFailure(log, run, error);
    }
  };

  /** Reads what is stored, opens and sends what was decided, and notifies owners. */
  const list = async (): Promise<void> => {
    const stored = (await corrections.list()).filter(({ run }) => orgs().has(run.org));
    const found: Watched[] = [];
    const summaries = new Map<string, CorrectionSummary>();
    const count = (org: string, more: { readonly open?: Correction; readonly watched?: true }) => {
      const { watched: editions = 0, open = 0, oldest = null } = summaries.get(org) ?? {};
      const at = more.open?.foundAt;
      summaries.set(org, {
        org,
        at: clock.now(),
        watched: editions + (more.watched ? 1 : 0),
        open: open + (more.open ? 1 : 0),
        oldest: at === undefined ? oldest : Math.min(oldest ?? at, at),
      });
    };
    for (const entry of stored) {
      if (signal.aborted) return;
      if (over.get(entry.run.id) === entry.lastEvent) continue;
      await guarded(entry.run, async () => {
        const edition = await loadEdition(entry.run, ports);
        if (edition === undefined) return;
        const all = entry.lastEvent === 0 ? [] : foldCorrections(entry.run, await corrections.events(entry.run));
        const last = all.at(-1);
        const settled = last === undefined ? undefined : await carryOutOrLog(last, edition, ports);
        if (settled?.state === 'open') count(entry.run.org, { open: settled });
        // Without figures there is nothing to compare.
        if (edition.deliveredAt === null || edition.hash === undefined) return;
        if (settled !== undefined && (await isReplaced(settled, ports))) {
          over.set(entry.run.id, entry.lastEvent);
          return;
        }
        const spec = await loadSpec(edition);
        const times = { ...spec, deliveredAt: edition.deliveredAt, checkedAt: undefined };
        if (nextCheckAt(times, clock.now()) === undefined) {
          if (settled?.state !== 'open' && (settled?.state !== 'sent' || settled.ended))
            over.set(entry.run.id, entry.lastEvent);
          return;
        }
        found.push({ edition, spec, deliveredAt: edition.deliveredAt });
        count(entry.run.org, { watched: true });
      });
    }
    watched = found;
    await index.retain(new Set(stored.map(({ run }) => run.id)));
    await index.putSummaries([...summaries.values()]);
    listedAt = clock.now();
  };

  return async () => {
    if (clock.now() - listedAt >= LIST_INTERVAL_MS || listedAt > clock.now()) await list();
    const checks = await index.checks();
    /** Organizations by whose keys no spare token is left in this round. */
    const waiting = new Set<string>();
    for (const { edition, spec, deliveredAt } of watched) {
      if (signal.aborted) return;
      const { run } = edition;
      const now = clock.now();
      const due = nextCheckAt({ ...spec, deliveredAt, checkedAt: checks.get(run.id) }, now);
      if (due === undefined || due > now || (notBefore.get(run.id) ?? 0) > now || waiting.has(run.org)) continue;
      if (ports.isPreparing?.(run.org)) continue;
      await guarded(run, async () => {
        if (!(await index.claim(run.id, processId, CLAIM_TTL_MS))) return;
        const result = await check(edition, due, ports);
        if (result === 'waiting') waiting.add(run.org);
        else await index.recordCheck(run.id, Math.min(clock.now(), Math.max(due, result)));
      });
    }
  };
}

/** @returns when the service computed the figures, epoch ms; `waiting` if the check must continue later */
async function check(edition: Edition, due: number, ports: CorrectionWatch): Promise<number | 'waiting'> {
  const { run } = edition;
  const { corrections, clock, signal, log } = ports;
  const stored = await loadFigures(edition, corrections);
  const isReceived = ({ value }: PackEdition) =>
    edition.packs?.some((pack) => pack.value === value && pack.recipients.length > 0);
  const figures = stored.packs ? { ...stored, packs: stored.packs.filter(isReceived) } : stored;
  // The report has only current counts or lists: there is nothing to compare.
  if (watchedSections(figures).length === 0) return clock.now();
  const frozen = await frozenOfEdition(figures, ports);
  const id = `correction:${run.id}:${due}`;
  const checked = await checkEdition(figures, frozen, await ports.buildCheckPorts(frozen.settings), {
    id,
    signal,
  }).catch((thrown: unknown) => {
    const error = toDocketError(thrown);
    // The catalog has dropped the metrics, so there is nothing to compare today.
    if (error.code !== 'plan.invalid') throw thrown;
    logFailure(log, run, error);
    return undefined;
  });
  if (checked === undefined) return clock.now();
  if (checked.kind === 'fail') throw checked.error;
  if (checked.kind !== 'done') return 'waiting';
  const { comparison, asOf = clock.now() } = checked.value;
  const found = await record(edition, comparison, ports);
  if (found !== undefined) await carryOutOrLog(found, edition, ports);
  return asOf;
}

/** Records the differences, unless they are known. @returns the correction that this comparison found */
async function record(
  { run, hash = '', packs }: Edition,
  { changes, material }: EditionComparison,
  { corrections, clock, log }: CorrectionWatch,
): Promise<Correction | undefined> {
  const events = await corrections.events(run);
  const last = foldCorrections(run, events).at(-1);
  const base = { seq: (events.at(-1)?.seq ?? 0) + 1, at: clock.now() };
  const fields = { run: run.id, org: run.org, report: run.report };
  if (material === 0) {
    if (last?.state !== 'open') return undefined;
    const withdrawn: CorrectionEvent = { ...base, type: 'withdrawn', correction: last.number };
    if (await corrections.append(run, withdrawn))
      log.info('Correction withdrawn', { ...fields, event: 'correction.withdrawn' });
    return undefined;
  }
  const kept = changes.slice(0, MAX_STORED_CHANGES);
  if (last !== undefined && (last.state === 'open' || last.state === 'dismissed')) {
    if (last.total === changes.length && JSON.stringify(last.changes) === JSON.stringify(kept)) return undefined;
  }
  // While a corrected edition is made and approved, nothing new is recorded: that edition requests the newest figures
  // itself.
  if (last?.state === 'sent' && !last.ended) return undefined;
  const found: CorrectionEvent = {
    ...base,
    type: 'found',
    correction: (last?.number ?? 0) + 1,
    figures: hash,
    changes: kept,
    material,
    total: changes.length,
    ...(packs && { values: [...new Set(changes.slice(0, material).flatMap(({ value }) => value ?? []))] }),
  };
  if (!(await corrections.append(run, found))) return undefined;
  log.warn('The service has changed figures that were delivered', {
    ...fields,
    event: 'correction.found',
    count: material,
  });
  return foldCorrections(run, [...events, found]).at(-1);
}

/**
 * Sends a correction, notifies about it, or opens its run, if that was not done yet. @returns the updated correction
 */
async function carryOut(correction: Correction, edition: Edition, ports: CorrectionWatch): Promise<Correction> {
  const { corrections, service, clock } = ports;
  const { run, state, number } = correction;
  const append = async (type: 'notified' | 'ended'): Promise<void> => {
    const seq = ((await corrections.events(run)).at(-1)?.seq ?? 0) + 1;
    await corrections.append(run, { seq, at: clock.now(), type, correction: number });
  };
  if (state === 'sent') {
    if (correction.ended) return correction;
    // Read before the deliveries: if the run has ended, they show everything that it delivered.
    const record = await correctedRun(correction, ports.runs);
    if (await isReplaced(correction, ports)) return correction;
    if (record === undefined) await service.reopen(correction);
    else if (ENDED_STATES.has(record.state)) {
      // The record expires. Without this event, the run would be opened and the edition sent months later.
      await append('ended');
      return { ...correction, ended: true };
    }
    return correction;
  }
  if (state !== 'open' || correction.notified) return correction;
  const figures = await loadFigures(edition, corrections);
  // Sends automatically only once: people decide about editions that were rejected, cancelled or failed.
  const earlier = foldCorrections(run, await corrections.events(run)).find((one) => one.number === number - 1);
  const isAutomatic = figures.corrections.on_correction === 'send' && !earlier?.ended;
  const isCapped = isAutomatic && (await isAutomaticCapped(correction, edition, ports));
  if (isAutomatic && !isCapped) {
    const sent = await service.send(correction, { by: DOCKET, reason: 'on_correction: send' });
    return sent.correction;
  }
  const frozen = await frozenOfEdition(figures, ports);
  if (!(await ports.notify(correction, edition, frozen, { isCapped }))) return correction;
  await append('notified');
  return { ...correction, notified: true };
}

/** A failure, e.g. of the mail server, is retried with the next listing. It must not stop the watch. */
async function carryOutOrLog(correction: Correction, edition: Edition, ports: CorrectionWatch): Promise<Correction> {
  try {
    return await carryOut(correction, edition, ports);
  } catch (thrown) {
    if (ports.signal.aborted) throw thrown;
    const { run, id } = correction;
    ports.log.error('Correction could not be carried out; tried again in some minutes', {
      run: run.id,
      org: run.org,
      report: run.report,
      event: 'correction.failed',
      path: id,
      error: toDocketError(thrown).toJSON(),
    });
    return correction;
  }
}

const correctedRun = async ({ decision }: Correction, runs: RunStore): Promise<RunRecord | undefined> =>
  decision?.run == null ? undefined : runs.get(decision.run);

/** Whether somebody has received the corrected edition. From then on, that edition is watched instead. */
async function isReplaced({ run, state, decision }: Correction, ports: Deployment): Promise<boolean> {
  if (state !== 'sent' || decision?.run == null) return false;
  const corrected = await loadEdition({ ...run, id: decision.run }, ports);
  return corrected !== undefined && corrected.deliveredAt !== null;
}

function logFailure(log: Log, { id, org, report }: WatchedRun['run'], error: DocketError): void {
  log.warn('Delivered figures could not be compared; tried again later', {
    run: id,
    org,
    report,
    event: 'correction.check',
    error: error.toJSON(),
  });
}
