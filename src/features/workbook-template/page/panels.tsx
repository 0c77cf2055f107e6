import type { Panels } from '../../../admin/page/components/layout.tsx';
import { FilledWorkbooks } from './filled-workbooks.tsx';
import { WorkbookTemplate } from './report-panel.tsx';

export const panels: Panels = {
  report: ({ workbook }) => (workbook === null ? null : <WorkbookTemplate view={workbook} />),
  files: (files) => <FilledWorkbooks files={files} />,
};
