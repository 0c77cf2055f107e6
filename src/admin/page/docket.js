// @ts-check
// Everything works without this: it keeps what is shown fresh, says how a run goes on, and draws the budget's chart.

const SAMPLES = 60;
const SVG = 'http://www.w3.org/2000/svg';
const numbers = new Intl.NumberFormat('en-GB');

/** Puts the parts of a newer copy of this page in place of those that have changed. */
async function renew() {
  const answer = await fetch(location.href, { headers: { accept: 'text/html' }, redirect: 'manual' });
  // Signed out meanwhile: the page stays as it is until somebody goes on.
  if (!answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
  for (const part of document.querySelectorAll('[data-live]')) {
    const other = fresh.getElementById(part.id);
    // Nothing is taken from under somebody's hands.
    if (other === null || part.contains(document.activeElement) || part.querySelector('details[open]')) continue;
    if (part.innerHTML !== other.innerHTML) part.replaceChildren(...other.childNodes);
    for (const { name, value } of other.attributes)
      if (part.getAttribute(name) !== value) part.setAttribute(name, value);
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

/** Follows the run that this page shows: the bar at once, the sentences beside it as the server says them. @param {HTMLElement} part */
function follow(part) {
  const events = new EventSource(part.dataset.events ?? '');
  let stage = '';
  events.addEventListener('progress', ({ data }) => {
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
  events.addEventListener('run', () => renewWithin(1_000));
  events.addEventListener('end', () => {
    events.close();
    renewWithin(0);
  });
  addEventListener('pagehide', () => events.close());
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
    renew().catch(() => {});
  }, ms);
}

const every = Number(document.querySelector('[data-renew]')?.getAttribute('data-renew'));
if (every > 0) {
  sample();
  setInterval(() => {
    if (document.visibilityState === 'visible') renew().catch(() => {});
  }, every * 1_000);
}
setInterval(tick, 15_000);
for (const part of document.querySelectorAll('[data-events]')) if (part instanceof HTMLElement) follow(part);

// A second press of the button while the first is on its way would only wait for the same answer.
addEventListener('submit', ({ target }) => {
  if (!(target instanceof HTMLFormElement) || target.method !== 'post') return;
  setTimeout(() => {
    for (const button of target.querySelectorAll('button')) button.disabled = true;
  });
});
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) for (const button of document.querySelectorAll('button')) button.disabled = false;
});
