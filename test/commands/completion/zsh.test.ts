import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { dir, env, found, scripts, useScripts } from './shells.ts';

useScripts();

describe.each(['zsh'].filter(found))('in %s', (shell) => {
  /** What a line is after Tab. */
  const pressTab = (line: string, path = env().PATH) => {
    const driver = fileURLToPath(new URL('press-tab.zsh', import.meta.url));
    return execFileSync(shell, ['-f', driver, dir, scripts['acs.zsh'] ?? '', line], {
      env: { ...env(), PATH: path },
      encoding: 'utf8',
    }).trimEnd();
  };

  it.each([
    ['acs profile r', 'acs profile rename'],
    ['acs conversation li', 'acs conversation list'],
    ['acs -p serve conversation li', 'acs -p serve conversation list'],
    ['acs serve --sta', 'acs serve --status'],
    ['acs conv list --form', 'acs conv list --format'],
    ['acs serve --api b', 'acs serve --api both'],
    ['acs --format=n', 'acs --format=ndjson'],
    ['acs profile use loc', 'acs profile use local'],
    ['acs profile use w', 'acs profile use work'],
    ['acs help ex', 'acs help exit-codes'],
    ['acs --output acs.z', 'acs --output acs.zsh'],
    ['acs conv list -- acs.z', 'acs conv list -- acs.z'],
    ['acs conv new --title acs.z', 'acs conv new --title acs.z'],
    ['acs conv show aa', 'acs conv show aa11'],
    ['acs --profile work conv show c', 'acs --profile work conv show cc33'],
    ['acs conv list --status idle,wai', 'acs conv list --status idle,waiting'],
    ['acs help conv rena', 'acs help conv rename'],
    ['acs settings get lan', 'acs settings get language'],
  ])('%s becomes %s', (typed, completed) => {
    expect(pressTab(typed)).toBe(completed);
  });

  it('a flag takes its value also when the names for it cannot be had', () => {
    expect(pressTab('acs -p serve conversation li', process.env.PATH)).toBe('acs -p serve conversation list');
  });
});
