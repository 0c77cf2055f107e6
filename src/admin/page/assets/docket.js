// @ts-check
// Optional: the page works without it. It updates the page, shows the progress of a run, and draws the budget charts.

const SAMPLES = 60;
const SVG = 'http://www.w3.org/2000/svg';
const numbers = new Intl.NumberFormat('en-GB');
const instants = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  timeZoneName: 'short',
});

/** Without an update for so long, the page says that it is stale. */
const STALE_MS = 5_000;
const REQUEST_TIMEOUT_MS = 10_000;
/** The time of the last update. */
let updatedAt = Date.now();
/** The time since which the page is visible. Hidden pages are not updated. */
let visibleSince = updatedAt;
/** Why the last update failed; empty otherwise. */
let failure = '';
let updating = false;
let updateAgain = false;

/** Updates the page, one request at a time. A call during an update causes another one after it. */
async function update() {
  if (updating) {
    updateAgain = true;
    return;
  }
  updating = true;
  try {
    failure = await fetchUpdate();
    if (failure === '') updatedAt = Date.now();
  } catch (error) {
    const timedOut = error instanceof DOMException && error.name === 'TimeoutError';
    failure = timedOut
      ? 'Docket does not answer.'
      : navigator.onLine
        ? 'Docket cannot be reached: it has stopped, or the network is down.'
        : 'This browser is offline.';
  }
  updating = false;
  showStaleness();
  if (updateAgain) {
    updateAgain = false;
    await update();
  } else if (failure === '') followRun();
}

/** Fetches and shows a newer copy of this page. Returns why it failed, or ''. Throws what `fetch` throws. */
async function fetchUpdate() {
  // After a rejected form the address is that of the form, which does not accept GET.
  const url = document.querySelector('[data-self]')?.getAttribute('data-self') ?? location.href;
  const response = await fetch(url, {
    headers: { accept: 'text/html' },
    redirect: 'manual',
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
  });
  if (response.type === 'opaqueredirect') return 'You are signed out: reload the page to sign in.';
  const copy = new DOMParser().parseFromString(await response.text(), 'text/html');
  if (response.ok) {
    replaceParts(copy);
    return '';
  }
  const code = copy.querySelector('[data-problem]')?.getAttribute('data-problem') ?? '';
  return code === 'redis.unreachable'
    ? 'Docket cannot reach Redis.'
    : `Docket answered ${response.status} ${code}`.trim();
}

/** While the page is stale, shows since when and why. */
function showStaleness() {
  const element = document.getElementById('stale');
  if (element === null) return;
  const live = document.querySelector('[data-renew]') !== null;
  const visible = document.visibilityState === 'visible';
  const stale = live && visible && Date.now() - Math.max(updatedAt, visibleSince) > STALE_MS;
  const text = stale
    ? `Stale since ${instants.format(updatedAt)}. ${failure || 'Docket does not answer.'} The data may have changed since.`
    : '';
  // Only on changes: a screen reader announces each.
  if (element.textContent === text) return;
  const line = document.createElement('p');
  line.textContent = text;
  element.replaceChildren(...(stale ? [line] : []));
}

/** Replaces the parts that differ in a newer copy of this page. @param {Document} copy */
function replaceParts(copy) {
  for (const part of document.querySelectorAll('[data-live]')) {
    const other = copy.getElementById(part.id);
    // Parts in use stay: those with the focus, an open form or a form that was filled in.
    const isUsed = part.contains(document.activeElement) || part.querySelector('details[open], form[data-touched]');
    if (other === null || isUsed) continue;
    if (part.innerHTML !== other.innerHTML) part.replaceChildren(...other.childNodes);
    for (const { name, value } of other.attributes)
      if (part.getAttribute(name) !== value) part.setAttribute(name, value);
    for (const { name } of [...part.attributes]) if (!other.hasAttribute(name)) part.removeAttribute(name);
  }
  sampleBudgets();
}

/** @type {Map<string, number[]>} */
const samples = new Map();

/** Adds the current tokens of each budget to its chart. */
function sampleBudgets() {
  for (const chart of document.querySelectorAll('[data-spark]')) {
    const id = chart.getAttribute('data-spark') ?? '';
    const tokens = Number(document.getElementById(id)?.dataset.tokens);
    // A line needs two points.
    const line = [...(samples.get(id) ?? [tokens]), tokens].slice(-SAMPLES);
    samples.set(id, line);
    const max = Number(chart.getAttribute('data-max')) || 1;
    const x = (/** @type {number} */ index) => (100 * (SAMPLES - line.length + index)) / (SAMPLES - 1);
    const points = line.map(
      (value, index) => `${x(index).toFixed(1)},${(34 - (32 * Math.min(value, max)) / max).toFixed(1)}`,
    );
    draw(chart, 'polygon', [`${x(0).toFixed(1)},36`, ...points, '100,36']);
    draw(chart, 'polyline', points);
  }
}

