import type { Field, Operation, Reference } from './operations.ts';

/** Where the page's own files are. */
export interface ReferenceAssets {
  readonly style: string;
  readonly script: string;
}

/** The API as a page to read and to try. Reading needs no script; trying does. */
export const ReferencePage = ({ reference, assets }: { reference: Reference; assets: ReferenceAssets }) => (
  <html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <title>{`${reference.title} API`}</title>
      <link rel="icon" href="data:," />
      <link rel="stylesheet" href={assets.style} />
      <script src={assets.script} type="module" />
    </head>
    <body>
      <header>
        <h1>
          {reference.title} API <small>{reference.version}</small>
        </h1>
        {reference.about.map((paragraph) => (
          <p>
            <Prose text={paragraph} />
          </p>
        ))}
        <p>
          <a href="/openapi.json">openapi.json</a>
        </p>
        <form id="token" autocomplete="off">
          <label for="bearer">Token for trying</label>
          <input id="bearer" type="password" autocomplete="off" spellcheck={false} aria-describedby="bearer-about" />
          <small id="bearer-about">
            Stays in this page until it is left. Without one, requests go as whoever is signed in, and may only look.
          </small>
        </form>
        <nav aria-label="Parts">
          {reference.groups.map(({ name }) => (
            <a href={`#${name}`}>{name}</a>
          ))}
        </nav>
      </header>
      <main>
        {reference.groups.map(({ name, operations }) => (
          <section aria-labelledby={name}>
            <h2 id={name}>{name}</h2>
            {operations.map((operation) => (
              <OperationPart operation={operation} />
            ))}
          </section>
        ))}
      </main>
    </body>
  </html>
);

const OperationPart = ({ operation }: { operation: Operation }) => {
  const { id, method, path, summary, description, fields, body, answers } = operation;
  return (
    <details id={id}>
      <summary>
        <b data-method={method}>{method}</b> <code>{path}</code> <span>{summary}</span>
      </summary>
      {description === '' ? null : (
        <p>
          <Prose text={description} />
        </p>
      )}
      <form data-method={method} data-path={path}>
        {fields.map((field) => (
          <FieldPart id={`${id}-${field.name}`} field={field} />
        ))}
        {body === undefined ? null : (
          <>
            <label for={`${id}-body`}>Body ({body.type})</label>
            <textarea id={`${id}-body`} rows={6} spellcheck={false} data-type={body.type}>
              {body.example}
            </textarea>
          </>
        )}
        <button type="submit">Send</button>
        <output aria-live="polite" />
      </form>
      <table>
        <caption>Answers</caption>
        <tbody>
          {answers.map(({ status, description: about }) => (
            <tr>
              <th scope="row">{status}</th>
              <td>
                <Prose text={about} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
};

const FieldPart = ({ id, field }: { id: string; field: Field }) => {
  const { name, in: place, required, description, example, choices } = field;
  const about = description === '' ? undefined : `${id}-about`;
  return (
    <>
      <label for={id}>
        {name} <small>{place}</small>
      </label>
      {choices.length > 0 ? (
        <select id={id} name={name} data-in={place} aria-describedby={about}>
          <option value="">–</option>
          {choices.map((choice) => (
            <option>{choice}</option>
          ))}
        </select>
      ) : (
        <input
          id={id}
          name={name}
          data-in={place}
          required={required}
          value={place === 'path' ? example : ''}
          placeholder={example}
          spellcheck={false}
          aria-describedby={about}
        />
      )}
      {about === undefined ? null : (
        <small id={about}>
          <Prose text={description} />
        </small>
      )}
    </>
  );
};

/** A text whose code stands between backticks, as the document has it. */
const Prose = ({ text }: { text: string }) => (
  <>{text.split('`').map((part, index) => (index % 2 === 1 ? <code>{part}</code> : part))}</>
);
