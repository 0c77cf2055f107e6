const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * A schedule that is due once an hour, at least 29 minutes from now, so that no slot comes due while a test counts. For an
 * overdue slot, a test sets the cursors back.
 */
export function hourlyFarFromNow(): { readonly cron: string; readonly last: number } {
  const last = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS - HOUR_MS / 2;
  return { cron: `${new Date(last).getUTCMinutes()} * * * *`, last };
}
