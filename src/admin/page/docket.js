// @ts-check
// Everything works without this: it keeps what is shown fresh, says how a run goes on, and draws the budget's chart.

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

/** Ms without news after which the page says so. */
const STALE_MS = 5_000;
const TIMEOUT_MS = 10_000;
/** When what is shown came. */
let renewedAt = Date.now();
/** Since when the page is to be seen: nobody asks for news while it is not. */
let seenSince = renewedAt;
/** Why the last news did not come. */
let why = '';
let asking = false;
let again = false;

/** Asks for a newer copy of this page, one at a time; whoever asks meanwhile gets one that was asked for later. */
async function renew() {
  if (asking) {
    again = true;
    return;
  }
  asking = true;
  try {
    why = await news();
    if (why === '') renewedAt = Date.now();
  } catch (error) {
    const late = error instanceof DOMException && error.name === 'TimeoutError';
    why = late
      ? 'Docket does not answer.'
      : navigator.onLine
        ? 'Docket cannot be reached: it has stopped, or the network is down.'
        : 'This browser is offline.';
  }
  asking = false;
  sayStale();
  if (again) {
    again = false;
    await renew();
  } else if (why === '') follow();
}

/** Shows a newer copy of this page; why there is none, or an empty text. Throws what `fetch` does. */
async function news() {
  // After a refused form the address is that of the form, which nobody can get.
  const own = document.querySelector('[data-self]')?.getAttribute('data-self') ?? location.href;
  const answer = await fetch(own, {
    headers: { accept: 'text/html' },
    redirect: 'manual',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (answer.type === 'opaqueredirect') return 'You are signed out: load the page again to sign in.';
  const copy = new DOMParser().parseFromString(await answer.text(), 'text/html');
  if (answer.ok) {
    show(copy);
    return '';
  }
  const code = copy.querySelector('[data-problem]')?.getAttribute('data-problem') ?? '';
  return code === 'redis.unreachable' ? 'Docket cannot reach Redis.' : `Docket answers ${answer.status} ${code}`.trim();
}

/** Says since when what is shown is stale, and why, for as long as it is. */
function sayStale() {
  const place = document.getElementById('stale');
  if (place === null) return;
  const live = document.querySelector('[data-renew]') !== null;
  const seen = document.visibilityState === 'visible';
  const stale = live && seen && Date.now() - Math.max(renewedAt, seenSince) > STALE_MS;
  const text = stale
    ? `Stale since ${instants.format(renewedAt)}. ${why || 'Docket does not answer.'} What is shown may have changed since.`
    : '';
  // Written once: a screen reader says each change.
  if (place.textContent === text) return;
  const line = document.createElement('p');
  line.textContent = text;
  place.replaceChildren(...(stale ? [line] : []));
}

/** Puts the parts of a newer copy of this page in place of those that have changed. @param {Document} fresh */
function show(fresh) {
  for (const part of document.querySelectorAll('[data-live]')) {
    const other = fresh.getElementById(part.id);
    // Nothing is taken from under somebody's hands.
    if (other === null || part.contains(document.activeElement) || part.querySelector('details[open]')) continue;
    if (part.innerHTML !== other.innerHTML) part.replaceChildren(...other.childNodes);
    for (const { name, value } of other.attributes)
      if (part.getAttribute(name) !== value) part.setAttribute(name, value);
    for (const { name } of [...part.attributes]) if (!other.hasAttribute(name)) part.removeAttribute(name);
  }
  sample();
}

/** @type {Map<string, number[]>} */
const samples = new Map();

/** Adds what each key has left to its line. */
function sample() {
  for (const chart of document.querySelectorAll('[data-spark]')) {
    const id = chart.getAttribute('data-spark') ?? '';
    const tokens = Number(document.getElementById(id)?.dataset.tokens);
    // A line needs two points.
    const line = [...(samples.get(id) ?? [tokens]), tokens].slice(-SAMPLES);
    samples.set(id, line);
    const most = Number(chart.getAttribute('data-most')) || 1;
    const x = (/** @type {number} */ index) => (100 * (SAMPLES - line.length + index)) / (SAMPLES - 1);
    const points = line.map(
      (value, index) => `${x(index).toFixed(1)},${(34 - (32 * Math.min(value, most)) / most).toFixed(1)}`,
    );
    draw(chart, 'polygon', [`${x(0).toFixed(1)},36`, ...points, '100,36']);
    draw(chart, 'polyline', points);
  }
}

/** @param {Element} chart @param {string} shape @param {string[]} points */
function draw(chart, shape, points) {
  chart.setAttribute('viewBox', '0 0 100 36');
  chart.setAttribute('preserveAspectRatio', 'none');
  const there = chart.querySelector(shape);
  const element = there ?? document.createElementNS(SVG, shape);
  element.setAttribute('points', points.join(' '));
  if (there === null) chart.append(element);
}

/** Keeps `in 3 min` true. */
function tick() {
  for (const element of document.querySelectorAll('.far')) {
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

/** Follows the run that this page shows, if it goes on: the bar at once, the sentences beside it as the server says them. */
function follow() {
  const part = document.querySelector('[data-events]');
  if (events !== null || !(part instanceof HTMLElement)) return;
  const source = new EventSource(part.dataset.events ?? '');
  events = source;
  // The browser comes back after a broken connection, not after a refusal: then the next news does.
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
      say(part, 'calls', `${numbers.format(done)} of ${numbers.format(of)} calls`);
    }
    renewWithin(progress.stage === stage ? 5_000 : 500);
    stage = progress.stage;
  });
  source.addEventListener('run', () => renewWithin(1_000));
  source.addEventListener('end', () => {
    source.close();
    renewWithin(0);
  });
}

/** @param {HTMLElement} part @param {string} name @param {string} text */
function say(part, name, text) {
  const element = part.querySelector(`[data-part="${name}"]`);
  if (element !== null && element.textContent !== text) element.textContent = text;
}

let timer = 0;
let due = Number.POSITIVE_INFINITY;
/** @param {number} ms from now at the latest; what is due earlier stays */
function renewWithin(ms) {
  if (performance.now() + ms >= due) return;
  clearTimeout(timer);
  due = performance.now() + ms;
  timer = window.setTimeout(() => {
    due = Number.POSITIVE_INFINITY;
    void renew();
  }, ms);
}

const every = Number(document.querySelector('[data-renew]')?.getAttribute('data-renew'));
if (every > 0) {
  sample();
  setInterval(() => {
    // A run that has ended is not asked about any more.
    const live = document.querySelector('[data-renew]') !== null;
    if (live && document.visibilityState === 'visible' && !asking) void renew();
  }, every * 1_000);
  setInterval(sayStale, 1_000);
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState !== 'visible') return;
    seenSince = Date.now();
    void renew();
  });
}
setInterval(tick, 15_000);
follow();

// A second press of the button while the first is on its way would only wait for the same answer.
addEventListener('submit', ({ target }) => {
  if (!(target instanceof HTMLFormElement) || target.method !== 'post') return;
  setTimeout(() => {
    for (const button of target.querySelectorAll('button')) button.disabled = true;
  });
});
addEventListener('pageshow', ({ persisted }) => {
  if (!persisted) return;
  for (const button of document.querySelectorAll('button')) button.disabled = false;
  if (every > 0) void renew();
});
