import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { BUILT_IN_KINDS } from '../../../src/compose/built-in-kinds.ts';
import { orgJsonSchema, reportJsonSchema, targetsJsonSchema } from '../../../src/definitions/schema/json-schema.ts';

test.each([
  ['jobs/report.schema.json', () => reportJsonSchema(BUILT_IN_KINDS), 'docket schema report'],
  ['jobs/org.schema.json', orgJsonSchema, 'docket schema org'],
  ['jobs/targets.schema.json', targetsJsonSchema, 'docket schema targets'],
])('%s is up to date', (file, schema, command) => {
  expect(JSON.parse(readFileSync(file, 'utf8')), `run: npx ${command} > ${file}`).toEqual(schema());
});

test('the JSON schema has fields, values, defaults and required fields for editors', () => {
  expect(reportJsonSchema(BUILT_IN_KINDS)).toMatchObject({
    additionalProperties: false,
    required: ['version', 'title', 'owner', 'period', 'sections', 'outputs'],
    properties: {
      period: {
        anyOf: [
          { enum: expect.arrayContaining(['previous_week']) },
          { pattern: expect.stringContaining('last_') },
          { type: 'object' },
        ],
      },
      sections: { items: { properties: { granularity: { enum: ['day', 'week', 'month'] } }, required: ['id'] } },
      on_incomplete: { default: 'flag' },
    },
  });
  expect(orgJsonSchema()).toMatchObject({
    additionalProperties: false,
    required: ['org', 'api_key', 'timezone', 'recipients'],
  });
});
