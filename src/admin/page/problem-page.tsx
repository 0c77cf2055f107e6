import type { z } from 'zod';
import type { problemSchema } from '../problem.ts';
import type { Assets } from './assets.ts';
import { Document, Mark } from './frame.tsx';

interface ProblemProps {
  readonly assets: Assets;
  readonly problem: z.infer<typeof problemSchema>;
}

/** Candidates of a short id are led to; anything else is text. */
const Got = ({ problem: { code }, got }: Pick<ProblemProps, 'problem'> & { readonly got: string }) => {
  const place = code === 'run.ambiguous' ? '/runs' : code === 'delivery.ambiguous' ? '/deliveries' : undefined;
  if (place === undefined) return <p>Got: {got}</p>;
  return (
    <ul class="plainlist">
      {got.split(/, (?=[0-9a-f]{32} |…)/).map((candidate) => {
        const [id = '', rest = ''] = candidate.split(/ (.*)/);
        return (
          <li>
            {/^[0-9a-f]{32}$/.test(id) ? <a href={`${place}/${id}`}>{id}</a> : id} {rest}
          </li>
        );
      })}
    </ul>
  );
};

/** A refused or failed request as a page: what is wrong, and where to go from here. */
export const ProblemPage = ({ assets, problem }: ProblemProps) => (
  <Document title={problem.title} assets={assets}>
    <main class="door" id="main" data-problem={problem.code}>
      <p>
        <a class="brand" href="/">
          <Mark /> Docket
        </a>
      </p>
      <h1>{problem.status === 404 ? 'There is nothing here' : problem.title}</h1>
      <p class="soft">
        {problem.status} <code>{problem.code}</code>
      </p>
      {problem.status === 404 ? <p>It does not exist (any more), or your token may not see it.</p> : null}
      {problem.detail === undefined || problem.status === 404 ? null : <p>{problem.detail}</p>}
      {problem.expected === undefined ? null : <p>Expected: {problem.expected}</p>}
      {problem.got === undefined ? null : <Got problem={problem} got={problem.got} />}
      {problem.next === undefined ? null : <p>{problem.next}</p>}
      <p class="more">
        <a href="/">To the overview</a>
      </p>
    </main>
  </Document>
);
