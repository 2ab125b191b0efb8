import { describe, expect, it } from 'vitest';
import { DIALECTS, useSettings } from './support.ts';

describe.each(DIALECTS)('settings on a server that speaks $api', ({ api, route, read }) => {
  const at = useSettings(api);
  const { acs, settings, file } = at;

  it('changes max_iterations and no other field while nothing is stored', async () => {
    const before = await settings();
    const { code, out, err } = await acs('set', 'max_iterations=7', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ max_iterations: 7, changed: true });
    expect(err).toContain(`{"notice":"max_iterations: ${api === 'v1' ? '500' : '(unset)'} -> 7"}`);
    expect(await settings()).toEqual({ ...before, max_iterations: 7 });
  });

  it('changes max_iterations and no other field of stored settings', async () => {
    await file('key', 'a-model-key\n');
    const first = await acs('set', 'llm_model=openai/gpt-4o', 'llm_api_key=@key', 'language=de', 'max_iterations=40');
    expect(first.code).toBe(0);
    const before = await settings();
    expect(before).toMatchObject({ llm_api_key: '(set)', language: 'de', max_iterations: 40 });
    at.proxy.requests.length = 0;
    await acs('set', 'max_iterations=8');
    expect(at.proxy.writes().map(({ method, path: sent }) => `${method} ${sent}`)).toEqual([`POST ${route}`]);
    const body = at.proxy.writes()[0]?.body as Record<string, unknown>;
    expect(read(body)).toBe(8);
    if (api === 'v1') expect(body).toEqual({ conversation_settings_diff: { max_iterations: 8 } });
    else expect(body).toMatchObject({ language: 'de', llm_model: 'openai/gpt-4o' });
    expect(JSON.stringify(body)).not.toMatch(/redacted|\*\*\*|\(set\)/);
    expect(await settings()).toEqual({ ...before, max_iterations: 8 });
  });

  it('sends nothing when no value differs', async () => {
    await acs('set', 'max_iterations=9');
    at.proxy.requests.length = 0;
    const { code, out, err } = await acs('set', 'max_iterations=9', '--json');
    expect({ code, changed: (JSON.parse(out) as { changed: boolean }).changed, err }).toEqual({
      code: 0,
      changed: false,
      err: '{"notice":"nothing to change"}\n',
    });
    expect(at.proxy.writes()).toEqual([]);
  });

  it('reads a secret from a file, and prints (changed) in place of the value', async () => {
    await file('key', 'first-secret-key\n');
    await acs('set', 'llm_api_key=@key');
    await file('key', 'second-secret-key\n');
    at.proxy.requests.length = 0;
    const { code, out, err } = await acs('set', 'llm_api_key=@key', '--json', '--debug');
    expect(code).toBe(0);
    expect(err).toContain('llm_api_key: (set) -> (changed)');
    expect(out + err).not.toMatch(/first-secret-key|second-secret-key/);
    expect(JSON.stringify(at.proxy.writes()[0]?.body)).toContain('"second-secret-key"');
  });

  it('reads a secret from stdin', async () => {
    const { code, err } = await at.world.invoke({
      args: ['settings', 'set', 'search_api_key=-'],
      stdin: 'a-search-key\n',
      env: { ACS_BASE_URL: at.proxy.url },
    });
    expect(code).toBe(0);
    expect(err).toMatch(/search_api_key: \((unset|unknown)\) -> \(set\)/);
    expect(JSON.stringify(at.proxy.writes()[0]?.body)).toContain('"search_api_key":"a-search-key"');
  });

  it('suggests the closest name for an unknown one', async () => {
    const set = await acs('set', 'max_iteration=7');
    expect(set.code).toBe(2);
    expect(set.err).toContain('did you mean max_iterations?');
    const unset = await acs('unset', 'llm_modle');
    expect({ code: unset.code, hint: unset.err.includes('llm_model') }).toEqual({ code: 2, hint: true });
    const get = await acs('get', 'max_iteration');
    expect({ code: get.code, hint: get.err.includes('max_iterations') }).toEqual({ code: 5, hint: true });
    expect(at.proxy.writes()).toEqual([]);
  });

  it('refuses two readers of stdin, a key given twice and nothing at all', async () => {
    for (const words of [
      ['llm_api_key=-', 'search_api_key=-'],
      ['language=de', 'language=en'],
      ['llm_model=-', '--file', '-'],
      [],
    ]) {
      expect((await acs('set', ...words)).code).toBe(2);
    }
    expect(at.proxy.requests).toEqual([]);
  });

  it('settings unset exits 12 without a difference for a setting that the server cannot unset', async () => {
    expect((await acs('set', 'user_consents_to_analytics=true')).code).toBe(0);
    const { code, err } = await acs('unset', 'user_consents_to_analytics');
    expect(code).toBe(12);
    expect(err).toMatch(/^error: V[01] servers cannot unset user_consents_to_analytics;/);
  });

  it('ends with 3 when a file cannot be read', async () => {
    const { code, err } = await acs('set', 'llm_model=@nowhere');
    expect(code).toBe(3);
    expect(err).toMatch(/^error: cannot read nowhere: it does not exist\n {2}check the path; full path: \/.+\n$/);
  });
});
