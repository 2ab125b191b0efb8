import { it } from 'vitest';
import { useV1 } from '../support/use-scripted.ts';

const at = useV1();
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
  [`conv confirm ${ID} --accept --reject`, '--accept and --reject'],
  [`conv send ${ID} hi --accept --reject`, '--accept and --reject'],
  ['conv list --json --quiet', '--json, --jq, -q and --format'],
  ['conv list --json --format table', '--json, --jq, -q and --format'],
  ['conv list --fields id,id', 'duplicate field "id"'],
  ['conv list --fields id,title --fields title', 'duplicate field "title"'],
  ['sandbox list --fields id,id --json', '"id'],
  [`conv show ${ID} --fields status,id,status`, 'duplicate field "status"'],
  ['conv list -o json', '"json" is a format'],
  ['conv list -o json', 'use --json'],
  [`conv send ${ID} hello --wait-timeout 5m`, '--wait-timeout needs --wait or --follow'],
  [`conv send ${ID} hello --timeout 5m`, '--timeout needs --wait or --follow'],
  [`conv resume ${ID} --wait-timeout 5m`, '--wait-timeout needs --wait or --follow'],
  [`conv events ${ID} --timeout 5m`, '--timeout needs --follow'],
])('acs %s exits 2 before any request', async (line, named) => {
  await at.ends(line, { code: 2, err: named, requests: 0 });
});
