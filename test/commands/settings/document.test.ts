import { describe, expect, it } from 'vitest';
import { DIALECTS, useSettings } from './support.ts';

describe.each(DIALECTS)('settings on a server that speaks $api', ({ api, read }) => {
  const at = useSettings(api);
  const { acs, settings, file } = at;

  it('sets the values of a file, and keeps secrets that are masked in it', async () => {
    const printed = await settings();
    const name = await file('settings.json', JSON.stringify({ ...printed, language: 'fr', llm_api_key: '(set)' }));
    at.proxy.requests.length = 0;
    const { code, err } = await acs('set', '--file', name);
    expect({ code, changed: err.split('\n').filter((line) => line.includes('->')) }).toEqual({
      code: 0,
      changed: [`language: ${printed['language'] === null ? '(unset)' : String(printed['language'])} -> fr`],
    });
    expect(JSON.stringify(at.proxy.writes()[0]?.body)).not.toContain('(set)');
    expect(await settings()).toEqual({ ...printed, language: 'fr' });
  });

  it('accepts its own output, also with a password in a URL', async () => {
    const config = { sse_servers: [{ url: 'https://me:hush-word-1@mcp.example/sse', api_key: 'hush-word-2' }] };
    await acs('set', `mcp_config=@${await file('mcp.json', JSON.stringify(config))}`);
    const { out } = await acs('get', '--json');
    expect(out).not.toContain('hush-word');
    at.proxy.requests.length = 0;
    const changed = out.replace(/"max_iterations": \w+/, '"max_iterations": 23');
    const ended = await acs('set', '--file', await file('printed.json', changed));
    expect(ended.code, ended.err).toBe(0);
    expect(ended.err).not.toContain('mcp_config');
    expect(read(at.proxy.writes()[0]?.body as Record<string, unknown>)).toBe(23);
    await acs('unset', 'mcp_config', 'max_iterations');
  });
});
