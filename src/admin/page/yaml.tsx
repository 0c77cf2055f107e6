/** YAML to read: keys and comments are told apart, nothing is changed. */
export const Yaml = ({ text }: { readonly text: string }) => (
  <pre class="yaml">
    <code>{text.trimEnd().split('\n').map(marked)}</code>
  </pre>
);

const KEY = /^(\s*(?:- )?)([\w.]+)(:.*)$/;
const COMMENT = /^(.*?)((?:^|\s)#.*)$/;

function marked(line: string) {
  const [, before = line, comment = ''] = COMMENT.exec(line) ?? [];
  const [, indent = '', key = '', rest = before] = KEY.exec(before) ?? [];
  return (
    <>
      {indent}
      {key === '' ? null : <b>{key}</b>}
      {rest}
      {comment === '' ? null : <i>{comment}</i>}
      {'\n'}
    </>
  );
}
