import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { RunQueue } from '../../queue/jobs/run-queue.ts';
import type { ProcessReport } from '../../queue/process-reports.ts';
import type { LiveProgressStore } from '../../queue/runs/live-progress.ts';
import type { CountedRuns, StateCounts } from '../../queue/runs/run-counts.ts';
import type { ReadingIndex } from '../../queue/schedules/reading-index.ts';
import type { RunRecord } from '../../run/run-record.ts';
import type { BudgetOverview } from '../../services/budgets/inspect-budgets.ts';
import type { CorrectionService } from '../../services/corrections/correction-service.ts';
import type { WatchIndex } from '../../services/corrections/watch-index.ts';
import type { CurrentReportPorts } from '../../services/definitions/current-report.ts';
import type { ValidateText } from '../../services/definitions/definition-threads.ts';
import type { PlanExplainer } from '../../services/definitions/explain-report.ts';
import type { ViewTemplate } from '../../services/definitions/view-template.ts';
import type { DecisionService, DeliveryRow } from '../../services/deliveries/decisions.ts';
import type { RecipientService } from '../../services/deliveries/recipients.ts';
import type { Deployment } from '../../services/deployment/deployment.ts';
import type { DeploymentProblem } from '../../services/deployment/probe.ts';
import type { DeploymentForecast } from '../../services/forecast/forecast-deployment.ts';
import type { ForecastWindow } from '../../services/forecast/forecast-run.ts';
import type { ArchivedDeliveries } from '../../services/listings/received.ts';
import type { ReviewService } from '../../services/reviews/create-review-service.ts';
import type { FindEarlierDelivery } from '../../services/runs/already-delivered.ts';
import type { ReleasePreview } from '../../services/runs/release-preview.ts';
import type { RunFileReader } from '../../services/runs/run-file-reader.ts';
import type { RunHistory } from '../../services/runs/run-history.ts';
import type { TriggerRun } from '../../services/runs/trigger-run.ts';
import type { SelectionService } from '../../services/selections/create-selection-service.ts';
import type { FindReportSlots } from './report-slots.ts';

/** The services that `Access` uses, shared by all principals. */
export interface AdminServices extends Deployment, CurrentReportPorts {
  readonly trigger: TriggerRun;
  readonly countRuns: (which: CountedRuns) => Promise<StateCounts>;
  readonly waitingByPriority: RunQueue['waitingByPriority'];
  readonly archivedDeliveries: ArchivedDeliveries;
  readonly decisions: DecisionService;
  readonly recipients: RecipientService;
  readonly reviewService: ReviewService;
  readonly selections: SelectionService;
  readonly correctionIndex: WatchIndex;
  readonly correctionService: CorrectionService;
  readonly readings: ReadingIndex;
  readonly deploymentProblems: () => Promise<readonly DeploymentProblem[]>;
  readonly archivedFiles: RunFileReader;
  /** Undefined if the files of the run are not in the archive. Throws `archive.*`. */
  readonly heldRun: (run: RunRecord) => Promise<ReleasePreview | undefined>;
  /** What the archive knows of a run; see `loadRunHistory`. */
  readonly runHistory: (record: RunRecord, rows: readonly DeliveryRow[]) => Promise<RunHistory>;
  readonly earlierDelivery: FindEarlierDelivery;
  /** The reports of the processes about themselves. Processes of 0.2.0 or older send none. */
  readonly processes: () => Promise<readonly ProcessReport[]>;
  /** All processes with their roles, of any version. */
  readonly processRoles: () => Promise<ReadonlyMap<string, readonly string[]>>;
  readonly countWorkers: () => Promise<number>;
  readonly live: LiveProgressStore;
  readonly findSlots: FindReportSlots;
  /** Budgets of the API keys of these organizations. Throws `redis.unreachable`. */
  readonly budgetsOf: (orgs: readonly OrgSettings[]) => Promise<BudgetOverview>;
  /** Throws `redis.unreachable`, `definition.busy`. */
  readonly forecast: (window: ForecastWindow) => Promise<DeploymentForecast>;
  readonly explainer: PlanExplainer;
  readonly checkText: ValidateText;
  readonly viewTemplate: ViewTemplate;
  /** Labels of target kinds and formats. */
  readonly kindLabels: ReadonlyMap<string, string>;
}
