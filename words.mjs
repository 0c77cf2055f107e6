// Phrases and private words that no text of this repository uses, each with a better one. `npm run lint` fails on any of them.
// `node words.mjs [path …]` scans these paths; without any, all of PATHS. Identifiers and stored names are not scanned:
// of a source file only comments, texts with a space and JSX text; of a test file only comments and titles; of Markdown no code.
const PATHS = [
  'src',
  'test',
  'docs',
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'templates',
  'jobs',
  'deploy',
  'bench',
  'build',
];
/** Not English, generated or third-party. */
const SKIPPED =
  /(^|\/)(node_modules|src\/i18n\/de(\.ts$|\/|$)|test\/recorded|test\/mutation\/node_modules|docs\/images)/;

/** A phrase and what to write instead. Case is ignored; a space matches any white space, a line break in a comment too. */
const PHRASES = [
  // Private words
  ['shel(?:f|ves)(?! li(?:fe|ves))', 'archive storage, store'],
  [
    '(?:in|into|to|joins?|leaves?|enters?) the line(?: (?:of|for)\\b[^.]*?\\b(?:workers?|keys?|queue|budget)| as if| yet| already| again)',
    'queue',
  ],
  [
    '(?:puts?|putting|stands?|standing|stood|waits?|waiting|waited|are|is|were|was|been|be|go|goes|come|comes) in line(?! (?:\\d|\\$|with))',
    'is queued',
  ],
  ['(?:puts?|putting) (?:it|them|a run|runs|a job|jobs) in(?:to)? (?:the )?line', 'enqueues'],
  ['in the (?:same )?line (?:of|for) (?:the |its |an? |every )?(?:workers?|API keys?|keys?|budget)', 'in the queue of'],
  ['(?:of|in|to|at|by) the house(?! style)', 'of Docket, of the application'],
  ['(?:the |an? )?house (?:rules?|words?|style of ours)', 'convention'],
  ['kin', 'related …'],
  ['(?:sits?|sitting|sat) (?:before|at) (?:a|the) (?:page|desk)', 'watches'],
  ['(?:the|a|this|that) (?:review |decision )?desk', 'service'],
  ['through the door|at the door', 'on sign-in, at the entry'],
  ['(?:the )?papers of (?:a|the) run', 'run metadata'],
  ['(?:in|into|take[ns]?|has|had|have|having|taking|took|it|them|run|job) in hand', 'running'],
  ['in hand', 'running, in progress'],
  // Sentences of vocabulary.md, section 3
  ['no counting window', 'the server’s rate limit is never exceeded'],
  ['shown, not guessed', 'uncertain … wait for a decision'],
  ['surely did not arrive', 'are known to have failed'],
  ['earns? (?:a|the) 429', 'exceeds the rate limit, gets a 429'],
  ['all of it is environment', 'configuration comes from environment variables'],
  ['asks? no other host', 'loads no third-party assets'],
  ['user without rights', 'unprivileged user'],
  ['it is who', 'it …'],
  ['may look and not act', 'is read-only'],
  ['waits? for no (?:such )?(?:decision|other)', 'needs no decision'],
  ['(?:is|are) not one of ours|none of ours', 'unrecognised, invalid, not …'],
  ['(?:queue|worker|line|stream|connection) has a fault', 'error'],
  ['refuses us', 'rejected the credentials'],
  ['cannot be kept as the environment says', 'invalid settings'],
  ['ended so', 'ended'],
  ['asleep until', 'waiting until'],
  ['how many of what', 'concurrency of'],
  // Foreign style
  ['so that (?:nobody|no one|nothing)', 'so that … does not; or name who must not'],
  [
    'nobody (?:knows|has surely|is known|else need|need be|sat|(?:waits|is waited|has waited) for|waits any)',
    'unknown; it is not known; no one is waiting',
  ],
  ['helps? nobody', 'is not useful'],
  ["of one['’]s own", 'own, separate'],
  ['(?:is|are|was|were|be) let in', 'is admitted, may sign in'],
  ['lets? (?:nobody|no one) in', 'rejects everyone'],
  ['(?:what|whatever) (?:became|becomes|has become|had become|will become) of', 'the outcome of, what happens to'],
  [
    '(?:where|while|if|when|that|why|as|and|or|because|but) there (?:is|was|are|were) none',
    'without one, if it is missing',
  ],
  ['there (?:is|was|are|were) none', 'it does not exist, it is missing'],
  [
    '(?:stands?|stood|standing) (?:behind|below|above|beside|before|in(?! (?:for|place of|the way|(?:its|their) (?:place|way)))|at|on|under)',
    'is … (follows, precedes)',
  ],
  ['asked for (?:anew|again)', 'requested again'],
  ['(?:is|are|was|were) asked for', 'is requested'],
  ['anew', 'again'],
  ['amid', 'during, within'],
  ['at whatever', 'at any'],
  ['whoever', 'the person who, everyone who, anyone who'],
  ['whatever (?:it|they|that|this) (?:is|are|was|were|says?)', 'any …'],
  ['of (?:its|their) own accord', 'by itself, automatically'],
  ['(?:the|its|their|our|that|a) reckoning', 'calculation, calendar'],
  ['as far as (?:it|they) says? so', 'if it reports it'],
  ['thereof|therein|whereof|wherein|thereupon|whereupon|heretofore|hitherto', 'of it, in it, then, until now'],
  ['lest', 'so that … not'],
  ['whence|thence', 'from where, from there'],
  ['is to be had', 'is available'],
  ['for (?:good|ever) and all', 'permanently'],
  ['abreast', 'concurrently'],
  ['betimes|forthwith|nigh|albeit', 'early, at once, near, although'],
  ['comes? to (?:nothing|rest)', 'fails, finishes'],
  ['by and by', 'later'],
  ['no longer (?:ago )?than need be', 'no longer than necessary'],
];

