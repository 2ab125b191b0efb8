import { tmpdir } from 'node:os';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startFake, NOT_FOUND, type FakeServer } from '../servers/support/fake-server.ts';
import { invoke } from '../support/world.ts';

let fake: FakeServer;
beforeAll(async () => {
  fake = await startFake(() => NOT_FOUND);
});
afterAll(() => fake.close());

const ID = '0a1b2c3d4e5f60718293a4b5c6d7e8f9';

it.each([
  ['conv new hi --wait --no-wait', '--wait and --no-wait'],
  ['conv new hi --no-wait --wait', '--wait and --no-wait'],
  ['conv new hi --repo . --no-repo', '--repo and --no-repo'],
  ['conv new hi --no-repo --repo=.', '--repo and --no-repo'],
  ['conv new hi --no-repo -r .', '--repo and --no-repo'],
  ['conv new hi -R . --no-repo', '-R and --no-repo'],
  ['conv new hi -R . -r ..', '--repo and -R'],
  ['conv new hi --wait --timeout 3s --wait-timeout 4s', '--wait-timeout and --timeout'],
  [`conv wait ${ID} --wait-timeout 3s --timeout 4s`, '--wait-timeout and --timeout'],
  [`sandbox pause sb1 --wait --no-wait`, '--wait and --no-wait'],
  [`sandbox resume sb1 --no-wait --wait`, '--wait and --no-wait'],
  ['sandbox start --wait --no-wait', '--wait and --no-wait'],
  [`conv confirm ${ID} --accept --reject`, '--accept and --reject'],
  [`conv send ${ID} hi --accept --reject`, '--accept and --reject'],
  ['conv list --json --quiet', '--json, --jq, -q and --format'],
  ['conv list --json --format table', '--json, --jq, -q and --format'],
  ['conv list --fields id,id', '"id" twice'],
  ['conv list --fields id,title --fields title', '"title" twice'],
  ['sandbox list --fields id,id --json', '"id'],
  [`conv show ${ID} --fields status,id,status`, '"status" twice'],
  ['conv list -o json', '"json" is a format'],
])('acs %s exits 2 before any request', async (line, named) => {
  const env = { HOME: tmpdir(), ACS_BASE_URL: fake.url };
  const { code, err } = await invoke({ args: line.split(' '), cwd: tmpdir(), env });
  expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining(named) as string });
  expect(fake.lines()).toEqual([]);
});

it('acs conv list -o json names --json in the hint', async () => {
  const { err } = await invoke({
    args: ['conv', 'list', '-o', 'json'],
    cwd: tmpdir(),
    env: { ACS_BASE_URL: fake.url },
  });
  expect(err).toContain('use --json');
});
