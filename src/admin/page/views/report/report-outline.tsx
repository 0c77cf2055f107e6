import type { Child } from 'hono/jsx';
import type { ReportOutline } from '../../../../services/definitions/report-outline.ts';
import { formatCounted } from '../../components/format-numbers.ts';
import { EmptyState, Fact, Section, Table } from '../../components/layout.tsx';

const BODY_LABELS: Readonly<Record<string, string>> = {
  full: 'figures, charts and short tables in the message',
  'full-lists': 'figures, charts, short tables and list rows in the message',
  summary: 'headlines and tiles in the message',
  notice: 'no figures in the message',
};
const CONDITION_LABELS: Readonly<Record<string, string>> = {
  changed: 'only when the figures have changed since the last delivery',
  non_empty: 'only when there is a row or a figure other than 0',
  breached: 'only when a target is breached',
  watch: 'only when a figure is on watch or breached',
  status_changed: 'only when a status has changed since the last delivery',
};
const INCOMPLETE_LABELS = {
  fail: 'The run fails, nothing is sent',
  hold: 'The run is held until somebody releases it',
  flag: 'It is sent, with a note',
} as const;
const COMPARE_LABELS = { previous_period: 'the period before', previous_year: 'the year before' } as const;
const TO_DATE_LABELS = {
  year: 'year to date',
  fiscal_year: 'fiscal year to date',
  quarter: 'quarter to date',
} as const;

interface OutlineProps {
  readonly outline: ReportOutline;
  /** Labels of target kinds and formats. */
  readonly labels: ReadonlyMap<string, string>;
}

/** `previous month`, `2026-11-01 to 2026-11-15`. */
const periodText = (period: ReportOutline['period']): string =>
  typeof period === 'string' ? period.replaceAll('_', ' ') : `${period.from} to ${period.to}`;

const compareText = (compare: ReportOutline['compare']): string =>
  compare.map((kind) => COMPARE_LABELS[kind]).join(' and ');

/** Who gets the report, and in which form. */
export const ReportRecipients = ({
  outline,
  labels,
  isDenied,
}: OutlineProps & {
  readonly isDenied: (address: string) => boolean;
}) => (
  <Section id="recipients" heading="Who gets it">
    {outline.deliveries.length === 0 ? (
      <EmptyState>Nobody: the files stay in the archive.</EmptyState>
    ) : (
      <ul class="entries">
        {outline.deliveries.map(({ kind, recipients, formats, body, send_if }) => (
          <li>
            <ul class="plain-list compact">
              {recipients.length > 0 || outline.split === null ? null : <li>The people of each pack</li>}
              {recipients.map((recipient) => (
                <li class="wrap">
                  <strong>{recipient}</strong>
                  {isDenied(recipient) ? <span class="state warn">Denied: gets nothing</span> : null}
                </li>
              ))}
            </ul>
            <p class="muted">
              {[
                labels.get(kind) ?? kind,
                formats.length === 0
                  ? 'no file attached'
                  : formats.map((format) => labels.get(format) ?? format).join(', '),
                ...(body === null ? [] : [BODY_LABELS[body] ?? body]),
              ].join(' · ')}
            </p>
            {send_if === null ? null : <p>{conditionText(send_if)}</p>}
          </li>
        ))}
      </ul>
    )}
    {outline.split === null ? null : <PackRecipients split={outline.split} />}
  </Section>
);

const OTHER_LABELS = {
  hold: 'Packs of values that are not listed are held.',
  skip: 'Values that are not listed get no pack.',
};

/** Who gets the pack of each value, one line per value. */
const PackRecipients = ({ split: { by, to, others } }: { readonly split: NonNullable<ReportOutline['split']> }) => (
  <details open={to.length <= 10}>
    <summary>
      {formatCounted(to.length, 'pack')} by <code>{by}</code>
    </summary>
    <dl class="facts">
      {to.map(({ value, recipients }) => (
        <Fact name={value}>{recipients.join(', ')}</Fact>
      ))}
    </dl>
    <p class="muted">
      {typeof others === 'string' ? OTHER_LABELS[others] : `Packs of other values go to ${others.join(', ')}.`}
    </p>
  </details>
);

const conditionText = (condition: string): Child =>
  Object.hasOwn(CONDITION_LABELS, condition) ? (
    `Sent ${CONDITION_LABELS[condition] ?? ''}.`
  ) : (
    <>
      Sent only if <code>{condition}</code>.
    </>
  );

/**
 * The period, the comparisons and the files, as facts. @param current the days of the current period; empty if unknown
 */
export const OutlineFacts = ({ outline, labels, current }: OutlineProps & { readonly current: string }) => (
  <>
    <Fact name="Period">
      {periodText(outline.period)}
      {typeof outline.period === 'string' && current !== '' ? (
        <small class="line">{current} if it ran now</small>
      ) : null}
    </Fact>
    {outline.compare.length === 0 ? null : <Fact name="Compared with">{compareText(outline.compare)}</Fact>}
    {outline.to_date === null ? null : <Fact name="Also shows">{TO_DATE_LABELS[outline.to_date]}</Fact>}
    <Fact name="Files">
      {outline.outputs.map(({ format, name }) => (
        <span class="line">
          {labels.get(format) ?? format} {name === null ? null : <span class="muted">{name}</span>}
        </span>
      ))}
    </Fact>
    <Fact name="If incomplete">{INCOMPLETE_LABELS[outline.on_incomplete]}</Fact>
    <ReviewFacts outline={outline} />
  </>
);