/** @param {Element} chart @param {string} shape @param {string[]} points */
function draw(chart, shape, points) {
  chart.setAttribute('viewBox', '0 0 100 36');
  chart.setAttribute('preserveAspectRatio', 'none');
  const existing = chart.querySelector(shape);
  const element = existing ?? document.createElementNS(SVG, shape);
  element.setAttribute('points', points.join(' '));
  if (existing === null) chart.append(element);
}

/** Updates relative times such as `in 3 min`. */
function updateRelativeTimes() {
  for (const element of document.querySelectorAll('.relative-time')) {
    const at = Number(element.getAttribute('data-at'));
    const ms = Math.abs(at - Date.now());
    const minutes = Math.floor(ms / 60_000);
    const parts = [
      [Math.floor(minutes / 1440), 'd'],
      [Math.floor(minutes / 60) % 24, 'h'],
      [minutes % 60, 'min'],
    ];
    const first = parts.findIndex(([value]) => Number(value) > 0);
    const text = parts
      .slice(first, first + 2)
      .filter(([value]) => Number(value) > 0)
      .map((part) => part.join(' '))
      .join(' ');
    const ahead = at > Date.now();
    element.textContent =
      minutes === 0 ? (ahead ? 'in less than a minute' : 'just now') : ahead ? `in ${text}` : `${text} ago`;
  }
}

/** @type {EventSource | null} */
let events = null;
addEventListener('pagehide', () => {
  events?.close();
  events = null;
});

/** Follows the events of an active run: updates its progress bar directly, and the other parts from the server. */
function followRun() {
  const part = document.querySelector('[data-events]');
  if (events !== null || !(part instanceof HTMLElement)) return;
  const source = new EventSource(part.dataset.events ?? '');
  events = source;
  // The browser reconnects after a broken connection, but not after an error response: then the next update does.
  source.addEventListener('error', () => {
    if (source.readyState === EventSource.CLOSED && events === source) events = null;
  });
  let stage = '';
  source.addEventListener('progress', ({ data }) => {
    const progress = JSON.parse(data);
    if (progress === null) return;
    const { done, of } = progress.calls;
    const bar = part.querySelector('progress');
    if (of > 0 && bar !== null) {
      bar.max = of;
      bar.value = done;
      setText(part, 'calls', `${numbers.format(done)} of ${numbers.format(of)} calls`);
    }
    updateWithin(progress.stage === stage ? 5_000 : 500);
    stage = progress.stage;
  });
  source.addEventListener('run', () => updateWithin(1_000));
  source.addEventListener('end', () => {
    source.close();
    updateWithin(0);
  });
}

/** @param {HTMLElement} part @param {string} name @param {string} text */
function setText(part, name, text) {
  const element = part.querySelector(`[data-part="${name}"]`);
  if (element !== null && element.textContent !== text) element.textContent = text;
}

let timer = 0;
let due = Number.POSITIVE_INFINITY;
/** Schedules an update, unless an earlier one is scheduled. @param {number} ms */
function updateWithin(ms) {
  if (performance.now() + ms >= due) return;
  clearTimeout(timer);
  due = performance.now() + ms;
  timer = window.setTimeout(() => {
    due = Number.POSITIVE_INFINITY;
    void update();
  }, ms);
}

const intervalS = Number(document.querySelector('[data-renew]')?.getAttribute('data-renew'));
if (intervalS > 0) {
  sampleBudgets();
  setInterval(() => {
    // The page of a run that has ended needs no updates.
    const live = document.querySelector('[data-renew]') !== null;
    if (live && document.visibilityState === 'visible' && !updating) void update();
  }, intervalS * 1_000);
  setInterval(showStaleness, 1_000);
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState !== 'visible') return;
    visibleSince = Date.now();
    void update();
  });
}
setInterval(updateRelativeTimes, 15_000);
followRun();

addEventListener('input', ({ target }) => {
  if (target instanceof Element) target.closest('form')?.setAttribute('data-touched', '');
});

// A second click during the request would only wait for the same response.
addEventListener('submit', ({ target }) => {
  if (!(target instanceof HTMLFormElement) || target.method !== 'post') return;
  setTimeout(() => {
    for (const button of target.querySelectorAll('button')) button.disabled = true;
  });
});
addEventListener('pageshow', ({ persisted }) => {
  if (!persisted) return;
  for (const button of document.querySelectorAll('button')) button.disabled = false;
  if (intervalS > 0) void update();
});
