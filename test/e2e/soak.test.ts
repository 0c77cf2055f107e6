import { test } from 'vitest';
import { BROKEN_BUILDS, brokenBuild } from '../soak/broken-builds.ts';
import { soak } from '../soak/soak.ts';

/** Enough for each kind of trouble; the same seed for all, so that what differs is the build. */
const MINUTES = 0.6;
const SEED = 7;
/** Some defects leave runs that never end. */
const DRAIN_MS = 75_000;
/** Ends what hangs. */
const TIMEOUT_MS = 15 * 60_000;

const BUILDS = BROKEN_BUILDS.map((build) => ({
  ...build,
  title: build.defects.map(({ name }) => name).join('; '),
}));

// Each waits for its processes half of the time.
test.concurrent.for(BUILDS)(
  'the soak catches: $title',
  { timeout: TIMEOUT_MS },
  async (broken, { expect, onTestFinished }) => {
    const lines = broken.defects.map(({ breaks }) => breaks);
    const build = await brokenBuild(broken);
    onTestFinished(() => build.remove());
    const { archive, only } = broken;
    const report = await soak(
      {
        minutes: MINUTES,
        seed: SEED,
        main: build.main,
        drainMs: DRAIN_MS,
        ...(archive === undefined ? {} : { archive }),
        ...(only === undefined ? {} : { only }),
      },
      () => {},
    );
    expect(report.verdicts.filter(({ ok }) => !ok).map(({ what }) => what)).toEqual(expect.arrayContaining(lines));
    expect(report.ok).toBe(false);
  },
);
