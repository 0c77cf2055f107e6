import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { reportYaml } from '../support/incidents/definitions.ts';
import { type IncidentDeployment, incidentDeployment, type MailServer } from '../support/incidents/deployment.ts';
import { incident } from '../support/incidents/incident.ts';
import { type TlsProxy, tlsProxy } from '../support/incidents/tls-proxy.ts';
import { type TamperingService, tamperingService } from '../support/tampering-service.ts';
import { EXPIRED_TLS, TLS } from '../support/tls.ts';
import { waitFor } from '../support/wait-for.ts';

const WHY = 'repaired';
const FIVE = ['weekly', 'second', 'third', 'fourth', 'fifth'];
const OTHER_SECTION = '  - { id: approvals, metrics: [profiles.decided], totals: true }\n';

let deployment: IncidentDeployment;
let service: TamperingService;
const mail = new Map<string, MailServer>();
const proxies = new Map<string, TlsProxy>();
const ends: (() => unknown)[] = [];

const withMetric = (org: string, metric: string) => reportYaml(org).replace('profiles.created', metric);
const withSection = (org: string) => reportYaml(org).replace('outputs:', `${OTHER_SECTION}outputs:`);
const define = (org: string, reports: readonly string[], text: string) =>
  Promise.all(reports.map((report) => deployment.write(`jobs/${org}/${report}.yaml`, text)));
const isGreylisted = { RCPT: { say: '451 4.7.1 Greylisted, please try again later' } };

beforeAll(async () => {
  service = await tamperingService(() => deployment.sandbox.url);
  ends.push(service.close);
  deployment = await incidentDeployment((folder) => ({
    COMPLIANCE_API_URL: service.url,
    NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem'),
  }));
  await deployment.write('ca.pem', `${TLS.cert}${EXPIRED_TLS.cert}`);
  service.tell({
    refuse: ({ metrics }) =>
      metrics.includes('profiles.decided')
        ? {
            detail: 'The request is not valid.',
            code: 'analytics.invalid_filter',
            correlation_id: 'c0ffee00-0000-4000-8000-000000000000',
            errors: [
              {
                pointer: `/metrics/${metrics.indexOf('profiles.decided')}`,
                code: 'invalid',
                detail: 'is being migrated',
                metadata: {},
              },
            ],
          }
        : undefined,
  });
  for (const by of ['p', 't']) {
    const away = `${by}-away`;
    await deployment.addOrg(away, {
      org: `people:\n  anna: { name: Anna, tokens: [anna] }\n  cleo: { name: Cleo, tokens: [cleo] }\n`,
      more: `approval: { by: [anna], within: 1bd, may_delegate: [night-${away}] }\n`,
    });
    const grey = `${by}-grey`;
    mail.set(grey, await deployment.addOrg(grey, { mail: isGreylisted }));
    await deployment.addOrg(`${by}-drop`);
    await define(`${by}-drop`, FIVE, withMetric(`${by}-drop`, 'alerts.gone'));
    await deployment.addOrg(`${by}-refused`);
    await define(`${by}-refused`, ['weekly'], withSection(`${by}-refused`));
    await deployment.addOrg(`${by}-denied`, { key: 'agent' });
    const tls = `${by}-tls`;
    const server = await deployment.addOrg(tls);
    const proxy = await tlsProxy(server.port, EXPIRED_TLS);
    proxies.set(tls, proxy);
    ends.push(proxy.close);
    await deployment.write(`secrets/${tls}.smtp`, `smtps://127.0.0.1:${proxy.port}`);
  }
  await deployment.addPerson('cleo');
  // Approvers have one business day, and greylisting lasts an hour, so the clock starts earlier.
  await deployment.setClock('-5d');
  await deployment.start();
  for (const by of ['p', 't']) await deployment.trigger(`${by}-away`);
  for (const by of ['p', 't']) await deployment.runIn(`${by}-away`, 'awaiting_approval');
  await deployment.setClock('-70m');
  const waiting = ['p-grey', 't-grey', 'p-tls', 't-tls'];
  for (const org of waiting) await deployment.trigger(org);
  // After the fifth attempt a run waits for at least eight minutes, so no attempt starts while an operator acts.
  for (const clock of ['-60m', '-50m', '-30m', '+0']) {
    const before = await Promise.all(waiting.map((org) => deployment.runIn(org, 'waiting')));
    await deployment.setClock(clock);
    for (const { org, attempts } of before) {
      await waitFor('another attempt', async () => (await deployment.runIn(org, 'waiting')).attempts > attempts);
    }
  }
  for (const by of ['p', 't']) {
    for (const report of FIVE) await deployment.trigger(`${by}-drop`, report);
    for (const what of ['refused', 'denied']) await deployment.trigger(`${by}-${what}`);
  }
});
afterAll(async () => {
  await deployment?.close();
  for (const end of ends.reverse()) await end();
});

