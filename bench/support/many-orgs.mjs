import { layOut, startProcess } from './processes.mjs';

/**
 * A deployment of many organizations, each with a key and some small reports. `start` runs one process of it.
 *
 * @param {{
 *   redisUrl: string, apiUrl: string, orgs: number, reports: number,
 *   budget?: import('./processes.mjs').OrgFile['budget'],
 *   report?: Partial<import('./processes.mjs').ReportFile>,
 * }} options `report`: changes to the smallest possible report, e.g. its schedule
 */
export async function manyOrgs({ redisUrl, apiUrl, orgs, reports, budget, report = {} }) {
  const small = {
    version: 1,
    title: 'Small',
    owner: 'owner@acme.example',
    sections: [{ id: 'created', metrics: ['profiles.created'] }],
    outputs: [{ format: 'csv' }],
    ...report,
  };
  const files = Array.from({ length: reports }, (_, index) => {
    // Each report requests another day, so that none uses the response of another.
    const day = new Date(Date.UTC(2024, 0, 1 + index)).toISOString().slice(0, 10);
    return [`report-${index}`, { ...small, period: { from: '2024-01-01', to: day } }];
  });
  const laidOut = await layOut(
    Object.fromEntries(
      Array.from({ length: orgs }, (_, n) => [
        `org-${n}`,
        { key: `key-${n}`, settings: { org: 100 + n, budget }, reports: Object.fromEntries(files) },
      ]),
    ),
  );
  const env = { ...laidOut.env, REDIS_URL: redisUrl, COMPLIANCE_API_URL: apiUrl, DOCKET_ADMIN_PORT: '0' };
  return { start: (...role) => startProcess(env, ...role), close: laidOut.close };
}
