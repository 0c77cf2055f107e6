import { test } from 'vitest';
import { BROKEN_BUILDS, brokenBuild } from '../soak/broken-builds.ts';
import { soak } from '../soak/soak.ts';

/** At most: a soak ends once its lines are broken, which takes longer on a busy machine. */
const MINUTES = 3;
/** The same for all, so that what differs is the build. A defect that needs two events at once may not show in one soak: a second one decides. */
const SEEDS = [7, 8];
/** At most, for the runs that are left. Where runs never end the soak waits for all of it. */
const [DRAIN_MS, NEVER_ENDING_MS] = [150_000, 50_000];
/** Ends what hangs. */
const TIMEOUT_MS = 30 * 60_000;

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
      const left = lines.filter((line) => !failed.has(line));
      if (left.length === 0) break;
      const report = await soak(
        {
          minutes: MINUTES,
          seed,
          main: build.main,
          drainMs: left.includes('unfinished runs') ? NEVER_ENDING_MS : DRAIN_MS,
          breaks: left,
          ...(archive === undefined ? {} : { archive }),
          ...(only === undefined ? {} : { only }),
        },
        () => {},
      );
      for (const { ok, what } of report.verdicts) if (!ok) failed.add(what);
    }
    expect([...failed]).toEqual(expect.arrayContaining(lines));
  },
);
