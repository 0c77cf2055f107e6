import { isRedisOutage, toDocketError } from '../../base/error.ts';
import type { DeliveryRow, DeliveryState } from '../../queue/decisions.ts';
import type { Access } from '../access.ts';

/** What an action that was just carried out has done. The address names it, so that nothing has to be remembered. */
const NOTICES: Readonly<Record<string, string>> = {
  opened: 'The run is in line.',
  repeated: 'This form had been sent already; here is the run that it made.',
  paused: 'Paused: scheduled runs wait.',
  resumed: 'Resumed: scheduled runs go on.',
  cancel: 'The run was told to stop. It does so before its next step.',
  retry: 'The run is in line again.',
  release: 'The pack is released and queued to be sent.',
  sent: 'The delivery is recorded as sent.',
  resend: 'The delivery was queued to be sent again.',
};

/** What became of a delivery since somebody decided that it is sent again. */
const RESENT: Readonly<Record<DeliveryState, string>> = {
  pending: 'The delivery is queued to be sent again: it has not left yet.',
  sending: 'The delivery is being sent again.',
  sent: 'The delivery was sent again, and was accepted.',
  refused: 'The delivery was sent again, and was refused.',
  unknown: 'The delivery was sent again, and again may have arrived or not.',
};

/** Undefined for whatever is none of ours. @param row the delivery that it is about, where it is known */
export const noticeOf = (did: string | undefined, row?: Pick<DeliveryRow, 'state'>): string | undefined =>
  did === 'resend' && row !== undefined
    ? RESENT[row.state]
    : did !== undefined && Object.hasOwn(NOTICES, did)
      ? NOTICES[did]
      : undefined;

/** The same on a page of many deliveries, whose address names the one. */
export async function noticeAbout(
  access: Pick<Access, 'delivery'>,
  did: string | undefined,
  delivery: string | undefined,
): Promise<string | undefined> {
  if (did !== 'resend' || delivery === undefined) return noticeOf(did);
  const row = await access.delivery(delivery).catch((thrown: unknown) => {
    // Whatever the address says: without the delivery there is less to say.
    if (isRedisOutage(toDocketError(thrown))) throw thrown;
    return undefined;
  });
  return noticeOf(did, row);
}
