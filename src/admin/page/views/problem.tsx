import type { z } from 'zod';
import type { problemSchema } from '../../problem.ts';
import type { AssetUrls } from '../assets/assets.ts';
import { BrandMark, Document } from '../components/layout.tsx';

interface ProblemPageProps {
  readonly assets: AssetUrls;
  readonly problem: z.infer<typeof problemSchema>;
  /** The address to try again. Undefined if that would repeat an action. */
  readonly retry: string | undefined;
}

/** The candidates of an ambiguous short id as links. Everything else is text. */
const GotText = ({ problem: { code }, got }: Pick<ProblemPageProps, 'problem'> & { readonly got: string }) => {
  const list = code === 'run.ambiguous' ? '/runs' : code === 'delivery.ambiguous' ? '/deliveries' : undefined;
  if (list === undefined) return <p>Got: {got}</p>;
  return (
    <ul class="plain-list">
      {got.split(/, (?=[0-9a-f]{32} |…)/).map((candidate) => {
        const [id = '', rest = ''] = candidate.split(/ (.*)/);
        return (
          <li>
            {/^[0-9a-f]{32}$/.test(id) ? <a href={`${list}/${id}`}>{id}</a> : id} {rest}
          </li>
        );
      })}
    </ul>
  );
};

/** A rejected or failed request as a page. */
export const ProblemPage = ({ assets, problem, retry }: ProblemPageProps) => (
  <Document title={problem.title} assets={assets}>
    <main class="narrow" id="main" data-problem={problem.code}>
      <p>
        <a class="brand" href="/">
          <BrandMark /> Docket
        </a>
      </p>
      <h1>{problem.status === 404 ? 'Not found' : problem.title}</h1>
      <p class="muted">
        {problem.status} <code>{problem.code}</code>
      </p>
      {problem.status === 404 ? <p>It does not exist, or you have no access to it.</p> : null}
      {problem.detail === undefined || problem.status === 404 ? null : <p>{problem.detail}</p>}
      {problem.expected === undefined ? null : <p>Expected: {problem.expected}</p>}
      {problem.got === undefined ? null : <GotText problem={problem} got={problem.got} />}
      {problem.next === undefined ? null : <p>{problem.next}</p>}
      {problem.code === 'redis.unreachable' ? (
        <p>
          Nothing is lost: runs continue when Redis answers again. Start Redis, or fix the network between Redis and
          Docket. <code>docket doctor</code>, run on Docket's machine, shows which side fails.
        </p>
      ) : null}
      {problem.status >= 500 && retry !== undefined ? (
        <>
          <p class="muted" data-retry role="status"></p>
          <p class="more">
            <a class="button" href={retry}>
              Try again
            </a>
          </p>
        </>
      ) : null}
      <p class="more">
        <a href="/">Overview</a>
      </p>
    </main>
  </Document>
);