const both = (what: string, ...states: Parameters<IncidentDeployment['runIn']>[1][]) =>
  Promise.all(['p', 't'].map((by) => deployment.runIn(`${by}-${what}`, ...states)));

incident(
  'Metric dropped by five reports',
  () => deployment,
  {
    orgs: { page: 'p-drop', terminal: 't-drop' },
    raise: () => Promise.all(FIVE.map((report) => both(`drop/${report}`, 'failed'))),
    page: async (operator) => {
      await operator.opens();
      // Five reports with the same cause are shown together.
      await operator.reads(/^5 runs in the last 24 hours failed/);
      await operator.reads(/alerts\.gone/);
      await operator.reads(/of 5 reports/);
      await operator.repairs('correct the definitions', /Correct the definition/, () =>
        Promise.all(FIVE.map((report) => deployment.replace(`p-drop/${report}`, withMetric('p-drop', 'alerts.open')))),
      );
      await operator.opensForm('Run all 5 again');
      await operator.clicks('button', /^Run again/);
      await Promise.all(FIVE.map((report) => deployment.runIn(`p-drop/${report}`, 'done')));
    },
    terminal: async (operator) => {
      const list = await operator.types('docket runs --org t-drop --state failed');
      const period = list.reads(/\b(\d{4}-W\d\d)\b/);
      const run = list.reads(/\b([0-9a-f]{8,32})\b/);
      (await operator.types('docket runs show {run}', { run })).reads(/alerts\.gone/);
      await operator.repairs('correct the definitions', /correction of the definition/, () =>
        define('t-drop', FIVE, withMetric('t-drop', 'alerts.open')),
      );
      for (const report of FIVE) {
        list.reads(new RegExp(`t-drop/${report}`));
        await operator.types('docket run {report} --period {period} --queue', { report: `t-drop/${report}`, period });
      }
      await Promise.all(FIVE.map((report) => deployment.runIn(`t-drop/${report}`, 'done')));
    },
  },
  { concurrent: true },
);

incident(
  'One section refused (422)',
  () => deployment,
  {
    orgs: { page: 'p-refused', terminal: 't-refused' },
    raise: () => both('refused', 'failed'),
    page: async (operator) => {
      await operator.opens();
      await operator.reads(/section approvals \(profiles\.decided\)/);
      await operator.repairs('correct the definition', /Correct what the message names/, () =>
        deployment.replace('p-refused/weekly', reportYaml('p-refused')),
      );
      await operator.opensForm('Run it again');
      await operator.clicks('button', /^Run again/);
      await deployment.runIn('p-refused', 'done');
    },
    terminal: async (operator) => {
      const list = await operator.types('docket runs --org t-refused --state failed');
      const [run, period] = [list.reads(/\b([0-9a-f]{8,32})\b/), list.reads(/\b(\d{4}-W\d\d)\b/)];
      (await operator.types('docket runs show {run}', { run })).reads(/section approvals \(profiles\.decided\)/);
      await operator.repairs('correct the definition', /Correct what the message names/, () =>
        define('t-refused', ['weekly'], reportYaml('t-refused')),
      );
      await operator.types('docket run {report} --period {period} --queue', { report: 't-refused/weekly', period });
      await deployment.runIn('t-refused', 'done');
    },
  },
  { concurrent: true },
);

