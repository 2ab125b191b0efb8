import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWorld, PACKAGE_ROOT, type World } from '../support/world.ts';

let world: World;

beforeAll(async () => {
  world = await createWorld({ spec: 'process' });
  await world.acs('secret', 'set', 'ONE', '--from-env', 'HOME', '--description', 'a \u001b[31m \u202e "b"');
});
afterAll(() => world.close());

describe('--jq', () => {
  it('is applied to the document of a list, and prints texts without quotes', async () => {
    const { code, out, err } = await world.acs(
      'secret',
      'list',
      '--jq',
      '.items[].name, .has_more, (.items|length), {}',
    );

    expect({ code, out, err }).toEqual({ code: 0, out: 'ONE\nfalse\n1\n{}\n', err: '' });
  });

  it('is applied to each object with --format ndjson', async () => {
    const { out } = await world.acs('specs', 'list', '--format', 'ndjson', '--jq', '[.id, .default]');

    expect(out.split('\n').sort()).toEqual(expect.arrayContaining(['["process",true]']));
  });

  it('is applied to each event of a stream', async () => {
    const started = await world.acs('conv', 'new', '--no-repo', '--replay', 'demo', '--wait', '--jq', '.id');
    const followed = await world.acs('conv', 'follow', started.out.trim(), '--jq', '.type');

    expect([started.code, followed.code]).toEqual([0, 0]);
    expect([...new Set(followed.out.trim().split('\n'))].sort()).toEqual(['event', 'outcome']);
  });

  it('is applied to the answer of acs api, to its pages, and to a dry run', async () => {
    const route = '/api/v1/sandbox-specs/search';
    const one = await world.acs('api', 'GET', route, '-f', 'limit=1', '--jq', '.items|length');
    const all = await world.acs('api', 'GET', route, '-f', 'limit=1', '--paginate', '--jq', '.items|length > 1');
    const lines = await world.acs(
      ...['api', 'GET', route, '--paginate', '--format', 'ndjson', '--jq', '.id|length > 1'],
    );
    const dry = await world.acs('api', 'POST', '/api/v1/sandboxes', '--dry-run', '--jq', '.requests[].method');

    expect([one.out, all.out, [...new Set(lines.out.split('\n'))], dry.out]).toEqual([
      ...['1\n', 'true\n', ['true', ''], 'POST\n'],
    ]);
  });

  it('makes texts safe on a terminal, and indents objects there', async () => {
    const { out } = await world.invoke({
      args: ['secret', 'list', '--jq', '.items[] | .description, {description}'],
      columns: 80,
    });

    expect(out).toBe('a \\x1b[31m \\u202e "b"\n{\n  "description": "a \\u001b[31m \\u202e \\"b\\""\n}\n');
  });

  it('escapes objects and prints texts as they are in a pipe', async () => {
    const { out } = await world.acs('secret', 'list', '--jq', '.items[] | .description, [.description]');

    expect(out).toBe('a \u001b[31m \u202e "b"\n["a \\u001b[31m \\u202e \\"b\\""]\n');
  });

  it('writes to the file of --output', async () => {
    const { code, out } = await world.acs('secret', 'list', '--jq', '.items[].name', '-o', 'names.txt');

    expect({ code, out }).toEqual({ code: 0, out: '' });
    expect(await readFile(path.join(world.dir, 'names.txt'), 'utf8')).toBe('ONE\n');
  });

  it.each([
    ['.items[', /syntax error/],
    ['nothing(1)', /nothing\/1 is not defined/],
    ['--arg x', /syntax error|compile error/],
    ['', /program not given/],
  ])('exits with 2 before any request for the expression %j', async (expression, message) => {
    const { code, out, err } = await world.invoke({
      args: ['--base-url', 'http://127.0.0.1:1', 'secret', 'list', '--jq', expression],
    });

    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(message);
  });

  it('exits with 1 after the results before an error of the expression', async () => {
    const { code, out, err } = await world.acs('secret', 'list', '--jq', '.items[].name, (.items[].name | .x)');

    expect({ code, out }).toEqual({ code: 1, out: 'ONE\n' });
    expect(JSON.parse(err)).toMatchObject({
      error: { code: 'failed', message: expect.stringContaining('Cannot index') as unknown },
    });
  });

  it('exits with 1 for an expression that calls itself without end', async () => {
    expect(await world.acs('secret', 'list', '--jq', 'def f: 1 + f; f')).toMatchObject({ code: 1, out: '' });
  });

  it('prints debug messages as notices', async () => {
    const { out, err } = await world.acs('secret', 'list', '--jq', '.items[0].name | debug');

    expect(out).toBe('ONE\n');
    expect(JSON.parse(err)).toMatchObject({ notice: expect.stringContaining('ONE') as unknown });
  });

  it('reads neither variables of the environment nor files', async () => {
    const { out } = await world.acs('secret', 'list', '--jq', '$ENV.ACS_API_KEY, (try input catch "none")');
    const file = await world.acs('secret', 'list', '--jq', 'import "/etc/passwd" as $x; $x');

    expect(out).toBe('null\nnone\n');
    expect(file.code).toBe(2);
  });

  it.each([
    ['table', ['specs', 'list', '--format', 'table']],
    ['id', ['specs', 'list', '-q']],
    ['raw output', ['conv', 'result', '@last']],
  ])('excludes %s', async (_, args) => {
    const { code, err } = await world.acs(...args, '--jq', '.');

    expect(code).toBe(2);
    expect(err).toContain('--jq');
  });

  it('is ended by Ctrl-C while an expression runs without end', async () => {
    const acs = spawn(
      process.execPath,
      [path.join(PACKAGE_ROOT, 'bin/acs.cjs'), 'secret', 'list', '--debug', '--jq', 'last(repeat(1))'],
      {
        env: world.env,
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    );
    const ended = new Promise<number | null>((resolve) => acs.once('exit', resolve));
    let err = '';
    // The answer has arrived: the expression runs.
    for await (const chunk of acs.stderr as AsyncIterable<Buffer>) {
      err += chunk.toString('utf8');
      if (/secrets\/search[^]*< 200/.test(err)) break;
    }
    acs.kill('SIGINT');

    expect(await ended).toBe(130);
  });
});
