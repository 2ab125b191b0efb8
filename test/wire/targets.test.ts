import { describe, expect, it } from 'vitest';
import { configDirectory } from '../../src/wire/targets.ts';

describe('the directory', () => {
  it.each([
    [{ ACS_CONFIG_DIR: '/x' }, 'linux', '/x'],
    [{}, 'linux', '/home/u/.config/acs'],
    [{ XDG_CONFIG_HOME: '/c' }, 'linux', '/c/acs'],
    [{ XDG_CONFIG_HOME: 'relative' }, 'linux', '/home/u/.config/acs'],
    [{ ACS_CONFIG_DIR: '' }, 'linux', '/home/u/.config/acs'],
    [{}, 'darwin', '/home/u/Library/Preferences/acs'],
    [{ APPDATA: '/r' }, 'win32', '/r/acs/Config'],
  ])('with %j on %s is %s', (env, platform, expected) => {
    expect(configDirectory({ env, platform, home: '/home/u' })).toBe(expected);
  });
});
