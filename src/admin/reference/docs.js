// @ts-check
// Sends what a form says and shows the answer. The token is in this page's memory alone.

/** Characters of an answer that are shown. */
const MOST = 100_000;

for (const form of document.querySelectorAll('form[data-path]')) {
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void send(/** @type {HTMLFormElement} */ (form));
  });
}
document.getElementById('token')?.addEventListener('submit', (event) => event.preventDefault());
// A link to a route opens it.
const open = () => document.getElementById(location.hash.slice(1))?.setAttribute('open', '');
addEventListener('hashchange', open);
open();

/** @param {HTMLFormElement} form */
async function send(form) {
  const output = form.querySelector('output');
  if (output === null) return;
  output.textContent = 'Sending …';
  try {
    const { url, init } = requestOf(form);
    const began = performance.now();
    const answer = await fetch(url, init);
    const shown = await textOf(answer);
    const ms = Math.round(performance.now() - began);
    const headers = ['location', 'link', 'content-type', 'content-disposition', 'etag', 'retry-after', 'allow']
      .filter((name) => answer.headers.has(name))
      .map((name) => `${name}: ${answer.headers.get(name)}`);
    output.textContent = [`${answer.status} ${answer.statusText} in ${ms} ms`, ...headers, '', shown].join('\n');
  } catch (error) {
    output.textContent = error instanceof Error ? error.message : String(error);
  }
}

/** @param {HTMLFormElement} form */
function requestOf(form) {
  const { method = 'GET', path = '/' } = form.dataset;
  let filled = path;
  const query = new URLSearchParams();
  /** @type {Record<string, string>} */
  const headers = {};
  for (const field of form.querySelectorAll('[data-in]')) {
    const { name, value } = /** @type {HTMLInputElement} */ (field);
    const place = field.getAttribute('data-in');
    if (place === 'path') filled = filled.replace(`{${name}}`, encodeURIComponent(value));
    else if (value !== '' && place === 'query') query.append(name, value);
    else if (value !== '') headers[name] = value;
  }
  const token = /** @type {HTMLInputElement | null} */ (document.getElementById('bearer'))?.value.trim() ?? '';
  if (token !== '') headers.authorization = `Bearer ${token}`;
  const body = form.querySelector('textarea');
  if (body !== null) headers['content-type'] = body.dataset.type ?? 'application/json';
  const search = query.toString();
  return {
    url: search === '' ? filled : `${filled}?${search}`,
    init: { method, headers, ...(body === null ? {} : { body: body.value }) },
  };
}

/** @param {Response} answer */
async function textOf(answer) {
  const type = answer.headers.get('content-type') ?? '';
  if (answer.body === null || answer.status === 204) return '';
  if (!/json|text|yaml/.test(type)) {
    await answer.body.cancel();
    return `(${answer.headers.get('content-length') ?? 'some'} bytes of ${type})`;
  }
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  // A stream of events goes on for as long as its run: its beginning is shown.
  for (const most = type.startsWith('text/event-stream') ? 1 : MOST; text.length < most; ) {
    const { done, value } = await reader.read();
    if (done) return type.includes('json') && text !== '' ? JSON.stringify(JSON.parse(text), null, 2) : text;
    text += value;
  }
  await reader.cancel();
  return `${text.slice(0, MOST)}\n…`;
}