/** What people do before a delivery, and what happens if figures change afterwards. */
const ReviewFacts = ({ outline: { approval, corrections } }: { readonly outline: ReportOutline }) => (
  <>
    {approval === null ? null : (
      <Fact name="Approval">
        <span class="line">
          {approval.need === 1 ? 'one' : approval.need} of {approval.by.join(', ')}
        </span>
        {approval.four_eyes ? (
          <small class="line">except the person who triggered the run and authors of its comments</small>
        ) : null}
        {approval.within === null ? null : (
          <small class="line">
            within {formatCounted(approval.within, 'business day')}, otherwise{' '}
            {approval.otherwise === 'hold' ? 'approvers are reminded' : 'the run is cancelled'}
          </small>
        )}
      </Fact>
    )}
    {corrections === null ? null : (
      <Fact name="Corrections">
        <span class="line">watched for {corrections.watch} after the delivery</span>
        <small class="line">
          changes of {percentText(corrections.materiality)} or more,{' '}
          {corrections.on_correction === 'send' ? 'sent to the same recipients' : 'a person decides'}
        </small>
        <a class="line" href="/corrections">
          All corrections
        </a>
      </Fact>
    )}
  </>
);

/** `1%`, `0.25%`. */
const percentText = (share: number): string => `${Number((share * 100).toFixed(4))}%`;

const COMMENTARY_LABELS = {
  required: 'Needs a comment of its period.',
  required_if_breached: 'Needs a comment where a target is breached.',
  required_if_watch: 'Needs a comment where a figure is on watch or breached.',
  optional: 'May have a comment.',
} as const;

/** The sections with their metrics, and the targets of those metrics. */
export const ReportContents = ({ outline }: { readonly outline: ReportOutline }) => (
  <>
    <Section id="contents" heading="What is in it">
      <ol class="entries">
        {outline.sections.map((section) => (
          <li>
            <p class="item-head">
              <strong>{section.title}</strong> <small>{layoutText(section)}</small>
            </p>
            <p>{section.list === null ? <Named items={section.metrics} /> : `All ${section.list}`}</p>
            {sectionDetails(section).map((detail) => (
              <p class="muted">{detail}</p>
            ))}
          </li>
        ))}
      </ol>
    </Section>
    {outline.targets.length === 0 ? null : (
      <Section id="targets" heading="Targets">
        <Table caption="Targets of the report’s metrics" columns={['Metric', 'Target', 'Watch to', 'Of']}>
          {outline.targets.map(({ metric, label, where, per, better, target, watch, from, source }) => (
            <tr>
              <td class="wrap">
                <Named items={[{ id: metric, label }]} />
                {where === null ? null : (
                  <small> {Object.entries(where).map(([dimension, value]) => `${dimension} is ${value}`)}</small>
                )}
              </td>
              <td data-name="Target">
                {target === null ? `${better} is better` : `${better === 'higher' ? 'at least' : 'at most'} ${target}`}
                {per === null ? '' : ` a ${per}`}
                {from === null ? null : <small> from {from}</small>}
              </td>
              <td data-name="Watch to">{watch ?? '–'}</td>
              <td data-name="Of" class="muted">
                {source}
              </td>
            </tr>
          ))}
        </Table>
      </Section>
    )}
  </>
);

/** Metrics and dimensions with their ids, and their labels in this report if they have any. */
const Named = ({ items }: { readonly items: readonly { readonly id: string; readonly label: string | null }[] }) => (
  <>
    {items.map(({ id, label }, index) => (
      <>
        {index === 0 ? '' : ', '}
        {label === null ? (
          <code>{id}</code>
        ) : (
          <>
            {label} <small>{id}</small>
          </>
        )}
      </>
    ))}
  </>
);

type Outlined = ReportOutline['sections'][number];

const layoutText = ({ layout, chart, list }: Outlined): string =>
  [list === null ? layout : 'list', ...(chart === null ? [] : [`${chart.replaceAll('_', ' ')} chart`])].join(', ');

/** What the rows stand for, and which of them are shown. */
function sectionDetails(section: Outlined): readonly string[] {
  const { dimensions, granularity, filters, limit, period, compare, commentary } = section;
  const by = [
    ...(granularity === null ? [] : [granularity]),
    ...dimensions.map(({ id, label }) => (label === null ? id : label)),
  ];
  return [
    ...(by.length === 0 ? [] : [`By ${by.join(' and ')}${limit === null ? '' : `, the first ${limit} rows`}.`]),
    ...filters.map(
      ({ dimension, op, values }) =>
        `Only where ${dimension} is ${op === 'not_in' ? 'not ' : ''}${values.join(' or ')}.`,
    ),
    ...(period === null ? [] : [`Its own period: ${periodText(period)}.`]),
    ...(compare === null ? [] : [`Compared with ${compareText(compare)}.`]),
    ...(commentary === null ? [] : [COMMENTARY_LABELS[commentary]]),
  ];
}
