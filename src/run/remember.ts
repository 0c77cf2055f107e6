import type { Manifest } from '../deliver/archive.ts';
import { decisionOn } from '../deliver/decision.ts';
import type { Ledger } from '../deliver/ledger.ts';
import type { SentFigures } from '../deliver/sent-figures.ts';

/** Where it is remembered which figures went where, and who knows it. */
export interface RememberPorts {
  readonly sentFigures?: SentFigures | undefined;
  readonly ledger: Pick<Ledger, 'list'>;
  readonly clock: { now(): number };
}

/**
 * Delivers, and lets later runs know where these figures went: `send_if: changed` compares theirs with them. It is said
 * before anything may leave that something may, and afterwards what the ledger knows – also of what an earlier try of
 * this run has sent, which may have died before it could say so.
 */
export async function remembering<T>(
  { run, org, report, figures, conditions = [] }: Manifest,
  { sentFigures, ledger, clock }: RememberPorts,
  deliver: () => Promise<T>,
): Promise<T> {
  const meant = conditions.filter(({ send }) => send);
  if (sentFigures === undefined || figures === undefined || meant.length === 0) return deliver();
  const places = new Map(
    meant.map((decision) => {
      const { target, recipient } = decision;
      return [decision, { org, report, target, recipient }] as const;
    }),
  );
  for (const place of places.values()) await sentFigures.begin(place, run, clock.now());
  const settle = async (): Promise<void> => {
    for (const row of await ledger.list(run)) {
      const decision = decisionOn({ conditions }, row);
      const place = decision === undefined ? undefined : places.get(decision);
      if (place === undefined) continue;
      const { state, at, decisions } = row;
      if (state === 'sent') await sentFigures.sent(place, { figures, run, at });
      // Somebody had it sent again because it might not have arrived: so it might have.
      else if (state === 'unknown' || decisions.length > 0) await sentFigures.unknown(place, run, at);
      // `sending` is another worker's: that one will say.
      else if (state !== 'sending') await sentFigures.unsent(place, run);
    }
  };
  let delivered: T;
  try {
    delivered = await deliver();
  } catch (error) {
    // What stopped it is the news; what could not be said stays in doubt, and a doubt sends.
    await settle().catch(() => {});
    throw error;
  }
  await settle();
  return delivered;
}
