import { createHash } from 'node:crypto';
import { reportFileSchema } from '../../../src/compose/built-in-kinds.ts';
import { resolvePerson } from '../../../src/definitions/people.ts';
import { orgFileSchema } from '../../../src/definitions/schema/org-settings.ts';
import { peopleSchema } from '../../../src/definitions/schema/review.ts';
import type { FrozenDefinition } from '../../../src/queue/definitions/definition-store.ts';
import type { Reviewer } from '../../../src/services/reviews/review-service.ts';

const token = (name: string): Reviewer => ({ name, kind: 'token', subject: `token:${name}` });

/** The sign-ins and the people behind them. `ann` has two tokens, `cem` an account and a token. */
export const SIGN_INS: readonly { readonly by: Reviewer; readonly human: string }[] = [
  { by: token('ann'), human: 'ann' },
  { by: token('ann-laptop'), human: 'ann' },
  { by: token('bob'), human: 'bob' },
  { by: { name: 'Cem@acme.example', kind: 'account', subject: 'https://id.acme.example 77' }, human: 'cem' },
  { by: token('cem-ci'), human: 'cem' },
  { by: token('ops'), human: 'ops' },
  { by: { name: 'root', kind: 'shell', subject: 'shell:root' }, human: 'root' },
];

export const PEOPLE = {
  mlro: { name: 'Ann', email: 'ann@acme.example', tokens: ['ann', 'ann-laptop'] },
  head: { name: 'Cem', tokens: ['cem-ci'], accounts: ['cem@acme.example'] },
};

export const PARSED_PEOPLE = peopleSchema.parse(PEOPLE);

/** The person behind any name. This table belongs to the test and is independent of the code. */
export function humanOf(name: string): string {
  const plain = name.toLowerCase().replace(/^(token|shell):/, '');
  if (['mlro', 'ann', 'ann-laptop'].includes(plain)) return 'ann';
  if (['head', 'cem', 'cem-ci', 'cem@acme.example', 'https://id.acme.example 77'].includes(plain)) return 'cem';
  return plain;
}

/** The review rules of a version of the report. Approvers are people. */
export interface Policy {
  readonly approvers: readonly string[];
  readonly need: number;
  readonly fourEyes: boolean;
}

const BY = ['mlro', 'bob', 'head'];
const ALL = ['ann', 'bob', 'cem'];

const VARIANTS: readonly {
  readonly policy: Policy | undefined;
  readonly file: object;
  readonly commentary?: unknown;
}[] = [
  { policy: { approvers: ALL, need: 1, fourEyes: true }, file: { approval: { by: BY } } },
  {
    policy: { approvers: ALL, need: 2, fourEyes: true },
    file: { approval: { by: BY, need: 2, within: '2bd', otherwise: 'cancel' } },
  },
  {
    policy: { approvers: ALL, need: 2, fourEyes: false },
    file: {
      approval: { by: ['ann', 'ann-laptop', 'bob', 'cem@acme.example'], need: 2, four_eyes: false },
      on_incomplete: 'hold',
    },
    commentary: 'required',
  },
  { policy: undefined, file: { on_incomplete: 'hold' }, commentary: { required: true } },
  { policy: undefined, file: { on_incomplete: 'hold' } },
];

const RECIPIENTS = [
  ['lead@acme.example'],
  ['lead@acme.example', 'board@acme.example'],
  ['board@acme.example'],
] as const;

export interface Version {
  readonly frozen: FrozenDefinition;
  readonly policy: Policy | undefined;
}

/** Every version of the report that an edit of the definition or its recipients can create. */
export const VERSIONS: readonly Version[] = VARIANTS.flatMap(({ policy, file, commentary }, variant) =>
  RECIPIENTS.map((to, index): Version => {
    const digest = createHash('sha256').update(`${variant}.${index}`).digest('hex');
    const report = reportFileSchema.parse({
      version: 1,
      title: 'Weekly KPIs',
      owner: 'owner@acme.example',
      period: 'previous_week',
      sections: [
        {
          id: 'onboarding',
          metrics: ['profiles.created'],
          ...(commentary === undefined ? {} : { commentary }),
        },
      ],
      outputs: [{ format: 'csv' }],
      deliveries: [{ email: { to: [...to], attach: ['csv'] } }],
      ...file,
    });
    const settings = orgFileSchema.parse({
      org: 101,
      api_key: { env: 'ACME_KEY' },
      timezone: 'Europe/Zurich',
      recipients: { domains: ['acme.example'] },
      people: PEOPLE,
    });
    return {
      policy,
      frozen: {
        definition: { ...report, org: 'acme', report: 'weekly', digest },
        settings: { ...settings, id: 'acme' },
      },
    };
  }),
);

export const policyOf = (digest: string): Policy | undefined => {
  const version = VERSIONS.find(({ frozen }) => frozen.definition.digest === digest);
  if (version === undefined) throw new Error(`no version ${digest}`);
  return version.policy;
};

/** The person behind a name in `by` of an event, from the sign-in only. */
export const humanOfPrincipal = (principal: string): string =>
  SIGN_INS.find(({ by }) => by.subject === principal)?.human ?? principal;

// The table must match the code, or the test would prove nothing.
for (const { by, human } of SIGN_INS) {
  const { person } =
    by.kind === 'shell' ? { person: by.subject } : resolvePerson({ ...by, kind: by.kind }, PARSED_PEOPLE);
  if (humanOf(person) !== human) throw new Error(`${by.name} is ${person}`);
}
