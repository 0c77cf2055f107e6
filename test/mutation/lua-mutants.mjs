const SWAPS = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '==': '~=',
  '~=': '==',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '%': '*',
  and: 'or',
  or: 'and',
  not: '',
  true: 'false',
  false: 'true',
  'math.max': 'math.min',
  'math.min': 'math.max',
  'math.floor': 'math.ceil',
  'math.ceil': 'math.floor',
};
const TOKEN =
  /--\[\[[\s\S]*?\]\]|--[^\n]*|'(?:\\.|[^'\\])*'|(?:KEYS|ARGV)\[\d+\]|math\.\w+|redis\.call|[A-Za-z_]\w*|\d+|[<>=~]=|\.\.|\S/g;
/** What stands after these is a part of an expression: a minus is its sign, and a command's answer is used. */
const OPEN = /^(?:[-+*/%(,={[<>]|[<>=~]=|\.\.|and|or|not|if|elseif|return|in)$/;

/**
 * The mutants of a Lua script, each with one change: an operator, a constant, a condition that always or never holds, a
 * command to Redis left out. Words in quotes and the places of KEYS and ARGV stay: nearly any test would tell.
 * @param {string} lua
 * @returns {{ line: number, was: string, is: string, lua: string }[]}
 */
export function luaMutants(lua) {
  const tokens = [...lua.matchAll(TOKEN)]
    .map(({ 0: text, index: at }) => ({ text, at, end: at + text.length }))
    .filter(({ text }) => !text.startsWith('--'));
  const change = ({ at }, { end }, is) => ({
    line: lua.slice(0, at).split('\n').length,
    was: lua.slice(at, end),
    is,
    lua: lua.slice(0, at) + is + lua.slice(end),
  });
  return tokens.flatMap((token, index) => {
    const { text } = token;
    const open = OPEN.test(tokens[index - 1]?.text ?? '');
    if (Object.hasOwn(SWAPS, text) && !(text === '-' && open)) return [change(token, token, SWAPS[text])];
    if (/^\d+$/.test(text)) return [change(token, token, `${Number(text) + 1}`)];
    if (text === 'redis.call' && !open) return [change(token, closing(tokens, index + 1), 'do end')];
    if (text !== 'if' && text !== 'elseif') return [];
    const then = tokens.findIndex((other, place) => place > index && other.text === 'then');
    return ['true', 'false'].map((is) => change(tokens[index + 1], tokens[then - 1], is));
  });
}

/** The bracket that closes the one at this index. */
function closing(tokens, opening) {
  let depth = 0;
  return tokens.slice(opening).find(({ text }) => {
    if (text === '(') depth += 1;
    else if (text === ')') depth -= 1;
    return depth === 0;
  });
}
