import { describe, expect, it } from 'vitest';
import { failure, plan } from './support/plan.ts';

describe('which server', () => {
  it('a URL with credentials is refused and not repeated', async () => {
    const { message, hint } = await failure({ baseUrl: 'https://user:hunter2@acs.example.com' });
    expect(message + hint).not.toContain('hunter2');
    expect(message).toContain('user name or password');
  });

  it('a URL is stored in one form: no trailing slash, a prefix kept', async () => {
    expect((await plan({ baseUrl: 'HTTPS://ACS.Example.com:443/team//' })).base_url).toBe(
      'https://acs.example.com/team',
    );
  });
});
