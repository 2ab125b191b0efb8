import { rmSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { SHELLS } from '../../../src/commands/completion/index.ts';
import { bash, dir, useScripts, writeStandIn } from './shells.ts';

useScripts();

describe('in bash', () => {
  it('commands are offered, and an alias completes like its command', () => {
    expect(bash('pro')).toEqual(['profile']);
    expect(bash('profile', '')).toEqual(['add', 'list', 'show', 'use', 'rename', 'delete']);
    expect(bash('conversation', 'li')).toEqual(['list']);
    expect(bash('__')).toEqual([]);
  });

  it('flags of the command and of all commands are offered', () => {
    expect(bash('profile', 'add', '--')).toEqual(
      expect.arrayContaining(['--key-command', '--no-check', '--profile', '--json']),
    );
    expect(bash('serve', '--st')).toEqual(['--status', '--stop']);
  });

  it('values of flags are offered after a space and after =', () => {
    expect(bash('serve', '--api', '')).toEqual(['v0', 'v1', 'both']);
    expect(bash('serve', '--api', '=', 'v')).toEqual(['v0', 'v1']);
    expect(bash('serve', '--api', '=')).toEqual(['v0', 'v1', 'both']);
    expect(bash('--format', 'n')).toEqual(['ndjson']);
  });

  it('a value that equals a command name is skipped', () => {
    expect(bash('--profile', 'serve', 'profile', 'us')).toEqual(['use']);
    expect(bash('profile', '--output', 'add', 'us')).toEqual(['use']);
  });

  it('names of profiles are read at each completion', () => {
    expect(bash('profile', 'use', 'wo')).toEqual(['work', 'workshop']);
    expect(bash('-p', '')).toEqual(['work', 'workshop', 'local']);
    expect(bash('conv', 'list', '--profile', 'l')).toEqual(['local']);
  });

  it('shells and topics are offered', () => {
    expect(bash('completion', '')).toEqual([...SHELLS]);
    expect(bash('help', 'ex')).toEqual(['exit-codes']);
  });

  it('a flag takes its value also when its names cannot be read', () => {
    rmSync(path.join(dir, 'bin', 'acs'));
    expect(bash('-p', 'serve', 'conversation', 'li')).toEqual(['list']);
    writeStandIn();
  });

  it('nothing is offered after --', () => {
    expect(bash('conv', '--', 'li')).toEqual([]);
  });

  it('files are offered only where a file is meant', () => {
    expect(bash('--output', 'acs.b')).toEqual(['acs.bash']);
    expect(bash('conv', 'new', '--file', 'acs.z')).toEqual(['acs.zsh']);
    expect(bash('conv', 'new', '--title', 'acs')).toEqual([]);
    expect(bash('conv', 'new', 'acs')).toEqual([]);
  });

  it('the word demo is offered beside files for a replay', () => {
    expect(bash('conv', 'new', '--replay', '')).toEqual(expect.arrayContaining(['demo', 'acs.bash']));
    expect(bash('serve', '--replay', 'de')).toEqual(['demo']);
    expect(bash('serve', '--replay', 'acs.b')).toEqual(['acs.bash']);
  });

  it('values of a list are not offered again', () => {
    expect(bash('sandbox', 'list', '--status', 'running,')).toEqual([
      'running,starting',
      'running,paused',
      'running,error',
      'running,missing',
    ]);
    expect(bash('conv', 'list', '--status', 'idle,stuck,st')).toEqual(['idle,stuck,starting', 'idle,stuck,stopped']);
    expect(bash('-p', 'work,w')).toEqual(['work,workshop']);
  });

  it('statuses are offered, after a comma too', () => {
    expect(bash('conv', 'list', '--status', 'st')).toEqual(['starting', 'stuck', 'stopped']);
    expect(bash('conv', 'list', '--status', 'idle,wa')).toEqual(['idle,waiting']);
    expect(bash('sandbox', 'wait', 'x', '--for', 'mis')).toEqual(['missing']);
    expect(bash('conv', 'new', '--git-provider', 'git')).toEqual(['github', 'gitlab']);
  });

  it('ids are offered for the first argument, and for each one of a repeatable argument', () => {
    expect(bash('conv', 'show', '')).toEqual(['@last', 'aa11', 'bb22']);
    expect(bash('conv', 'show', 'aa11', '')).toEqual([]);
    expect(bash('conv', 'wait', 'aa11', 'b')).toEqual(['bb22']);
    expect(bash('--profile', 'work', 'conv', 'show', '')).toEqual(['cc33']);
    expect(bash('settings', 'get', 'lan')).toEqual(['language']);
  });

  it('help is followed by commands, their verbs, and topics', () => {
    expect(bash('help', 's')).toEqual(['sandbox', 'specs', 'settings', 'secret', 'serve']);
    expect(bash('help', 'conv', 're')).toEqual(['result', 'resume', 'rename']);
    expect(bash('help', 'settings', 'profile', 'sa')).toEqual(['save']);
    expect(bash('help', 'output', '')).toEqual([]);
  });
});
