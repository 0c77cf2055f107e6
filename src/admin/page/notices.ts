/** What an action that was just carried out has done. The address names it, so that nothing has to be remembered. */
const NOTICES: Readonly<Record<string, string>> = {
  opened: 'The run is in line.',
  repeated: 'This form had been sent already; here is the run that it made.',
  paused: 'Paused: scheduled runs wait.',
  resumed: 'Resumed: scheduled runs go on.',
  cancel: 'The run was told to stop. It does so before its next step.',
  retry: 'The run is in line again.',
  release: 'The pack is released and goes out.',
  sent: 'The delivery is recorded as sent.',
  resend: 'The delivery is sent again.',
};

/** Undefined for whatever is none of ours. */
export const noticeOf = (did: string | undefined): string | undefined =>
  did !== undefined && Object.hasOwn(NOTICES, did) ? NOTICES[did] : undefined;
