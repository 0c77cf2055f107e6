import { test } from 'vitest';
import { brokenBuild, DEFECTS } from '../soak/broken-builds.ts';
import { soak } from '../soak/soak.ts';

/** Enough for each kind of trouble; the same seed for all, so that what differs is the build. */
const MINUTES = 0.6;
const SEED = 7;
/** Some defects leave runs that never end. */
const DRAIN_MS = 3 * 60_000;
/** Ends what hangs; a soak that finds something in the line waits for it to go on. */
const MOST_MS = 15 * 60_000;

// Beside each other: each waits for its processes half of the time.
test.concurrent.for(DEFECTS)(
  'the soak catches it when $name',
  { timeout: MOST_MS },
  async (defect, { expect, onTestFinished }) => {
    const build = await brokenBuild(defect);
    onTestFinished(() => build.remove());
    const { archive, only } = defect;
    const troubles = { ...(archive === undefined ? {} : { archive }), ...(only === undefined ? {} : { only: [only] }) };
    const report = await soak(
      { minutes: MINUTES, seed: SEED, main: build.main, drainMs: DRAIN_MS, ...troubles },
      () => {},
    );
    expect(report.ok).toBe(false);
    expect(report.verdicts.filter(({ ok }) => !ok).map(({ what }) => what)).toContain(defect.breaks);
  },
);
