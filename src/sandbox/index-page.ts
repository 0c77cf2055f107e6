import { html } from 'hono/html';
import type { IssuedKey } from './api-keys.ts';
import type { SandboxState } from './tenants.ts';

/** `GET /`: an overview with commands to copy. */
export function indexPage(url: string, keys: readonly IssuedKey[], world: SandboxState) {
  const first = keys[0]?.text ?? '';
  const auth = `-H 'Authorization: Api-Key ${first}'`;
  const body = JSON.stringify({
    metrics: ['profiles.created', 'profiles.approval_rate'],
    dimensions: ['profile.type'],
    time: { granularity: 'week', timezone: 'Europe/Zurich', compare: 'previous_period' },
    include: ['totals'],
  });
  const lines = [
    `curl ${auth} ${url}/api/orgs/`,
    `curl ${auth} '${url}/api/orgs/101/profiles/?ordering=-created_at&search=keller'`,
    `curl ${auth} ${url}/api/orgs/current/analytics/metrics/`,
    `curl ${auth} -H 'Content-Type: application/json' -d '${body}' ${url}/api/orgs/current/analytics/report/`,
  ];
  return html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Compliance Service sandbox</title>
<style>
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
  pre, code { font: 13px/1.5 ui-monospace, monospace; background: #8881; border-radius: 4px }
  pre { padding: .75rem; white-space: pre-wrap; word-break: break-all }
  table { border-collapse: collapse; width: 100% } td, th { text-align: left; padding: .25rem .75rem .25rem 0; vertical-align: top }
  td code { word-break: break-all }
</style>
<h1>Compliance Service sandbox</h1>
<p>The Compliance Service over generated data: nobody here is real, and these keys open nothing else.</p>
<h2>Try it</h2>
${lines.map((line) => html`<pre>${line}</pre>`)}
<h2>Organizations</h2>
<table>
  <tr><th>Id<th>Name<th>Features</tr>
  ${[...world.tenants.values()].map(
    ({ spec }) => html`<tr><td>${spec.id}<td>${spec.name}<td>${spec.features.join(', ')}</tr>`,
  )}
</table>
<h2>Keys</h2>
<table>
  <tr><th>Key<th>What it may do</tr>
  ${keys.map(({ stored, text }) => html`<tr><td><code>${text}</code><td>${stored.what}</tr>`)}
</table>
</html>`;
}
