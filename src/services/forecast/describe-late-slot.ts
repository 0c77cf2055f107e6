import { DateTime } from 'luxon';
import type { ForecastDocument } from './forecast-document.ts';

type LateSlotEntry = ForecastDocument['late_slots'][number];

/**
 * Describes a late slot: `Mon 30 Nov 09:00: 42 reports, 391 calls on key 3f2a0c11…; 17 late, the last at 09:13.
 * prepare: 30m on 12 of them is enough.`
 *
 * @param when used instead of the slot's day and time
 */
export function describeLateSlot(entry: LateSlotEntry, zone: string, when?: string): string {
  const { key, slot, reports, calls, late, last, advice, concurrency } = entry;
  const at = (iso: string) => DateTime.fromISO(iso, { zone, locale: 'en-GB' });
  const day = at(last).hasSame(at(slot), 'day') ? 'HH:mm' : 'ccc HH:mm';
  const count = (number: number, noun: string) => `${number} ${number === 1 ? noun : `${noun}s`}`;
  const facts = `${when ?? at(slot).toFormat('ccc d LLL HH:mm')}: ${count(reports, 'report')}, ${count(calls, 'call')} on key ${key.slice(0, 8)}…; ${late} late, the last at ${at(last).toFormat(day)}.`;
  if (concurrency !== null)
    return `${facts} They wait for workers, not for the key: \`docket start --concurrency ${concurrency}\` is enough for all to be on time.`;
  if (advice === null)
    return `${facts} No \`prepare\` was found that is enough for all to be on time: move reports to other slots, or raise \`late_after\`.`;
  const { prepare_minutes, reports: prepared } = advice;
  return `${facts} \`prepare: ${prepareText(prepare_minutes)}\` on ${prepared.length} of them is enough for all to be on time.`;
}

/** A duration as in a definition: `45m`, `2h`. */
export const prepareText = (minutes: number): string => (minutes % 60 === 0 ? `${minutes / 60}h` : `${minutes}m`);