incident(
  'Permission lost',
  () => deployment,
  {
    orgs: { page: 'p-denied', terminal: 't-denied' },
    raise: () => both('denied', 'failed'),
    page: async (operator) => {
      await operator.opens();
      await operator.reads('api.forbidden');
      await operator.reads(/lacks a permission/);
      expect(await operator.page.locator('main').innerText()).not.toMatch(/[Rr]eplace the key/);
      await operator.repairs('grant the permission', /Grant it in the service/, () =>
        deployment.setKey('p-denied', 'acme'),
      );
      await operator.clicks('link', /^Run [0-9a-f]{8}$/);
      await operator.opensForm('Retry the run');
      await operator.fills(/^Why/, WHY);
      await operator.clicks('button', /^Retry the run/);
      await operator.reads(/^Done$/);
    },
    terminal: async (operator) => {
      const paused = await operator.types('docket pause');
      const run = paused.reads(/# t-denied,(?:\s+#[^\n]*|[^\n])*\s+docket runs retry ([0-9a-f]{8,32})/);
      paused.reads(/t-denied[\s\S]*api\.forbidden/);
      await operator.repairs('grant the permission', /Grant it in the service|permission/, () =>
        deployment.setKey('t-denied', 'acme'),
      );
      await operator.types('docket runs retry {run} --reason {why}', { run, why: WHY });
      await deployment.runIn('t-denied', 'done');
    },
  },
  { concurrent: true },
);

incident(
  'Mail server’s certificate expired',
  () => deployment,
  {
    orgs: { page: 'p-tls', terminal: 't-tls' },
    raise: async () => {
      for (const { attempts } of await both('tls', 'waiting')) expect(attempts).toBeGreaterThanOrEqual(5);
    },
    page: async (operator) => {
      await operator.opens();
      await operator.reads(/certificate has expired/);
      await operator.repairs('renew the certificate', /[Rr]enew/, () => proxies.get('p-tls')?.present(TLS));
      await operator.opensForm('Continue now');
      await operator.fills(/^What was the cause/, WHY);
      await operator.clicks('button', /^Continue now/);
      await deployment.runIn('p-tls', 'done');
    },
    terminal: async (operator) => {
      const list = await operator.types('docket runs --state waiting');
      const run = list.reads(/t-tls[^\n]*?\b([0-9a-f]{8,32})\b/);
      (await operator.types('docket runs show {run}', { run })).reads(/certificate has expired/);
      await operator.repairs('renew the certificate', /[Rr]enew/, () => proxies.get('t-tls')?.present(TLS));
      await operator.types('docket runs retry {run} --reason {why}', { run, why: WHY });
      await deployment.runIn('t-tls', 'done');
    },
  },
  { concurrent: true },
);

incident(
  'Approver away',
  () => deployment,
  {
    orgs: { page: 'p-away', terminal: 't-away' },
    env: () => ({ DOCKET_TOKEN: deployment.token('t-away') }),
    raise: () => both('away', 'awaiting_approval'),
    page: async (operator) => {
      await operator.opens();
      await operator.clicks('link', /^Weekly figures/);
      await operator.reads(/^Anna$/);
      await operator.opensForm('Name a deputy');
      await operator.fills(/^Why does the approver/, 'on leave');
      await operator.clicks('button', /^Name a deputy/);
      await operator.repairs('ask the deputy to approve', /Cleo for Anna/, () => approveAsDeputy('p-away'));
      await deployment.runIn('p-away', 'done');
    },
    terminal: async (operator) => {
      operator.receives('Anna is on leave; cleo is there.');
      const list = await operator.types('docket runs --state awaiting_approval');
      const run = list.reads(/t-away[^\n]*?\b([0-9a-f]{8,32})\b/);
      (await operator.types('docket runs show {run}', { run })).reads(/may approve: Anna/);
      await operator.types('docket runs delegate {run} --to {deputy} --reason {why}', {
        run,
        deputy: 'cleo',
        why: 'on leave',
      });
      await operator.repairs('ask the deputy to approve', /Cleo for Anna/, () => approveAsDeputy('t-away'));
      await deployment.runIn('t-away', 'done');
      (await operator.types('docket runs show {run}', { run })).reads(/Cleo for Anna/);
    },
  },
  { concurrent: true },
);

async function approveAsDeputy(org: string): Promise<void> {
  const { id, review } = await deployment.runIn(org, 'awaiting_approval');
  const args = ['runs', 'approve', id, '--content', review?.content ?? '', '--reason', 'checked', '--json'];
  const { code, stderr, stdout } = await deployment.command(args, { DOCKET_TOKEN: deployment.token('cleo') });
  if (code !== 0) throw new Error(stderr + stdout);
}

incident(
  'Greylisted for an hour',
  () => deployment,
  {
    orgs: { page: 'p-grey', terminal: 't-grey' },
    // Runs still wait after five attempts, because Docket retries for two hours.
    raise: async () => {
      for (const { attempts } of await both('grey', 'waiting')) expect(attempts).toBeGreaterThanOrEqual(5);
    },
    page: async (operator) => {
      await operator.opens();
      await operator.reads(/451 4\.7\.1 Greylisted/);
      await operator.repairs('wait, or ask for an exception', /retries these deliveries by itself/, () => {
        Object.assign(mail.get('p-grey') ?? {}, { script: {} });
      });
      await operator.opensForm('Continue now');
      await operator.fills(/^What was the cause/, WHY);
      await operator.clicks('button', /^Continue now/);
      await deployment.runIn('p-grey', 'done');
    },
    terminal: async (operator) => {
      const list = await operator.types('docket runs --state waiting');
      const run = list.reads(/t-grey[^\n]*?\b([0-9a-f]{8,32})\b/);
      (await operator.types('docket runs show {run}', { run })).reads(/451 4\.7\.1 Greylisted/);
      await operator.repairs('wait, or ask for an exception', /retries these deliveries by itself/, () => {
        Object.assign(mail.get('t-grey') ?? {}, { script: {} });
      });
      await operator.types('docket runs retry {run} --reason {why}', { run, why: WHY });
      await deployment.runIn('t-grey', 'done');
    },
  },
  { concurrent: true },
);
