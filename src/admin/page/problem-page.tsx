import type { z } from 'zod';
import type { problemSchema } from '../problem.ts';
import type { Assets } from './assets.ts';
import { Document, Mark } from './frame.tsx';

interface ProblemProps {
  readonly assets: Assets;
  readonly problem: z.infer<typeof problemSchema>;
}

/** A refused or failed request as a page: what is wrong, and where to go from here. */
export const ProblemPage = ({ assets, problem }: ProblemProps) => (
  <Document title={problem.title} assets={assets}>
    <main class="door" id="main">
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
      {problem.got === undefined ? null : <p>Got: {problem.got}</p>}
      {problem.next === undefined ? null : <p>{problem.next}</p>}
      <p class="more">
        <a href="/">To the overview</a>
      </p>
    </main>
  </Document>
);
