/**
 * A value under every name of the table, in every kind of the name, and every output that may have
 * it.
 */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { SECRET_NAMES, type NameKind } from '../../src/base/text/secret-names.ts';
import type { Ended } from '../support/world.ts';
import { useWorld } from '../support/use-world.ts';
import { finish, json, replayFile, run } from './conv/support.ts';

/** `my_key` for the row `_key`. */
const planted = (kind: NameKind): [name: string, value: string][] =>
  Object.entries(SECRET_NAMES)
    .filter(([, places]) => places?.includes(kind) ?? true)
    .map(([row]) => [row.startsWith('_') ? `my${row}` : row, `PLANTED1-${kind}-${row}`]);

const flags = planted('argument').map(([name, value]) => `--${name.replaceAll('_', '-')}=${value}`);
const variables = planted('variable').map(([name, value]) => `${name.toUpperCase()}=${value}`);
const headers = planted('header').map(
  ([name, value]) => [`X-${name.replaceAll('_', '-')}`, value] as const,
);
const url = `https://mcp.example.com/sse?${planted('query')
  .map((pair) => pair.join('='))
  .join('&')}`;
const members = Object.fromEntries(planted('member'));
const mcp = {
  sse_servers: [{ url, api_key: 'PLANTED1' }],
  stdio_servers: [
    { name: 'stdio', command: 'c', args: [...flags, ...variables, url], env: { ANY: 'PLANTED1' } },
  ],
};
const body = {
  ...members,
  headers: Object.fromEntries(headers),
  mcp: { one: Object.fromEntries(planted('mcp')) },
};
const lines = [
  ...headers.map((pair) => pair.join(': ')),
  ...variables,
  flags.join(' '),
  url,
  JSON.stringify(members),
];

function expectRedacted({ code, out, err }: Ended, expected = 0): void {
  expect((out + err).match(/PLANTED[\w-]*/g)).toBeNull();
  expect(out + err).toContain('<redacted>');
  expect(code).toBe(expected);
}

describe.each(['v0', 'v1', 'both'] as const)('on a server that speaks %s', (api) => {
  const at = useWorld({ api, spec: 'process' });
  const acs = (...args: string[]) => at.world.acs(...args);
  const write = (name: string, content: unknown) =>
    writeFile(path.join(at.world.dir, name), JSON.stringify(content));

  it('no format of the settings and of requests has a value under a name of the table', async () => {
    const [sse, stdio] = [mcp.sse_servers[0], mcp.stdio_servers[0]];
    const isV1 = api === 'v1' || api === 'both';
    await write('settings.json', { mcp_config: isV1 ? { sse, stdio } : mcp });
    await write('twice.json', { mcp_config: { sse_servers: [sse, sse] } });
    await write('body.json', body);
    if (!isV1) expectRedacted(await acs('settings', 'set', '--file', 'twice.json'), 2);
    for (const flag of ['--dry-run', '--debug'])
      expectRedacted(await acs('settings', 'set', '--file', 'settings.json', flag, '--json'));
    for (const format of ['table', 'tsv', 'json', 'ndjson'])
      expectRedacted(await acs('settings', 'get', '--format', format, '--debug'));
    expectRedacted(await acs('settings', 'get', '--jq', '.mcp_config'));
    expectRedacted(await acs('api', 'GET', api === 'v0' ? '/api/settings' : '/api/v1/settings'));
    expectRedacted(await acs('api', 'POST', '/api/any', '--input', 'body.json', '--dry-run'));
  });
});

describe('of a conversation', () => {
  const at = useWorld({ spec: 'process' });

  it('no output has a value under a name of the table, or a key of the server or the sandbox', async () => {
    await writeFile(path.join(at.world.dir, 'mcp.json'), JSON.stringify(mcp));
    const start = ['new', 'x', '--no-repo', '--mcp-config', 'mcp.json', '--dry-run'];
    for (const format of ['table', 'json'])
      expectRedacted(await at.acs('conv', ...start, '--format', format));

    const text = lines.join('\n');
    const file = await replayFile(at.world, 'steps.json', [
      run(`pwd > folder; cat <<'END' | tee notes.txt\n${text}\nEND`),
      finish(text),
    ]);
    const { id, sandbox_id } = json(
      await at.acs('conv', 'new', '--no-repo', '--replay', file, '--wait', '--json'),
    );
    const shown = await at.world.acs(
      'sandbox',
      'show',
      sandbox_id ?? '',
      '--show-secrets',
      '--json',
    );
    const { session_api_key: key } = JSON.parse(shown.out) as { session_api_key: string };
    const folder = /\+(\/.*)/.exec((await at.acs('conv', 'diff', id)).out)?.[1] ?? expect.fail();
    const work = `printf 'key %s.\\n' ${key} ${at.world.service.key} > ${folder}/keys.txt`;
    await at.world.acs('sandbox', 'exec', sandbox_id ?? '', '--', 'sh', '-c', work);

    for (const format of ['table', 'tsv', 'ndjson'])
      expectRedacted(await at.acs('conv', 'events', id, '--format', format));
    for (const as of ['md', 'html']) {
      const { out } = await at.acs('conv', 'export', id, '--as', as);
      expect(out.match(/PLANTED[\w-]*/g)).toBeNull();
      expect(out.match(/\+key (<|&lt;)redacted(>|&gt;)\./g)).toHaveLength(2);
      expect(out).not.toContain(key);
      expect(out).not.toContain(at.world.service.key);
    }
  });
});
