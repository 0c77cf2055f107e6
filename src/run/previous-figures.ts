import type { Manifest } from '../deliver/archive/archive.ts';
import type { FiguresDestination, LastSentFigures } from '../deliver/last-sent-figures.ts';
import type { Ledger } from '../deliver/ledger/ledger.ts';
import { sendDecisionFor } from '../deliver/send-decision.ts';
import type { Judgement, Status } from '../fetch/dataset.ts';
import { statusesByFigure } from '../render/figures/current-statuses.ts';

/**
 * The statuses with which later runs compare. A figure keeps its earlier status if it cannot be right, or if its target
 * ignores it because of too few cases: this is no recovery, and the next valid figure is no new crossing.
 */
async function lastingStatuses(
  judgements: readonly Judgement[],
  destination: FiguresDestination,
  sentFigures: LastSentFigures,
): Promise<Readonly<Record<string, Status>>> {
  const statuses = statusesByFigure(judgements.filter(({ wrong, few }) => wrong !== true && few !== 'ignored'));
  const wrong = Object.keys(statusesByFigure(judgements)).filter((figure) => statuses[figure] === undefined);
  if (wrong.length === 0) return statuses;
  const before = (await sentFigures.last(destination)).sent?.statuses ?? {};
  const kept = wrong.flatMap((figure) => (before[figure] === undefined ? [] : [[figure, before[figure]] as const]));
  return { ...statuses, ...Object.fromEntries(kept) };
}

export interface PreviousFiguresPorts {
  readonly sentFigures?: LastSentFigures | undefined;
  readonly ledger: Ledger;
  readonly clock: { now(): number };
}

/**
 * Delivers, and records the figures and statuses that each destination received, for `send_if: changed` and
 * `status_changed` of later runs. Records starts before sending, and outcomes from the ledger afterwards, including
 * those that an earlier attempt could not record because it crashed.
 */
export async function deliverAndRecordFigures<T>(
  { run, org, report, figures, conditions = [], judgements = [] }: Manifest,
  { sentFigures, ledger, clock }: PreviousFiguresPorts,
  deliver: () => Promise<T>,
): Promise<T> {
  const toSend = conditions.filter(({ send }) => send);
  if (sentFigures === undefined || figures === undefined || toSend.length === 0) return deliver();
  const destinations = new Map(
    toSend.map((decision) => {
      const { target, recipient } = decision;
      return [decision, { org, report, target, recipient }] as const;
    }),
  );
  const known = new Map<FiguresDestination, Readonly<Record<string, Status>>>();
  for (const destination of destinations.values()) {
    known.set(destination, await lastingStatuses(judgements, destination, sentFigures));
    await sentFigures.recordStart(destination, run, clock.now());
  }
  const recordOutcomes = async (): Promise<void> => {
    for (const row of await ledger.list(run)) {
      const decision = sendDecisionFor({ conditions }, row);
      const destination = decision === undefined ? undefined : destinations.get(decision);
      if (destination === undefined) continue;
      const { state, at, decisions } = row;
      const statuses = known.get(destination) ?? {};
      if (state === 'sent') await sentFigures.recordSent(destination, { figures, run, at, statuses });
      // After a decision to resend, the earlier message may have arrived too.
      else if (state === 'unknown' || decisions.some(({ to }) => to !== 'skipped'))
        await sentFigures.recordUncertain(destination, run, at);
      // `sending` belongs to another worker, which will record it.
      else if (state !== 'sending') await sentFigures.recordNotSent(destination, run);
    }
  };
  let delivered: T;
  try {
    delivered = await deliver();
  } catch (error) {
    // The first error is the one to throw. An unrecorded outcome stays uncertain, which means that the next report is
    // sent.
    await recordOutcomes().catch(() => {});
    throw error;
  }
  await recordOutcomes();
  return delivered;
}
