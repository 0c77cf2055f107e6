const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * Due once an hour, and as far from now as an hour lets it be: twenty-nine minutes at least, so that no slot comes due
 * while a test counts what it asked for. A test that wants what is overdue sets the cursors back.
 */
export function hourlyFarFromNow(): { readonly cron: string; readonly last: number } {
  const last = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS - HOUR_MS / 2;
  return { cron: `${new Date(last).getUTCMinutes()} * * * *`, last };
}
