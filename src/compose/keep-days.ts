/** Days for which records of runs, ledger rows and frozen definitions are kept. The ledger must not forget before a slot can no longer be opened. */
export const KEEP_DAYS = 90;
