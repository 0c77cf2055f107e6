import { test } from 'vitest';
import { BROKEN_BUILDS, brokenBuild } from '../soak/broken-builds.ts';
import { soak } from '../soak/soak.ts';

/** The maximum: a soak ends once its checks have failed, which takes longer on a busy machine. */
const MINUTES = 3;
/**
 * All builds use the same seeds, so only the build differs. A defect that needs two events at once may not show in one soak,
 * so a second one decides.
 */
const SEEDS = [7, 8];
/** The maximum for the remaining runs. If runs never end, the soak waits for all of it. */
const [DRAIN_MS, NEVER_ENDING_MS] = [150_000, 50_000];
/** Ends a test that hangs. */
const TIMEOUT_MS = 30 * 60_000;

const BUILDS = BROKEN_BUILDS.map((build) => ({
  ...build,
  title: build.defects.map(({ name }) => name).join('; '),
}));

// The tests wait for their processes half of the time.
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
