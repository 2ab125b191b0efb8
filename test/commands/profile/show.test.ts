import { describe, expect, it } from 'vitest';
import { useMachine } from './support.ts';

const machine = useMachine();
const acs = machine.acs;
const bare = machine.bare;

describe('profile show', () => {
  it('asks the server what it is, and says where URL and key came from', async () => {
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

  it('shows what it knows when the server cannot be asked', async () => {
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

  it('of an unknown one is exit 5, whatever server is in force', async () => {
    expect((await acs(['profile', 'show', 'nobody'], { env: { ACS_BASE_URL: machine.world.service.url } })).code).toBe(
      5,
    );
  });
});
