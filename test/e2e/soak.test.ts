import { test } from 'vitest';
import { BROKEN_BUILDS, brokenBuild } from '../soak/broken-builds.ts';
import { soak } from '../soak/soak.ts';

/** Enough for each kind of fault; the same seeds for all, so that what differs is the build. */
const MINUTES = 0.6;
/** A defect that needs two events at once may not show in one short soak: a second one decides. */
const SEEDS = [7, 8];
/** Some defects leave runs that never end. */
const DRAIN_MS = 50_000;
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
    const failed = new Set<string>();
    for (const seed of SEEDS) {
      const report = await soak(
        {
          minutes: MINUTES,
          seed,
          main: build.main,
          drainMs: DRAIN_MS,
          ...(archive === undefined ? {} : { archive }),
          ...(only === undefined ? {} : { only }),
        },
        () => {},
      );
      expect(report.ok).toBe(false);
      for (const { ok, what } of report.verdicts) if (!ok) failed.add(what);
      if (lines.every((line) => failed.has(line))) break;
    }
    expect([...failed]).toEqual(expect.arrayContaining(lines));
  },
);
