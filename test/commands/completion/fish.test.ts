import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { dir, env, found, scripts, useScripts } from './shells.ts';

useScripts();

describe.each(['fish'].filter(found))('in %s', (shell) => {
  const complete = (line: string) => {
    const script = `source ${scripts['acs.fish']}; complete -C '${line}'`;
    const out = execFileSync(shell, ['--no-config', '-c', script], { cwd: dir, env: env(), encoding: 'utf8' });
    return out
      .split('\n')
      .filter(Boolean)
      .map((row) => row.split('\t')[0]);
  };

  it('commands, flags, values and names of profiles are offered', () => {
    expect(complete('acs profile r')).toEqual(['rename']);
    expect(complete('acs -p serve conversation li')).toEqual(['list']);
    expect(complete('acs serve --st')).toEqual(['--status', '--stop']);
    expect(complete('acs serve --api v')).toEqual(['v0', 'v1']);
    expect(complete('acs profile use wo')).toEqual(['work', 'workshop']);
  });

  it('ids, statuses, the verbs of help, and files where a file is meant are offered', () => {
    expect(complete('acs conv show ')).toEqual(['@last', 'aa11', 'bb22']);
    expect(complete('acs --profile work conv show ')).toEqual(['cc33']);
    expect(complete('acs conv show aa11 ')).toEqual([]);
    expect(complete('acs conv wait aa11 b')).toEqual(['bb22']);
    expect(complete('acs conv list --status wa')).toEqual(['waiting']);
    expect(complete('acs help conv re')).toEqual(['rename', 'result', 'resume']);
    expect(complete('acs --output acs.z')).toEqual(['acs.zsh']);
    expect(complete('acs conv new --title acs.')).toEqual([]);
  });
});
