/** The folder of an organization. Each script has its own, so that scripts do not see each other's incidents. */
export interface IncidentOrg {
  readonly id: string;
  /** More lines of `org.yaml`. */
  readonly more?: string;
}

/** `org.yaml`. Its key is in `secrets/<id>.key`, and the URL of its mail server in `secrets/<id>.smtp`. */
export const orgYaml = (id: string, folder: string, more = ''): string => `version: 1
name: ${id}
org: current
api_key: { file: "${folder}/secrets/${id}.key" }
timezone: Etc/UTC
recipients: { domains: [${id}.example] }
budget: { calls: 1000, window: 1 }
smtp: { url: { file: "${folder}/secrets/${id}.smtp" }, from: reports@${id}.example }
${more}`;

/** A report with one figure. @param deliveries YAML of the entries, one line each */
export const reportYaml = (
  id: string,
  {
    deliveries = [`email: { to: [lead@${id}.example], attach: [csv] }`],
    period = 'previous_week',
    more = '',
  }: { readonly deliveries?: readonly string[]; readonly period?: string; readonly more?: string } = {},
): string => `version: 1
title: Weekly figures
owner: owner@${id}.example
period: ${period}
sections:
  - { id: created, metrics: [profiles.created], totals: true }
outputs: [{ format: csv }]
deliveries:
${deliveries.map((delivery) => `  - ${delivery}`).join('\n')}
${more}`;
