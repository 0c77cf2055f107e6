// @ts-check
// Optional: the page works without it. It updates the page, shows the progress of a run, and draws the budget charts.

const SAMPLES = 60;
const SVG = 'http://www.w3.org/2000/svg';
const numbers = new Intl.NumberFormat('en-GB');

/** Without a response for this long, the page says that it is stale. */
const STALE_MS = 5_000;
/** The interval of requests. Every `data-renew` seconds it fetches the page itself, otherwise only `/pulse`. */
const PULSE_MS = 3_000;
const REQUEST_TIMEOUT_MS = 10_000;
const SIGNED_OUT = 'You are signed out.';

/** Docket's clock minus this browser's, ms. The page shows every time by Docket's clock. */
const CLOCK_OFFSET_MS =
  Number(document.querySelector('[data-now]')?.getAttribute('data-now') ?? Date.now()) - Date.now();

/** Time of the last good response. */
let answeredAt = Date.now();
/** Time of the data on the page. */
let renewedAt = answeredAt;
/** Time of the last request. */
let requestedAt = answeredAt;
/** Time since when the page is visible. Hidden pages make no requests. */
let visibleSince = answeredAt;
/** Why the last request failed; empty if it did not. */
let failure = '';
/** An error of this script. Only a reload fixes it. */
let scriptError = '';
let updating = false;
let updateAgain = false;

/** Whether somebody is signed in on this page. Other pages have no data that could become stale. */
const isLive = () => document.getElementById('stale') !== null;

/** Updates the page, one request at a time. A call during a request causes another update after it. */
async function update() {
  if (updating) {
    updateAgain = true;
    return;
  }
  await makeRequest(async () => {
    // After a rejected form the browser's address is the form's target, which does not accept GET.
    const html = await request(document.querySelector('[data-self]')?.getAttribute('data-self') ?? location.href);
    if (html === undefined) return;
    replaceParts(new DOMParser().parseFromString(html, 'text/html'));
    renewedAt = Date.now();
    followRun();
  });
}

/** Checks, without fetching data, that Docket and Redis respond and the session is still valid. */
const checkPulse = () => makeRequest(async () => void (await request('/pulse')));

/** Makes one request at a time. @param {() => Promise<void>} question */
async function makeRequest(question) {
  updating = true;
  requestedAt = Date.now();
  try {
    await question();
  } finally {
    updating = false;
    showStaleness();
  }
  if (updateAgain) {
    updateAgain = false;
    await update();
  }
}

/** The text of the response. Undefined if the request failed; `failure` then has the reason. @param {string} url */
async function request(url) {
  try {
    const response = await fetch(url, {
      headers: { accept: 'text/html' },
      redirect: 'manual',
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    });
    const text = await response.text();
    failure = describeFailure(response, text);
    if (failure !== '') return undefined;
    answeredAt = Date.now();
    return text;
  } catch (error) {
    const timedOut = error instanceof DOMException && error.name === 'TimeoutError';
    failure = timedOut
      ? 'Docket does not answer.'
      : navigator.onLine
        ? 'Docket cannot be reached: it has stopped, or the network is down.'
        : 'This browser is offline.';
    return undefined;
  }
}

/** What is wrong with a response; empty if nothing is. @param {Response} response @param {string} html */
function describeFailure(response, html) {
  if (response.type === 'opaqueredirect') return SIGNED_OUT;
  if (response.ok) return '';
  const problem = new DOMParser().parseFromString(html, 'text/html').querySelector('[data-problem]');
  const code = problem?.getAttribute('data-problem') ?? '';
  if (code === 'redis.unreachable') return 'Docket cannot reach Redis.';
  return `Docket answered ${response.status} ${code}`.trim().concat('.');
}

/** `21 Nov, 14:12:05 CET`, in the zone of the page. @param {number} at by this browser's clock @param {string | undefined} timeZone */
const instantText = (at, timeZone) =>
  new Intl.DateTimeFormat('en-GB', {
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    timeZoneName: 'short',
    timeZone,
  }).format(at + CLOCK_OFFSET_MS);

/** Shows since when and why the page is stale, while it is. */
function showStaleness() {
  const element = document.getElementById('stale');
  if (element === null) return;
  const silent = Date.now() - Math.max(answeredAt, visibleSince) > STALE_MS;
  const stale = document.visibilityState === 'visible' && (silent || failure === SIGNED_OUT);
  const since = () => instantText(Math.min(answeredAt, renewedAt), element.dataset.zone);
  const text = [
    ...(stale ? [`Stale since ${since()}. ${failure || 'Docket does not answer.'}`] : []),
    ...(stale && failure !== SIGNED_OUT ? ['The data may have changed since.'] : []),
    ...(scriptError === '' ? [] : [`The script of this page failed: ${scriptError}. Reload the page.`]),
  ].join(' ');
  // Only on changes, because a screen reader announces each one.
  if (element.dataset.text === text) return;
  element.dataset.text = text;
  const line = document.createElement('p');
  line.textContent = text;
  if (stale && failure === SIGNED_OUT) {
    const link = document.createElement('a');
    link.href = document.querySelector('[data-self]')?.getAttribute('data-self') ?? '/';
    link.textContent = 'Sign in';
    line.append(' ', link);
  }
  element.replaceChildren(...(text === '' ? [] : [line]));
}

