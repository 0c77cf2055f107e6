import { expect, test } from 'vitest';
import { createDefinitionParser } from '../../../src/definitions/load/parse-definitions.ts';
import { createReportSchema } from '../../../src/definitions/schema/report-definition.ts';
import { TARGETS } from '../../../src/deliver/targets/registry.ts';
import { FORMATS } from '../../../src/render/formats/registry.ts';
import { REPORT } from '../../support/jobs-folder.ts';

const KINDS = { targets: TARGETS, formats: FORMATS };
const NAME = { org: 'acme', report: 'weekly' };

test('without the feature a template in a report or in a stored report is an error at its field', () => {
  const text = REPORT.replace('format: xlsx,', 'format: xlsx, template: board.xlsx,');
  const { diagnostics } = createDefinitionParser(KINDS).report(text, 'weekly.yaml', NAME, undefined);
  expect(diagnostics).toMatchObject([{ line: 21, got: '"template"' }]);
  const stored = createReportSchema(KINDS).safeParse({ outputs: [{ format: 'xlsx', template: 'board.xlsx' }] });
  expect(stored.error?.issues).toContainEqual(expect.objectContaining({ keys: ['template'] }));
});
