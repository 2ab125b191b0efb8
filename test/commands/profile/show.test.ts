import { describe, expect, it } from 'vitest';
import { useMachine } from './support.ts';

const machine = useMachine();
const acs = machine.acs;
const bare = machine.bare;

describe('profile show', () => {
  it('probes the server, and prints the sources of URL and key', async () => {
    await acs(['profile', 'add', 'work', '--base-url', machine.world.service.url, '--api-key-file', '-'], {
      stdin: machine.world.service.key,
    });
    const { code, out } = await acs(['profile', 'show', '--json'], { env: { ACS_API_KEY: 'other' } });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      name: 'work',
      default: true,
      base_url_source: 'default',
      key_source: 'profile:work',
      dialect: 'v1',
      error: null,
    });
    expect(out).not.toContain(machine.world.service.key);
  });

  it('prints the stored members when the server cannot be reached', async () => {
    await bare('gone', 'http://127.0.0.1:9');
    const { code, out, err } = await acs(['profile', 'show', 'gone', '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      name: 'gone',
      base_url: 'http://127.0.0.1:9',
      dialect: null,
      error: { code: 'network' },
    });
    expect(err).toMatch(/^\{"notice":".*","level":"warning"\}\n$/);
  });

  it('exits 5 for an unknown profile, whatever server is active', async () => {
    expect((await acs(['profile', 'show', 'nobody'], { env: { ACS_BASE_URL: machine.world.service.url } })).code).toBe(
      5,
    );
  });
});