/** Shows errors, including rejections that no code here awaits. @param {unknown} error */
function showScriptError(error) {
  scriptError = error instanceof Error ? error.message : String(error);
  showStaleness();
}
addEventListener('error', ({ error, message }) => showScriptError(error ?? message));
addEventListener('unhandledrejection', ({ reason }) => showScriptError(reason));

/**
 * Whether somebody is using a part: replacing it would lose the focus, an open form, typed input or selected text.
 * @param {Element} part
 */
const isInUse = (part) => {
  const selection = getSelection();
  return (
    part.contains(document.activeElement) ||
    part.querySelector('details[open], form[data-touched], td input:checked') !== null ||
    (selection !== null && !selection.isCollapsed && selection.containsNode(part, true))
  );
};

/** Replaces the parts that differ in a newer copy of this page. @param {Document} copy */
function replaceParts(copy) {
  for (const part of document.querySelectorAll('[data-live]')) {
    const other = copy.getElementById(part.id);
    if (other === null || isInUse(part)) continue;
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
  const element = chart.querySelector(shape) ?? chart.appendChild(document.createElementNS(SVG, shape));
  element.setAttribute('points', points.join(' '));
}

/** Updates relative times such as `in 3 min`. */
function updateRelativeTimes() {
  for (const element of document.querySelectorAll('.relative-time, .when > span')) {
    const at = Number(element.getAttribute('data-at') ?? Date.parse(element.closest('time')?.dateTime ?? ''));
    const now = Date.now() + CLOCK_OFFSET_MS;
    const minutes = Math.floor(Math.abs(at - now) / 60_000);
    const [days, hours] = [Math.floor(minutes / 1440), Math.floor(minutes / 60) % 24];
    const parts = [days && `${days} d`, hours && `${hours} h`, minutes % 60 && `${minutes % 60} min`];
    const first = parts.findIndex((part) => part !== 0);
    const text = parts
      .slice(first, first + 2)
      .filter(Boolean)
      .join(' ');
    if (minutes === 0) element.textContent = at > now ? 'in less than a minute' : 'just now';
    else element.textContent = at > now ? `in ${text}` : `${text} ago`;
  }
}

/** @type {EventSource | null} */
let events = null;
addEventListener('pagehide', () => {
  events?.close();
  events = null;
});

/** Follows the events of an active run. Updates the progress bar from them, and the other parts from the server. */
function followRun() {
  const part = document.querySelector('[data-events]');
  if (events !== null || !(part instanceof HTMLElement)) return;
  const source = new EventSource(part.dataset.events ?? '');
  events = source;
  // The browser reconnects after a broken connection, but not after an error response. Then the next update reconnects.
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
      const text = `${numbers.format(done)} of ${numbers.format(of)} calls`;
      const calls = part.querySelector('[data-part="calls"]');
      if (calls !== null && calls.textContent !== text) calls.textContent = text;
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

let timer = 0;
let due = Number.POSITIVE_INFINITY;
/** Schedules an update within this time, unless one is already due earlier. @param {number} ms */
function updateWithin(ms) {
  if (performance.now() + ms >= due) return;
  clearTimeout(timer);
  due = performance.now() + ms;
  timer = window.setTimeout(() => {
    due = Number.POSITIVE_INFINITY;
    void update();
  }, ms);
}

/** Ms after which the page is fetched again: the shortest interval of its parts. */
const renewalMs = () =>
  1_000 *
  Math.min(...Array.from(document.querySelectorAll('[data-renew]'), (part) => Number(part.getAttribute('data-renew'))));

if (isLive()) {
  sampleBudgets();
  setInterval(() => {
    showStaleness();
    if (updating || document.visibilityState !== 'visible' || failure === SIGNED_OUT) return;
    const now = Date.now();
    // Half a second less, because the interval may fire a little early.
    if (now - requestedAt < PULSE_MS - 500) return;
    void (now - renewedAt >= renewalMs() - 500 ? update() : checkPulse());
  }, 1_000);
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState !== 'visible') return;
    visibleSince = Date.now();
    void update();
  });
  addEventListener('online', () => void update());
}

// An error page that can be retried reloads as soon as the page is available again.
const waiting = document.querySelector('[data-retry]');
if (waiting !== null) {
  setInterval(() => {
    if (updating || document.visibilityState !== 'visible') return;
    void makeRequest(async () => {
      const html = await request(location.href);
      if (html !== undefined || failure === SIGNED_OUT) location.reload();
      else waiting.textContent = `${failure} This page loads again as soon as it can.`;
    });
  }, PULSE_MS);
}
setInterval(updateRelativeTimes, 15_000);
followRun();

addEventListener('input', ({ target }) => {
  if (target instanceof Element) target.closest('form')?.setAttribute('data-touched', '');
});

// Shortcuts and commands are not needed for the first paint.
addEventListener('load', () => {
  const keys = document.querySelector('[data-keys]')?.getAttribute('data-keys');
  if (keys == null) return;
  const script = document.createElement('script');
  script.src = keys;
  document.head.append(script);
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
  if (isLive()) void update();
});

// Only a script knows the zone of this browser.
for (const button of document.querySelectorAll('button[data-viewer-zone]')) {
  if (!(button instanceof HTMLButtonElement)) continue;
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  button.value = `viewer:${timeZone}`;
  button.hidden = false;
  const name = button.querySelector('span');
  if (name !== null) name.textContent = timeZone;
}
