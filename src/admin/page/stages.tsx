import { STAGES, type Stage } from '../../run/record.ts';
import type { RunNews } from '../access.ts';
import { duration } from './figures.ts';
import { Empty } from './frame.tsx';

const STAGE_WORDS: Readonly<Record<Stage, string>> = {
  plan: 'Plan',
  fetch: 'Fetch',
  render: 'Render',
  seal: 'Archive',
  deliver: 'Deliver',
};

/** How long each stage of a run took, one after the other as they came, and which one it is at. */
export const Stages = ({ news: { record, live } }: { readonly news: RunNews }) => {
  const spent = STAGES.map((stage) => record.timings[stage] ?? 0);
  const all = spent.reduce((sum, ms) => sum + ms, 0);
  if (all === 0 && live === null) return <Empty>No stage is over yet.</Empty>;
  const percent = (ms: number): string => `${((ms / Math.max(1, all)) * 100).toFixed(2)}%`;
  return (
    <table class="stages">
      <caption class="unseen">Time of each stage, over all tries</caption>
      <tbody>
        {STAGES.map((stage, index) => {
          const ms = record.timings[stage];
          const before = spent.slice(0, index).reduce((sum, each) => sum + each, 0);
          return (
            <tr>
              <th scope="row">{STAGE_WORDS[stage]}</th>
              <td class="bar">
                {ms === undefined ? null : (
                  <svg width="100%" height="10" aria-hidden="true">
                    <rect x={percent(before)} width={percent(ms)} height="10" rx="1" />
                  </svg>
                )}
              </td>
              <td class="number">
                {live?.stage === stage ? (
                  <span class="state busy">now</span>
                ) : ms === undefined ? (
                  <span class="soft">not reached</span>
                ) : (
                  duration(ms)
                )}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
};
