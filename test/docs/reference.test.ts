import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { traceVariables } from '../../src/base/config/config.ts';
import { buildReference } from '../../src/cli/reference.ts';
import { BUILT_IN_KINDS } from '../../src/compose/built-in-kinds.ts';
import { orgJsonSchema, reportJsonSchema, targetsJsonSchema } from '../../src/definitions/schema/json-schema.ts';
import { createTestAdmin } from '../support/admin.ts';
import { ALL_VARIABLE_NAMES } from '../support/features.ts';
import { environmentReference, VARIABLE_GROUPS } from '../support/reference/environment.ts';
import { errorReference, exitReference } from '../support/reference/errors.ts';
import {
  EXAMPLES,
  organizationFieldReference,
  reportFieldReference,
  targetsFieldReference,
} from '../support/reference/fields.ts';
import { alertsReference, apiReference, metricsReference } from '../support/reference/operation.ts';
import { createTestProgram } from '../support/run-command.ts';

/** `npm test -- test/docs/reference.test.ts -u` writes these pages again. */
const PAGES: Readonly<Record<string, () => string | Promise<string>>> = {
  alerts: alertsReference,
  cli: () => buildReference(createTestProgram()),
  environment: environmentReference,
  'error-codes': errorReference,
  'exit-codes': exitReference,
  'http-api': async () => apiReference(await (await createTestAdmin([]).request('/openapi.json')).text()),
  metrics: metricsReference,
  'organization-fields': organizationFieldReference,
  'report-fields': reportFieldReference,
  'targets-fields': targetsFieldReference,
};

test.each(Object.entries(PAGES))('docs/reference/%s.md matches what the code generates', async (name, create) => {
  await expect(await create()).toMatchFileSnapshot(`../../docs/reference/${name}.md`);
});

describe('the reference', () => {
  test('names every variable of the configuration, and no other', () => {
    const named = VARIABLE_GROUPS.flatMap(({ variables }) => Object.keys(variables));
    expect(named.sort()).toEqual([...ALL_VARIABLE_NAMES, ...Object.keys(traceVariables)].sort());
  });

  test.each([
    ['report', reportJsonSchema(BUILT_IN_KINDS)],
    ['organization', orgJsonSchema()],
    ['targets', targetsJsonSchema()],
  ] as const)('has an example of the %s that its schema accepts', (name, schema) => {
    const ajv = new Ajv2020({ strict: false, allErrors: true });
    addFormats.default(ajv);
    const accepts = ajv.compile(schema);
    expect(accepts(parse(EXAMPLES[name])), JSON.stringify(accepts.errors)).toBe(true);
  });
});