/** Stored names with such a phrase: a row of docs/internals/benchmarks.md. */
const STORED_NAMES = /under way \(there is none\)/g;

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';
import { parseSync } from 'vite';

const rules = PHRASES.map(([phrase, better]) => ({
  pattern: new RegExp(`(?<![\\w-])(?:${phrase.replaceAll(' ', '(?:\\s|\\n\\s*(?:\\*|//|#)\\s)+')})(?![\\w-])`, 'giu'),
  better,
}));

/** Every node of a syntax tree, with the call whose argument it is. */
function* nodesOf(node, parent) {
  if (Array.isArray(node)) {
    for (const child of node) yield* nodesOf(child, parent);
  } else if (node !== null && typeof node === 'object') {
    if (typeof node.type === 'string') yield { node, parent };
    for (const [key, child] of Object.entries(node)) {
      if (key === 'source' && /^(Import|Export)/.test(node.type)) continue;
      if (child !== null && typeof child === 'object') yield* nodesOf(child, node);
    }
  }
}

const calleeOf = (node) => {
  if (node?.type === 'Identifier') return node.name;
  if (node?.type === 'MemberExpression') return calleeOf(node.object);
  if (node?.type === 'CallExpression' || node?.type === 'TaggedTemplateExpression')
    return calleeOf(node.callee ?? node.tag);
  return '';
};
const isTitle = (node, parent) =>
  parent?.type === 'CallExpression' &&
  parent.arguments[0] === node &&
  /^(describe|it|test)$/.test(calleeOf(parent.callee));

/** The parts of a source file that are prose: [start, end] each. */
function proseOf(file, text, titlesOnly) {
  const { program, comments } = parseSync(file, text);
  // Comments of single lines that follow each other are one text.
  const spans = [];
  for (const { start, end } of comments) {
    const last = spans.at(-1);
    if (last !== undefined && /^\s*$/.test(text.slice(last[1], start))) last[1] = end;
    else spans.push([start, end]);
  }
  for (const { node, parent } of nodesOf(program)) {
    const isText =
      (node.type === 'Literal' && typeof node.value === 'string') ||
      node.type === 'TemplateLiteral' ||
      node.type === 'JSXText';
    if (!isText || (titlesOnly && !isTitle(node, parent))) continue;
    if (node.type === 'TemplateLiteral') for (const { start, end } of node.quasis) spans.push([start, end]);
    else if (/\s/.test(text.slice(node.start, node.end).trim())) spans.push([node.start, node.end]);
  }
  return spans;
}

/** Something of the same length and lines that no phrase matches. */
const blank = (code) => code.replace(/[^\n]/g, '\u0000');

/** Markdown without fenced and inline code, of the same length. */
const withoutCode = (text) => text.replace(/^(```+|~~~+)[\s\S]*?^\1|`[^`\n]*`/gm, blank);

function* filesOf(path) {
  if (SKIPPED.test(path) || !existsSync(path)) return;
  if (statSync(path).isFile()) yield path;
  else for (const name of readdirSync(path).sort()) yield* filesOf(join(path, name));
}

let count = 0;
const paths = process.argv.slice(2);
for (const file of (paths.length > 0 ? paths : PATHS).flatMap((path) => [...filesOf(path)])) {
  const kind = extname(file);
  let text;
  let spans;
  if (/^\.(m?[jt]sx?)$/.test(kind)) {
    text = readFileSync(file, 'utf8');
    spans = proseOf(file, text, /^test\//.test(file));
  } else if (kind === '.md') {
    text = withoutCode(readFileSync(file, 'utf8'));
    spans = [[0, text.length]];
  } else if (/^\.(html|css|liquid|ya?ml|sh|mjml|typ)$/.test(kind)) {
    text = readFileSync(file, 'utf8');
    spans = [[0, text.length]];
  } else continue;
  const seen = new Set();
  const findings = [];
  for (const [start, end] of spans) {
    // Inline code in comments is not prose, nor is a stored name.
    const slice = text.slice(start, end).replace(STORED_NAMES, blank);
    const part = /^\/[/*]/.test(slice) ? slice.replace(/`[^`\n]*`/g, blank) : slice;
    for (const { pattern, better } of rules) {
      for (const { 0: phrase, index } of part.matchAll(pattern)) {
        const at = start + index;
        if ([...phrase].every((_, offset) => seen.has(at + offset))) continue;
        for (let offset = 0; offset < phrase.length; offset += 1) seen.add(at + offset);
        findings.push({ at, phrase: phrase.replace(/\s*\n\s*(?:\*|\/\/|#)?\s*/g, ' '), better });
      }
    }
  }
  for (const { at, phrase, better } of findings.sort((a, b) => a.at - b.at)) {
    const before = text.slice(0, at).split('\n');
    console.error(`${file}:${before.length}:${before.at(-1).length + 1}: "${phrase}": better ${better}`);
    count += 1;
  }
}
if (count > 0) console.error(`${count} phrases; see the list in words.mjs.`);
process.exitCode = count === 0 ? 0 : 1;
