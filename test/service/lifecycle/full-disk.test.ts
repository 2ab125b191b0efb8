import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { BIN } from '../../e2e/processes.ts';
import { folderOfEachTest } from '../../support/temporary-folder.ts';

const folder = folderOfEachTest();
const ownMounts = ['--user', '--map-root-user', '--mount'];
const canMount =
  spawnSync('unshare', [...ownMounts, 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0;

describe.runIf(canMount)('a service whose disk is full', () => {
  it('starts after a crash and after a stop, serves reads, and deletes conversations and sandboxes', async () => {
    const script = [
      'mount -t tmpfs -o size=32m none "$HOME" && cd "$HOME"',
      'acs() { "$NODE" "$BIN" "$@"; }',
      '{ acs serve --detach --spec process && acs conv new --replay demo --wait --no-repo ' +
        '&& acs sandbox start; } >&2',
      'sandbox=$(acs sandbox list -q --idle 0s | head -1)',
      'kill -9 "$(acs serve --status --jq .pid)"',
      // Processes that end after the first filling free what they had open.
      'until [ "$(df --output=avail . | tail -1)" -eq 0 ]; do cat /dev/zero > "fill$((n += ' +
        '1))"; done',
      'acs serve --detach --spec process >&2; acs serve --stop >&2',
      'acs serve --detach --spec process >&2; acs conv list -q | wc -l; acs sandbox list -q ' +
        '| wc -l',
      'acs sandbox delete -y "$sandbox" >&2; acs conv delete --all -y >&2; echo $?',
      'acs conv list -q | wc -l; acs sandbox list -q | wc -l; acs serve --stop >&2',
    ].join('\n');
    const env = {
      PATH: process.env.PATH,
      HOME: folder.path,
      ACS_PROFILE: 'local',
      NODE: process.execPath,
      BIN,
    };
    const { stdout, stderr } = await promisify(execFile)(
      'unshare',
      [...ownMounts, 'sh', '-c', script],
      { env },
    );
    expect(stdout.trim().split(/\s+/), stderr).toEqual(['1', '2', '0', '0', '0']);
  });
});
