import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { start } from '../e2e/processes.ts';
import { until } from '../support/test-clock.ts';
import { useWorld, type Row } from '../support/use-world.ts';

const at = useWorld({ spec: 'process' });
const DESCRIPTION = 'a \u001b[31m \u202e "b"';
beforeAll(() =>
  at.world.acs('secret', 'set', 'ONE', '--from-env', 'HOME', '--description', DESCRIPTION),
);

const jq = (expression: string, ...words: string[]): string[] => [
  ...(words.length === 0 ? ['secret', 'list'] : words),
  '--jq',
  expression,
];
const api = (expression: string, ...flags: string[]): string[] =>
  jq(expression, 'api', 'GET', '/api/v1/sandbox-specs/search', ...flags);

describe('--jq', () => {
  at.rows({
    'is applied to the document of a list, and prints texts without quotes': {
      acs: jq('.items[].name, .has_more, (.items|length), {}'),
      out: 'ONE\nfalse\n1\n{}\n',
      err: '',
    },
    'is applied to each object with --format ndjson': {
      acs: jq('[.id, .default]', 'specs', 'list', '--format', 'ndjson'),
      out: /^\["process",true\]$/m,
    },
    'is applied to the answer of acs api': {
      acs: api('.items|length', '-f', 'limit=1'),
      out: '1\n',
    },
    'is applied to all pages of acs api': {
      acs: api('.items|length > 1', '-f', 'limit=1', '--paginate'),
      out: 'true\n',
    },
    'is applied to each item of acs api --paginate as ndjson': {
      acs: api('.id|length > 1', '--paginate', '--format', 'ndjson'),
      out: /^(true\n)+$/,
    },
    'is applied to a dry run': {
      acs: jq('.requests[].method', 'api', 'POST', '/api/v1/sandboxes', '--dry-run'),
      out: 'POST\n',
    },
    'makes texts safe on a terminal, and indents objects there': {
      acs: jq('.items[] | .description, {description}'),
      columns: 80,
      out: 'a \\x1b[31m \\u202e "b"\n{\n  "description": "a \\u001b[31m \\u202e \\"b\\""\n}\n',
    },
    'escapes objects and prints texts as they are in a pipe': {
      acs: jq('.items[] | .description, [.description]'),
      out: `${DESCRIPTION}\n["a \\u001b[31m \\u202e \\"b\\""]\n`,
    },
    'exits with 1 after the results before an error of the expression': {
      acs: jq('.items[].name, (.items[].name | .x)'),
      code: 1,
      out: 'ONE\n',
      err: [/"code":"failed".*Cannot index/],
    },
    'exits with 1 for an expression that calls itself without end': {
      acs: jq('def f: 1 + f; f'),
      code: 1,
      out: '',
    },
    'prints debug messages as notices': {
      acs: jq('.items[0].name | debug'),
      out: 'ONE\n',
      err: /^\{"notice":".*ONE/,
    },
    'reads no variables of the environment': {
      acs: jq('$ENV.ACS_API_KEY, (try input catch "none")'),
      out: 'null\nnone\n',
    },
    'reads no files': { acs: jq('import "/etc/passwd" as $x; $x'), code: 2 },
    'excludes a table': {
      acs: jq('.', 'specs', 'list', '--format', 'table'),
      code: 2,
      err: '--jq',
    },
    'excludes ids': { acs: jq('.', 'specs', 'list', '-q'), code: 2, err: '--jq' },
    'excludes raw output': { acs: jq('.', 'completion', 'bash'), code: 2, err: '--jq' },
    ...Object.fromEntries(
      ['last(repeat(.))', '[recurse(.+1)]'].map((expression): [string, Row] => [
        `exits with 124 at the request timeout for ${expression}, which has no end`,
        {
          acs: jq(
            expression,
            'api',
            'GET',
            '/api/v1/app-conversations/count',
            '--request-timeout',
            '100ms',
          ),
          code: 124,
          out: '',
          err: 'the expression did not end within 100ms',
        },
      ]),
    ),
  });

  it.each([
    ['.items[', /syntax error/],
    ['nothing(1)', /nothing\/1 is not defined/],
    ['--arg x', /syntax error|compile error/],
    ['', /program not given/],
  ])('exits with 2 before any request for the expression %j', async (expression, err) => {
    await at.ends(jq(expression), { code: 2, out: '', err, requests: 0 });
  });

  it('is applied to each event of a stream', async () => {
    const { out: id } = await at.ends(
      jq('.id', 'conv', 'new', '--no-repo', '--replay', 'demo', '--wait'),
      {},
    );
    const { out } = await at.ends(jq('.type', 'conv', 'follow', id.trim()), {});
    expect([...new Set(out.trim().split('\n'))].sort()).toEqual(['event', 'outcome']);
  });

  it('writes to the file of --output', async () => {
    await at.ends([...jq('.items[].name'), '-o', 'names.txt'], { out: '' });
    expect(await readFile(path.join(at.dir, 'names.txt'), 'utf8')).toBe('ONE\n');
  });

  it('is ended by Ctrl-C while an expression runs without end', async () => {
    const { child, err, ended } = start([...jq('last(repeat(1))'), '--debug'], at);
    // The answer has arrived: the expression runs.
    await until(() => /secrets\/search[^]*< 200/.test(err()));
    child.kill('SIGINT');
    expect((await ended).code).toBe(130);
  });
});
