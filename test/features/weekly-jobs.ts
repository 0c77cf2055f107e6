import { jobsFolder } from '../support/jobs-folder.ts';

const ORG = `version: 1
org: current
api_key: { env: ACME_KEY }
timezone: Europe/Zurich
recipients: { domains: [acme.example] }
`;
const REPORT = `version: 1
title: Weekly
owner: ops@acme.example
period: previous_week
sections: [{ id: onboarding, metrics: [profiles.created] }]
outputs: [{ format: xlsx }, { format: csv }]
deliveries: [{ directory: { path: sent } }]
`;

/** A folder with a report that delivers into the folder `sent`. @param output more fields of its workbook */
export const weeklyJobs = (output = ''): Promise<string> =>
  jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': REPORT.replace('format: xlsx', `format: xlsx${output}`) });
